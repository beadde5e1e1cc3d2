package lab

import (
	"fmt"
	"html/template"
	"math"
)

const (
	pictureWidth  = 160
	pictureHeight = 22
)

// picture draws the accepted band, the published mark and the measured dot on one axis.
func picture(c Check) template.HTML {
	if c.scale == nil {
		return ""
	}
	s := *c.scale
	left, right := bounds(s)
	x := func(v float64) float64 { return 4 + (pictureWidth-8)*clamp((v-left)/(right-left), 0, 1) }
	svg := fmt.Sprintf(`<svg width="%d" height="%d" role="img"><title>measured %s, accepted %s, published %s</title>`,
		pictureWidth, pictureHeight, template.HTMLEscapeString(c.Measured), template.HTMLEscapeString(c.Tolerance), template.HTMLEscapeString(c.Published))
	svg += fmt.Sprintf(`<rect class="band" x="%.1f" y="4" width="%.1f" height="14"/>`, x(s.low), max(1, x(s.high)-x(s.low)))
	svg += fmt.Sprintf(`<line class="axis" x1="0" x2="%d" y1="11" y2="11"/>`, pictureWidth)
	if !math.IsNaN(s.want) {
		svg += fmt.Sprintf(`<line class="want" x1="%[1]f" x2="%[1]f" y1="3" y2="19"/>`, x(s.want))
	}
	svg += fmt.Sprintf(`<circle class="dot" cx="%.1f" cy="11" r="4"/></svg>`, x(s.value))
	return template.HTML(svg) //nolint:gosec // every text in it is escaped
}

// bounds chooses the ends of the axis: what is finite, with some room around.
func bounds(s scale) (left, right float64) {
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
