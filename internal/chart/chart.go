package chart

import "strings"

// A Chart can draw itself. The kinds are Lines, CDF, Scatter, Area, Gantt, Bars, Strip
// and Heat.
type Chart interface {
	// frame returns title, axes and size, with everything filled in.
	frame() Frame
	// names returns the names in the legend, in order of their colours.
	names() []string
	// extent returns the smallest and largest finite values on both axes.
	extent() (x, y span)
	// draw adds the data.
	draw(c *canvas, x, y axis)
	// table returns the data.
	table() [][]string
}

// A Frame is what every chart has.
type Frame struct {
	Title string
	X, Y  Axis
	// Width and Height are in pixels; 0 means 640 by 300, or what the rows need.
	Width, Height int
}

// An Axis is one direction of a chart.
type Axis struct {
	Label string
	Log   bool
	// Min and Max, if they differ, replace the ends found in the data.
	Min, Max float64
}

// A Series is a named line of points.
type Series struct {
	Name string
	X, Y []float64
}

// Curve computes a series at the given places of the x axis.
func Curve(name string, x []float64, y func(float64) float64) Series {
	s := Series{Name: name, X: x}
	for _, at := range x {
		s.Y = append(s.Y, y(at))
	}
	return s
}

// A Mark is a line across the chart at a value, such as a published number or a goal.
type Mark struct {
	Name     string
	Value    float64
	Vertical bool // at a value of X
}

// Inline draws a chart for a page that holds Style.
func Inline(c Chart) string { return render(c, false) }

// File draws a chart as a file of its own.
func File(c Chart) string { return render(c, true) }

// Table returns the data of a chart, with a header first.
func Table(c Chart) [][]string { return c.table() }

const (
	defaultWidth  = 640
	defaultHeight = 300
)

func render(c Chart, alone bool) string {
	f := c.frame()
	var legend [][]entry
	if !tags(c) {
		legend = legendRows(c.names(), f.Width)
	}
	x, y := c.extent()
	g := layout(f, c, len(legend))
	v := &canvas{}
	v.open(f, alone)
	v.text("title", float64(f.Width)/2, 17, "middle", f.Title)
	v.legend(legend, f.Width)
	if x.empty() || y.empty() {
		v.text("none", float64(f.Width)/2, float64(f.Height)/2, "middle", "no data")
		v.add("</svg>")
		return v.String()
	}
	ay := newAxis(f.Y, y, g.bottom, g.top)
	if _, ok := c.(labelled); !ok {
		for _, t := range ay.ticks(5) {
			g.left = max(g.left, 26+float64(textWidth(Number(t)))) // not over the axis' label
		}
	}
	ax := newAxis(f.X, x, g.left, g.right)
	v.axes(c, f, g, ax, ay)
	c.draw(v, ax, ay)
	v.add("</svg>")
	return v.String()
}

// room is where the data go.
type room struct{ left, right, top, bottom float64 }

// labelled charts have rows with names instead of numbers on the left.
type labelled interface{ labels() []string }

func layout(f Frame, c Chart, legendLines int) room {
	g := room{left: 58, right: float64(f.Width) - 16, top: 28 + 17*float64(legendLines), bottom: float64(f.Height) - 40}
	if l, ok := c.(labelled); ok {
		g.left = 12 + min(longest(l.labels()), 0.5*float64(f.Width))
	}
	if tags(c) {
		g.right -= c.(tagged).margin()
	}
	switch c := c.(type) {
	case Bars:
		g.right -= besideRoom(c.Bars)
	case Strip:
		g.right -= besideRoom(c.Readings)
	}
	return g
}

// besideRoom returns the space for the values on the right of the bars, beside the margin.
func besideRoom(bars []Bar) float64 {
	var values []string
	for _, b := range bars {
		values = append(values, rounded(b.Value))
	}
	return max(36, longest(values)-8)
}

// legendRows breaks the names of a legend into lines.
func legendRows(names []string, width int) [][]entry {
	if len(names) < 2 {
		return nil
	}
	var rows [][]entry
	var row []entry
	used := 0
	for i, n := range names {
		w := textWidth(n) + 26
		if used+w > width-40 && len(row) > 0 {
			rows, row, used = append(rows, row), nil, 0
		}
		row = append(row, entry{i, n, w})
		used += w
	}
	return append(rows, row)
}

// entry is one name of a legend.
type entry struct {
	colour int
	name   string
	width  int
}

// textWidth estimates the width of small print in pixels.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case strings.ContainsRune("iljt.,:;|!'() ", r):
			n += 4
		case strings.ContainsRune("mwMW%", r):
			n += 10
		default:
			n += 7
		}
	}
	return n
}

// shortened returns a name that fits in the room. It cuts off the end of a longer one, which the tooltip shows in
// full.
func shortened(name string, room float64) string {
	runes := []rune(name)
	for n := len(runes); n > 0 && float64(textWidth(name)) > room; n-- {
		name = string(runes[:n-1]) + "…"
	}
	return name
}

// frameOf fills in the size.
func frameOf(f Frame, height int) Frame {
	if f.Width <= 0 {
		f.Width = defaultWidth
	}
	if f.Height <= 0 {
		f.Height = height
	}
	return f
}
