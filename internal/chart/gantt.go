package chart

import (
	"strings"
)

// Gantt draws what ran where and when: a row for each node, a bar for each span.
type Gantt struct {
	Frame
	Rows   []string
	Groups []string // names of the colours
	Spans  []Span
	Marks  []Mark
}

// A Span is one bar.
type Span struct {
	Row      int
	From, To float64
	Group    int
	Title    string
}

// spanTitles is how many bars may have tooltips of their own.
const spanTitles = 1500

func (g Gantt) rowHeight() float64 { return min(max(480/float64(max(len(g.Rows), 1)), 4), 18) }

func (g Gantt) frame() Frame {
	return frameOf(g.Frame, 90+17*len(legendRows(g.Groups, frameOf(g.Frame, 1).Width))+int(g.rowHeight()*float64(len(g.Rows))))
}

func (g Gantt) names() []string { return g.Groups }

// labels returns the rows' names, or none if rows are too close.
func (g Gantt) labels() []string {
	if g.rowHeight() < 9 {
		return []string{"nodes"}
	}
	return g.Rows
}

func (g Gantt) extent() (x, y span) {
	x, y = nothing(), nothing()
	for _, s := range g.Spans {
		if s.Row >= 0 && s.Row < len(g.Rows) {
			x.add(s.From)
			x.add(s.To)
		}
	}
	if !x.empty() {
		y = span{0, float64(len(g.Rows))}
	}
	return x, y
}

func (g Gantt) table() [][]string {
	rows := [][]string{{"row", "from", "to", "group", "title"}}
	for _, s := range g.Spans {
		name := ""
		if s.Group >= 0 && s.Group < len(g.Groups) {
			name = g.Groups[s.Group]
		}
		if s.Row >= 0 && s.Row < len(g.Rows) {
			rows = append(rows, []string{g.Rows[s.Row], exact(s.From), exact(s.To), name, s.Title})
		}
	}
	return rows
}

func (g Gantt) draw(c *canvas, x, y axis) {
	height := (y.from - y.to) / float64(len(g.Rows))
	top := func(row int) float64 { return y.to + height*float64(row) }
	if height >= 9 {
		for i, r := range g.Rows {
			c.text("tick", x.from-5, top(i)+height/2+4, "end", r)
		}
	} else {
		c.text("tick", x.from-5, (y.from+y.to)/2, "end", "nodes")
	}
	if len(g.Spans) <= spanTitles {
		g.bars(c, x, height, top)
	} else {
		g.strokes(c, x, height, top)
	}
	c.marks(g.Marks, x, y)
}

func (g Gantt) bars(c *canvas, x axis, height float64, top func(int) float64) {
	for _, s := range g.Spans {
		if g.shows(s) {
			c.rect("span "+fill(s.Group), x.at(s.From), top(s.Row)+0.5, max(x.at(s.To)-x.at(s.From)-0.4, 0.4), height-1, s.Title)
		}
	}
}

// strokes draws all bars of a colour as one path.
func (g Gantt) strokes(c *canvas, x axis, height float64, top func(int) float64) {
	for k, name := range g.Groups {
		var b strings.Builder
		for _, s := range g.Spans {
			if s.Group == k && g.shows(s) {
				b.WriteString("M" + px(x.at(s.From)) + " " + px(top(s.Row)+height/2) + "h" + px(max(x.at(s.To)-x.at(s.From)-0.3, 0.3)))
			}
		}
		if b.Len() > 0 {
			c.add(`<path class="`, stroke(k), `" fill="none" stroke-width="`, px(height-1), `" d="`, b.String(), `"`)
			c.closeWith("path", name)
		}
	}
}

func (g Gantt) shows(s Span) bool {
	return s.Row >= 0 && s.Row < len(g.Rows) && finite(s.From) && finite(s.To)
}
