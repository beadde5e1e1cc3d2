package chart

import (
	"cmp"
	"slices"
)

// A tag is the name of a curve, written beside it.
type tag struct {
	colour int
	name   string
	anchor string
	x, y   float64 // of the curve
}

// tagGap is the minimum distance of tags.
const tagGap = 13.0

// tagged charts may have names beside their curves, which the eye finds sooner than in a legend.
type tagged interface {
	// margin returns the space that the names need on the right of the data.
	margin() float64
}

// tags reports whether the names of a chart are beside its curves: there are only a few, and they are short.
func tags(c Chart) bool {
	t, ok := c.(tagged)
	names := c.names()
	if !ok || len(names) < 2 || len(names) > colours || c.frame().Height < 90+int(tagGap)*len(names) {
		return false
	}
	return t.margin() <= 0.3*float64(c.frame().Width) && longest(names) <= 0.3*float64(c.frame().Width)
}

func longest(names []string) (w float64) {
	for _, n := range names {
		w = max(w, float64(textWidth(n)))
	}
	return w
}

func (l Lines) margin() float64 { return longest(l.names()) + 6 }

func (d CDF) margin() float64 { return 0 }

// ends returns tags at the last points, one below another on the right.
func (l Lines) ends(x, y axis) []tag {
	var out []tag
	for i, s := range l.Series {
		for k := min(len(s.X), len(s.Y)) - 1; k >= 0; k-- {
			if x.shows(s.X[k]) && y.shows(s.Y[k]) {
				out = append(out, tag{i, s.Name, "start", x.at(s.X[k]), y.at(s.Y[k])})
				break
			}
		}
	}
	return out
}

// ends writes names on the right, apart from each other. It connects a name to its curve if it cannot be beside the
// curve's end.
func (c *canvas) ends(list []tag, x, y axis) {
	slices.SortStableFunc(list, func(a, b tag) int { return cmp.Compare(a.y, b.y) })
	for i, at := range spread(list, y.to, y.from) {
		t := list[i]
		if x.to-t.x > 4 || at-t.y > 6 || t.y-at > 6 {
			c.line("tie "+stroke(t.colour), t.x, t.y, x.to+4, at, "")
		}
		c.text("tag "+fill(t.colour), x.to+6, at+4, "start", t.name)
	}
}

// spread moves the places of tags, from top to bottom, so that all are inside and at least tagGap apart.
func spread(list []tag, top, bottom float64) []float64 {
	at := make([]float64, len(list))
	for i, t := range list {
		at[i] = max(t.y, top)
		if i > 0 {
			at[i] = max(at[i], at[i-1]+tagGap)
		}
	}
	floor := bottom
	for i := range slices.Backward(at) {
		at[i] = min(at[i], floor)
		floor = at[i] - tagGap
	}
	return at
}

// sides returns the tags of distributions. The curve of the smallest values has its name on its left near the top,
// where nothing else is, that of the largest on its right near the bottom, and the others are between.
func (d CDF) sides(x, y axis) []tag {
	type curve struct {
		i int
		s Series
	}
	var curves []curve
	for i, s := range d.lines().Series {
		if len(s.X) > 0 {
			curves = append(curves, curve{i, s})
		}
	}
	slices.SortStableFunc(curves, func(a, b curve) int { return cmp.Compare(a.s.X[len(a.s.X)/2], b.s.X[len(b.s.X)/2]) })
	var out []tag
	for k, c := range curves {
		level := 0.92 - 0.84*(float64(k)+0.5)/float64(len(curves))
		at, _ := slices.BinarySearch(c.s.Y, level)
		t := tag{c.i, c.s.Name, "end", x.at(c.s.X[min(at, len(c.s.X)-1)]) - 5, y.at(level)}
		if k >= len(curves)/2 || t.x-float64(textWidth(t.name)) < x.from {
			t.anchor, t.x = "start", t.x+10
		}
		if t.anchor == "start" && t.x+float64(textWidth(t.name)) > x.to {
			t.anchor, t.x = "end", t.x-10
		}
		out = append(out, t)
	}
	return out
}

func (c *canvas) beside(list []tag) {
	for _, t := range list {
		c.text("note tag "+fill(t.colour), t.x, t.y+4, t.anchor, t.name)
	}
}
