package lab

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
)

const (
	pictureWidth  = 160
	pictureHeight = 32
)

// picture draws the accepted band, the published mark and the measured dot on one axis, with the values of its ends.
func picture(c Check) template.HTML {
	if c.scale == nil {
		return ""
	}
	s := *c.scale
	left, right := bounds(s)
	x := func(v float64) float64 { return 4 + (pictureWidth-8)*min(max((v-left)/(right-left), 0), 1) }
	svg := fmt.Sprintf(`<svg width="%d" height="%d" role="img"><title>measured %s, accepted %s, published %s</title>`,
		pictureWidth, pictureHeight, template.HTMLEscapeString(c.Measured), template.HTMLEscapeString(c.Tolerance), template.HTMLEscapeString(c.Published))
	svg += fmt.Sprintf(`<rect class="band" x="%.1f" y="4" width="%.1f" height="14"/>`, x(s.low), max(1, x(s.high)-x(s.low)))
	svg += fmt.Sprintf(`<line class="axis" x1="0" x2="%d" y1="11" y2="11"/>`, pictureWidth)
	if !math.IsNaN(s.want) {
		svg += fmt.Sprintf(`<line class="want" x1="%[1]f" x2="%[1]f" y1="3" y2="19"/>`, x(s.want))
	}
	svg += fmt.Sprintf(`<circle class="dot" cx="%.1f" cy="11" r="4"/>`, x(s.value))
	svg += fmt.Sprintf(`<text class="end" x="0" y="30">%s</text><text class="end" x="%d" y="30" text-anchor="end">%s</text></svg>`, end(left, right), pictureWidth, end(right, left))
	return template.HTML(svg) //nolint:gosec // every text in it is escaped
}

// end formats a value at one end of an axis, with no more precision than the axis needs.
func end(v, other float64) string {
	wide := math.Abs(other - v)
	if wide < 1e-4 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', int(max(0, 1-math.Floor(math.Log10(wide)))), 64)
}

// bounds chooses the ends of the axis: the finite values, with some space around. If only one side is bounded, the
// bound is in the middle, and nearer values are drawn nearer in proportion.
func bounds(s scale) (left, right float64) {
	bound := s.low
	if math.IsInf(s.low, -1) {
		bound = s.high
	}
	if math.IsInf(s.low, -1) != math.IsInf(s.high, 1) {
		reach := max(0.25*math.Abs(bound), 1.2*math.Abs(s.value-bound))
		if !math.IsNaN(s.want) {
			reach = max(reach, 1.2*math.Abs(s.want-bound))
		}
		if reach == 0 {
			reach = 1
		}
		return bound - reach, bound + reach
	}
	left, right = s.value, s.value
	for _, v := range []float64{s.low, s.high, s.want} {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			left, right = min(left, v), max(right, v)
		}
	}
	room := 0.15 * (right - left)
	if room == 0 {
		room = max(math.Abs(right)*0.15, 1)
	}
	return left - room, right + room
}
