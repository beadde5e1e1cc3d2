package chart

import (
	"html"
	"math"
	"strconv"
	"strings"
)

// canvas collects SVG.
type canvas struct{ strings.Builder }

// add writes strings unchanged.
func (c *canvas) add(parts ...string) {
	for _, p := range parts {
		c.WriteString(p)
	}
}

// px formats a pixel position with one decimal.
func px(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(math.Round(v*10)/10+0, 'f', 1, 64), ".0")
}

func (c *canvas) open(f Frame, alone bool) {
	w, h := strconv.Itoa(f.Width), strconv.Itoa(f.Height)
	c.add(`<svg class="chart" width="`, w, `" height="`, h, `" viewBox="0 0 `, w, " ", h, `" role="img" aria-label="`, html.EscapeString(f.Title), `"`)
	if alone {
		c.add(` xmlns="http://www.w3.org/2000/svg"><style>`, Style, `svg{background:#fff}@media (prefers-color-scheme:dark){svg{background:#181a1b}}</style`)
	}
	c.add(">\n")
}

func (c *canvas) text(class string, x, y float64, anchor, s string) {
	if s == "" {
		return
	}
	c.add(`<text class="`, class, `" x="`, px(x), `" y="`, px(y), `" text-anchor="`, anchor, `">`, html.EscapeString(s), "</text>\n")
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64, title string) {
	c.add(`<line class="`, class, `" x1="`, px(x1), `" y1="`, px(y1), `" x2="`, px(x2), `" y2="`, px(y2), `"`)
	c.closeWith("line", title)
}

func (c *canvas) rect(class string, x, y, w, h float64, title string) {
	c.add(`<rect class="`, class, `" x="`, px(x), `" y="`, px(y), `" width="`, px(max(w, 0)), `" height="`, px(max(h, 0)), `"`)
	c.closeWith("rect", title)
}

func (c *canvas) circle(class string, x, y, r float64, title string) {
	c.add(`<circle class="`, class, `" cx="`, px(x), `" cy="`, px(y), `" r="`, px(r), `"`)
	c.closeWith("circle", title)
}

func (c *canvas) path(class, d, title string) {
	if d == "" {
		return
	}
	c.add(`<path class="`, class, `" d="`, d, `"`)
	c.closeWith("path", title)
}

// closeWith ends an element, with a tooltip if there is one.
func (c *canvas) closeWith(name, title string) {
	if title == "" {
		c.add("/>\n")
		return
	}
	c.add("><title>", html.EscapeString(title), "</title></", name, ">\n")
}

func (c *canvas) legend(rows [][]entry, width int) {
	for i, row := range rows {
		total := 0
		for _, e := range row {
			total += e.width
		}
		x, y := float64(width-total)/2, 34+17*float64(i)
		for _, e := range row {
			c.rect(fill(e.colour), x, y-9, 10, 10, "")
			c.text("name", x+14, y, "start", e.name)
			x += float64(e.width)
		}
	}
}

func (c *canvas) axes(ch Chart, f Frame, g room, x, y axis) {
	if h, ok := ch.(Heat); ok {
		h.columnNames(c, g, x)
	} else {
		for _, v := range x.ticks(8) {
			c.line("grid", x.at(v), g.top, x.at(v), g.bottom, "")
			c.text("tick", x.at(v), g.bottom+14, "middle", Number(v))
		}
	}
	if _, ok := ch.(labelled); !ok {
		for _, v := range y.ticks(5) {
			c.line("grid", g.left, y.at(v), g.right, y.at(v), "")
			c.text("tick", g.left-5, y.at(v)+4, "end", Number(v))
		}
	}
	c.line("axis", g.left, g.bottom, g.right, g.bottom, "")
	c.line("axis", g.left, g.top, g.left, g.bottom, "")
	c.text("label", (g.left+g.right)/2, g.bottom+31, "middle", f.X.title())
	if label := f.Y.title(); label != "" {
		mid := px((g.top + g.bottom) / 2)
		c.add(`<text class="label" x="13" y="`, mid, `" text-anchor="middle" transform="rotate(-90 13 `, mid, `)">`, html.EscapeString(label), "</text>\n")
	}
}

// marks draws lines at given values.
func (c *canvas) marks(list []Mark, x, y axis) {
	for _, m := range list {
		switch {
		case m.Vertical && x.shows(m.Value):
			c.line("mark", x.at(m.Value), y.from, x.at(m.Value), y.to, m.Name+": "+Number(m.Value))
			if at := x.at(m.Value); at+3+float64(textWidth(m.Name)) > x.to {
				c.text("note", at-3, y.to+10, "end", m.Name)
			} else {
				c.text("note", at+3, y.to+10, "start", m.Name)
			}
		case !m.Vertical && y.shows(m.Value):
			c.line("mark", x.from, y.at(m.Value), x.to, y.at(m.Value), m.Name+": "+Number(m.Value))
			c.text("note", x.to-3, y.at(m.Value)-3, "end", m.Name)
		}
	}
}
