package chart

import (
	"strconv"
	"strings"
)

// Scatter draws points.
type Scatter struct {
	Frame
	Groups []Series
	// Titles are tooltips, by group and point; nil means none.
	Titles [][]string
	Marks  []Mark
}

func (s Scatter) frame() Frame { return frameOf(s.Frame, 340) }

func (s Scatter) names() []string { return namesOf(s.Groups) }

func (s Scatter) extent() (x, y span) { return extentOf(s.Groups, s.Marks, s.X, s.Y) }

func (s Scatter) table() [][]string { return tableOf(s.X, s.Y, s.Groups) }

func (s Scatter) draw(c *canvas, x, y axis) {
	for g, group := range s.Groups {
		if g < len(s.Titles) && len(s.Titles[g]) == len(group.X) {
			s.circles(c, g, group, x, y)
			continue
		}
		c.path("dots "+stroke(g), dots(group, x, y), group.Name)
	}
	c.marks(s.Marks, x, y)
}

func (s Scatter) circles(c *canvas, g int, group Series, x, y axis) {
	for i := range min(len(group.X), len(group.Y)) {
		if x.shows(group.X[i]) && y.shows(group.Y[i]) {
			c.circle("dot "+fill(g), x.at(group.X[i]), y.at(group.Y[i]), 3, s.Titles[g][i])
		}
	}
}

// dots writes many points as one path of strokes without length, each pixel once.
func dots(s Series, x, y axis) string {
	var b strings.Builder
	seen := map[string]bool{}
	for i := range min(len(s.X), len(s.Y)) {
		if !x.shows(s.X[i]) || !y.shows(s.Y[i]) {
			continue
		}
		at := strconv.Itoa(int(x.at(s.X[i])+0.5)) + " " + strconv.Itoa(int(y.at(s.Y[i])+0.5))
		if !seen[at] {
			seen[at] = true
			b.WriteString("M" + at + "h0")
		}
	}
	return b.String()
}
