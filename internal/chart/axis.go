package chart

import (
	"math"
	"strconv"
	"strings"
)

// span is the smallest and the largest of some finite values.
type span struct{ low, high float64 }

func nothing() span { return span{math.Inf(1), math.Inf(-1)} }

func (s span) empty() bool { return s.low > s.high }

// add extends the span by a finite value.
func (s *span) add(v float64) {
	if finite(v) {
		s.low, s.high = min(s.low, v), max(s.high, v)
	}
}

// above adds room above a span of nothing but 0: no count is below it.
func (s span) above() span {
	if s.low == 0 && s.high == 0 {
		s.high = 1
	}
	return s
}

func (s *span) addAll(x []float64) {
	for _, v := range x {
		s.add(v)
	}
}

// addFor is add for the values that an axis can show: a logarithmic one only those above 0.
func (s *span) addFor(a Axis, v float64) {
	if !a.Log || v > 0 {
		s.add(v)
	}
}

// An Interval is where a value may be. NaN means no end.
type Interval struct{ Low, High float64 }

// stretch makes room for intervals, but not for the extreme ones of a few runs: not below 0 if no value is, and not
// beyond three times the largest value.
func (s *span) stretch(a Axis, ranges []Interval) {
	low, high := math.Inf(-1), 3*math.Abs(s.high)
	if s.low >= 0 {
		low = 0
	}
	for _, r := range ranges {
		s.addFor(a, max(r.Low, low))
		s.addFor(a, min(r.High, max(high, s.high)))
	}
}

// finite reports whether v, and sums of such values, are finite.
func finite(v float64) bool { return math.Abs(v) <= 1e200 }

// axis maps values to pixels.
type axis struct {
	low, high float64 // logarithms if log is set
	log       bool
	from, to  float64
}

func newAxis(a Axis, s span, from, to float64) axis {
	if a.Max > a.Min && (!a.Log || a.Min > 0) {
		s = span{a.Min, a.Max}
	}
	if a.Log {
		s = span{math.Log10(max(s.low, math.SmallestNonzeroFloat64)), math.Log10(max(s.high, math.SmallestNonzeroFloat64))}
	}
	if s.high-s.low < 1e-9*max(1, math.Abs(s.high)) {
		room := max(0.5, 0.01*math.Abs(s.high)) // a half is nothing beside a large number
		s.low, s.high = s.low-room, s.high+room
	}
	return axis{s.low, s.high, a.Log, from, to}
}

// title returns an axis' label, which says whether the axis is logarithmic.
func (a Axis) title() string {
	if a.Log && a.Label != "" && !strings.Contains(a.Label, "(log") {
		return a.Label + " (log scale)"
	}
	return a.Label
}

// shows reports whether a value has a place on the axis.
func (a axis) shows(v float64) bool { return finite(v) && (!a.log || v > 0) }

// inside reports whether a value is on the axis and within its ends.
func (a axis) inside(v float64) bool {
	if a.log {
		v = math.Log10(v) // NaN and -Inf are not
	}
	room := 1e-9 * (a.high - a.low)
	return v >= a.low-room && v <= a.high+room
}

// at returns the pixel of a value, at most that of the axis' ends.
func (a axis) at(v float64) float64 {
	if a.log {
		v = math.Log10(max(v, math.SmallestNonzeroFloat64))
	}
	part := min(max((v-a.low)/(a.high-a.low), 0), 1)
	return a.from + part*(a.to-a.from)
}

// ticks returns the values that get a line and a number.
func (a axis) ticks(about int) []float64 {
	if a.log {
		return a.logTicks()
	}
	step := niceStep((a.high - a.low) / float64(max(about, 1)))
	var out []float64
	for i := math.Ceil(a.low/step - 1e-9); i*step <= a.high+1e-9*step && len(out) < 50; i++ {
		out = append(out, i*step+0) // +0 avoids a minus before 0
	}
	return out
}

func (a axis) logTicks() []float64 {
	factors := []float64{1}
	switch wide := a.high - a.low; {
	case wide < 0.5:
		factors = []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9}
	case wide < 1.2:
		factors = []float64{1, 1.5, 2, 3, 5, 7}
	case wide < 2:
		factors = []float64{1, 2, 5}
	}
	every := int(math.Ceil((a.high - a.low) / 8))
	var out []float64
	for e := int(math.Floor(a.low)); e <= int(math.Ceil(a.high)); e++ {
		for _, f := range factors {
			if v := math.Log10(f) + float64(e); v >= a.low-1e-9 && v <= a.high+1e-9 && e%max(every, 1) == 0 {
				out = append(out, f*math.Pow(10, float64(e)))
			}
		}
	}
	return out
}

// niceStep returns the next of 1, 2, 5 times a power of ten.
func niceStep(raw float64) float64 {
	if raw <= 0 || !finite(raw) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= raw*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// Number formats a value briefly, as on an axis: 12k, 3.5M, 0.25.
func Number(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(v) >= u.size*(1-1e-9) {
			if u.name == "k" {
				u.size = 1e3
			}
			return short(v/u.size) + u.name
		}
	}
	return short(v)
}

func short(v float64) string {
	s := strconv.FormatFloat(v, 'g', 4, 64)
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) >= 1e-4 && math.Abs(f) < 1e6 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return s
}
