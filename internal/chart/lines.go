package chart

import (
	"math"
	"slices"
	"sort"
	"strings"
)

// Lines are curves over X, or steps that keep each value until the next.
type Lines struct {
	Frame
	Series []Series
	// Ranges are the intervals of each series' points; nil means none.
	Ranges [][]Interval
	Steps  bool
	Marks  []Mark
}

func (l Lines) frame() Frame { return frameOf(l.Frame, defaultHeight) }

func (l Lines) names() []string { return namesOf(l.Series) }

func (l Lines) extent() (x, y span) {
	x, y = extentOf(l.Series, l.Marks, l.X, l.Y)
	if !y.empty() {
		y.stretch(l.Y, slices.Concat(l.Ranges...))
	}
	return x, y
}

func (l Lines) table() [][]string {
	rows := tableOf(l.X, l.Y, l.Series)
	if l.Ranges == nil {
		return rows
	}
	rows[0] = append(rows[0], "low", "high")
	for i, r := range slices.Concat(l.Ranges...) {
		rows[i+1] = append(rows[i+1], exact(r.Low), exact(r.High))
	}
	return rows
}

func (l Lines) draw(c *canvas, x, y axis) {
	l.curves(c, x, y)
	if tags(l) {
		c.ends(l.ends(x, y), x, y)
	}
}

func (l Lines) curves(c *canvas, x, y axis) {
	for i, s := range l.Series {
		c.path("line "+stroke(i), trail(s, x, y, l.Steps), s.Name)
	}
	for i := range l.Ranges {
		l.ranges(c, i, x, y)
	}
	c.marks(l.Marks, x, y)
}

// ranges draws the points of a curve with their intervals. It puts those of several curves beside each other.
func (l Lines) ranges(c *canvas, i int, x, y axis) {
	s, aside := l.Series[i], 3*(float64(i)-float64(len(l.Ranges)-1)/2)
	for k, r := range l.Ranges[i] {
		if !x.shows(s.X[k]) || !y.shows(s.Y[k]) {
			continue
		}
		at := x.at(s.X[k])
		if finite(r.Low) && y.shows(r.High) {
			c.whisker("whisker "+stroke(i), r, at+aside, y, true)
		}
		point := Bar{Label: s.Name, Value: s.Y[k], Low: r.Low, High: r.High, Published: math.NaN()}
		c.circle("bar "+fill(i), at, y.at(s.Y[k]), 2.5, point.title(""))
	}
}

func namesOf(series []Series) []string {
	var out []string
	for _, s := range series {
		out = append(out, s.Name)
	}
	return out
}

func extentOf(series []Series, marks []Mark, ax, ay Axis) (x, y span) {
	x, y = nothing(), nothing()
	for _, s := range series {
		for i := range min(len(s.X), len(s.Y)) {
			if finite(s.X[i]) && finite(s.Y[i]) {
				x.addFor(ax, s.X[i])
				y.addFor(ay, s.Y[i])
			}
		}
	}
	if x.empty() || y.empty() {
		return x, y
	}
	for _, m := range marks {
		if m.Vertical {
			x.addFor(ax, m.Value)
		} else {
			y.addFor(ay, m.Value)
		}
	}
	if !ay.Log && y.low > 0 && y.low < 0.5*y.high {
		y.low = 0
	}
	return x, y.above()
}

func tableOf(x, y Axis, series []Series) [][]string {
	rows := [][]string{{"series", orElse(x.Label, "x"), orElse(y.Label, "y")}}
	for _, s := range series {
		for i := range min(len(s.X), len(s.Y)) {
			rows = append(rows, []string{s.Name, exact(s.X[i]), exact(s.Y[i])})
		}
	}
	return rows
}

// trail writes a path through the points that can be shown; a gap breaks it. Points on the same pixel are drawn
// once.
func trail(s Series, x, y axis, steps bool) string {
	var b strings.Builder
	pen, lastX, lastY := false, "", ""
	for i := range min(len(s.X), len(s.Y)) {
		if !x.shows(s.X[i]) || !y.shows(s.Y[i]) {
			pen = false
			continue
		}
		px, py := px(x.at(s.X[i])), px(y.at(s.Y[i]))
		switch {
		case !pen:
			b.WriteString("M" + px + " " + py)
		case px == lastX && py == lastY:
		case steps && px == lastX:
			b.WriteString("V" + py)
		case steps && py == lastY:
			b.WriteString("H" + px)
		case steps:
			b.WriteString("H" + px + "V" + py)
		default:
			b.WriteString("L" + px + " " + py)
		}
		pen, lastX, lastY = true, px, py
	}
	return b.String()
}

// A Sample is a named set of values.
type Sample struct {
	Name   string
	Values []float64
}

// CDF draws distributions: the share of values up to each value.
type CDF struct {
	Frame
	Samples []Sample
	Marks   []Mark
}

func (d CDF) frame() Frame {
	f := frameOf(d.Frame, defaultHeight)
	f.Y = Axis{Label: orElse(f.Y.Label, "share of all"), Min: 0, Max: 1}
	return f
}

func (d CDF) names() []string { return namesOf(d.lines().Series) }

func (d CDF) extent() (x, y span) { return extentOf(d.lines().Series, d.Marks, d.X, Axis{}) }

func (d CDF) table() [][]string { return tableOf(d.X, Axis{Label: "share"}, d.lines().Series) }

func (d CDF) draw(c *canvas, x, y axis) {
	d.lines().curves(c, x, y)
	if tags(d) {
		c.beside(d.sides(x, y))
	}
}

// cdfPoints bounds the points of a curve.
const cdfPoints = 240

func (d CDF) lines() Lines {
	l := Lines{Frame: d.Frame, Steps: true, Marks: d.Marks}
	for _, s := range d.Samples {
		var v []float64
		for _, x := range s.Values {
			if finite(x) && (!d.X.Log || x > 0) {
				v = append(v, x)
			}
		}
		sort.Float64s(v)
		line := Series{Name: s.Name}
		n := min(len(v), cdfPoints)
		for i := range n {
			k := (i + 1) * len(v) / n
			line.X, line.Y = append(line.X, v[k-1]), append(line.Y, float64(k)/float64(len(v)))
		}
		l.Series = append(l.Series, line)
	}
	return l
}
