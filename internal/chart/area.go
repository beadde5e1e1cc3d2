package chart

import (
	"slices"
	"strings"
)

// Area stacks series on each other. All series share the positions of At. Each value holds until the next position.
type Area struct {
	Frame
	At     []float64
	Series []Layer
	Marks  []Mark
}

// A Layer is a series of an area chart.
type Layer struct {
	Name   string
	Values []float64
}

func (a Area) frame() Frame { return frameOf(a.Frame, defaultHeight) }

func (a Area) names() []string {
	var out []string
	for _, s := range a.Series {
		out = append(out, s.Name)
	}
	return out
}

// value returns a layer's value. Missing and non-finite values count as 0.
func (l Layer) value(i int) float64 {
	if i < len(l.Values) && finite(l.Values[i]) {
		return l.Values[i]
	}
	return 0
}

func (a Area) extent() (x, y span) {
	x, y = nothing(), nothing()
	x.addAll(a.At)
	for i := range a.At {
		sum := 0.0
		for _, s := range a.Series {
			sum += max(0, s.value(i))
		}
		y.add(sum)
	}
	if y.empty() || len(a.Series) == 0 {
		return nothing(), nothing()
	}
	y.low = 0
	for _, m := range a.Marks {
		if m.Vertical {
			x.add(m.Value)
		} else {
			y.add(m.Value)
		}
	}
	return x, y.above()
}

func (a Area) table() [][]string {
	rows := [][]string{append([]string{orElse(a.X.Label, "x")}, a.names()...)}
	for i, at := range a.At {
		row := []string{exact(at)}
		for _, s := range a.Series {
			row = append(row, exact(s.value(i)))
		}
		rows = append(rows, row)
	}
	return rows
}

func (a Area) draw(c *canvas, x, y axis) {
	base := make([]float64, len(a.At))
	for k, s := range a.Series {
		top := slices.Clone(base)
		for i := range top {
			top[i] += max(0, s.value(i))
		}
		if d := band(a.At, base, top, x, y); d != "" {
			c.path("area "+fill(k), d, s.Name)
		}
		base = top
	}
	c.marks(a.Marks, x, y)
}

// band writes the outline between two step lines: along the top, and back along the base.
func band(at, base, top []float64, x, y axis) string {
	if slices.Equal(base, top) {
		return ""
	}
	var ok []int
	for i, t := range at {
		if x.shows(t) {
			ok = append(ok, i)
		}
	}
	line := Series{}
	for _, i := range ok {
		line.X, line.Y = append(line.X, at[i]), append(line.Y, top[i])
	}
	back := Series{}
	for k, i := range slices.Backward(ok) {
		// a step back goes down before it goes left
		if k+1 < len(ok) {
			back.X, back.Y = append(back.X, at[ok[k+1]]), append(back.Y, base[i])
		}
		back.X, back.Y = append(back.X, at[i]), append(back.Y, base[i])
	}
	there, home := trail(line, x, y, true), trail(back, x, y, false)
	return there + strings.Replace(home, "M", "L", 1) + "Z"
}
