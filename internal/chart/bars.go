package chart

import "math"

// Bars are horizontal, one below another, with an interval around each value and a thick line where a value was
// published.
type Bars struct {
	Frame
	Bars []Bar
	// Groups names the colours; empty means one colour.
	Groups []string
	// Reference is the name of the Published values; empty means "published".
	Reference string
}

// A Bar is one value. Low and High are the ends of its interval, and Published is the published value. NaN leaves
// out any of them.
type Bar struct {
	Label            string
	Value, Low, High float64
	Published        float64
	Group            int
}

// Plain returns a bar without interval and published value.
func Plain(label string, value float64) Bar {
	return Bar{Label: label, Value: value, Low: math.NaN(), High: math.NaN(), Published: math.NaN()}
}

// In returns the bar in a group.
func (b Bar) In(group int) Bar {
	b.Group = group
	return b
}

// Beside returns the bar with a published value beside it.
func (b Bar) Beside(published float64) Bar {
	b.Published = published
	return b
}

const barHeight = 20

func (b Bars) frame() Frame {
	f := frameOf(b.Frame, 1)
	return frameOf(b.Frame, 78+17*len(legendRows(b.Groups, f.Width))+barHeight*len(b.Bars))
}

func (b Bars) names() []string { return b.Groups }

func (b Bars) labels() []string {
	var out []string
	for _, bar := range b.Bars {
		out = append(out, bar.Label)
	}
	return out
}

func (b Bars) extent() (x, y span) {
	x = nothing()
	for _, bar := range b.Bars {
		x.addFor(b.X, bar.Value)
		x.addFor(b.X, bar.Published)
	}
	if x.empty() {
		return x, nothing()
	}
	var ranges []Interval
	for _, bar := range b.Bars {
		ranges = append(ranges, Interval{bar.Low, bar.High})
	}
	x.stretch(b.X, ranges)
	if !b.X.Log {
		x.low, x.high = min(x.low, 0), max(x.high, 0)
	} else {
		x.low /= 1.2
	}
	return x, span{0, float64(len(b.Bars))}
}

func (b Bars) table() [][]string {
	rows := [][]string{{"label", "value", "low", "high", orElse(b.Reference, "published")}}
	for _, bar := range b.Bars {
		rows = append(rows, []string{bar.Label, exact(bar.Value), exact(bar.Low), exact(bar.High), exact(bar.Published)})
	}
	return rows
}

func (b Bars) draw(c *canvas, x, y axis) {
	height := (y.from - y.to) / float64(len(b.Bars))
	zero := x.from
	if !x.log {
		zero = x.at(0)
	}
	for i, bar := range b.Bars {
		top := y.to + height*float64(i)
		mid := top + height/2
		c.text("name", x.from-5, mid+4, "end", shortened(bar.Label, x.from-5))
		if x.shows(bar.Value) {
			b.value(c, bar, x.at(bar.Value), zero, top, height, x.log)
			c.text("value", x.to+6, mid+4, "start", rounded(bar.Value))
		}
		if finite(bar.Low) && x.shows(bar.High) { // on a logarithmic axis it may begin at the edge
			c.whisker("whisker", Interval{bar.Low, bar.High}, mid, x, false)
		}
		if x.shows(bar.Published) {
			at := x.at(bar.Published)
			c.line("published", at, top+1, at, top+height-1, orElse(b.Reference, "published")+": "+Number(bar.Published))
		}
	}
}

// whisker draws an interval along an axis, at a place on the other one. An end outside the chart has an arrow in
// place of its mark.
func (c *canvas) whisker(class string, r Interval, place float64, along axis, upright bool) {
	line := func(from, aside, to, other float64) {
		if upright {
			c.line(class, place+aside, from, place+other, to, "")
		} else {
			c.line(class, from, place+aside, to, place+other, "")
		}
	}
	line(along.at(r.Low), 0, along.at(r.High), 0)
	for _, v := range []float64{r.Low, r.High} {
		at := along.at(v)
		if along.inside(v) {
			line(at, -4, at, 4)
			continue
		}
		back := at + math.Copysign(5, (along.from+along.to)/2-at)
		line(back, -4, at, 0)
		line(back, 4, at, 0)
	}
}

// value draws a bar from 0 to a value. On a logarithmic axis, where 0 has no place, it draws a dot.
func (b Bars) value(c *canvas, bar Bar, at, zero, top, height float64, log bool) {
	title := bar.title(orElse(b.Reference, "published"))
	if log {
		c.line("grid", zero, top+height/2, at, top+height/2, "")
		c.circle("bar "+fill(bar.Group), at, top+height/2, 5, title)
		return
	}
	c.rect("bar "+fill(bar.Group), min(zero, at), top+height*0.2, math.Abs(at-zero), height*0.6, title)
}

func (b Bar) title(reference string) string {
	s := b.Label + ": " + Number(b.Value)
	if finite(b.Low) && finite(b.High) {
		s += ", interval " + Number(b.Low) + " to " + Number(b.High)
	}
	if finite(b.Published) {
		s += ", " + reference + " " + Number(b.Published)
	}
	return s
}
