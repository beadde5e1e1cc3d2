package chart

import "math"

// Strip shows how much a figure depends on how its source is read: a row with one mark for each reading, the first
// of which are judged, and a grey line through all rows at a published value.
type Strip struct {
	Frame
	Readings []Bar // without Published and Group
	// Published is the line's value, and Said the text at it; NaN leaves it out.
	Published float64
	Said      string
	// None is the value that means no effect; NaN leaves it out.
	None float64
	// Judged is how many of the readings, from the first, are filled.
	Judged int
}

func (s Strip) frame() Frame { return frameOf(s.Frame, 98+barHeight*len(s.Readings)) }

func (s Strip) names() []string { return nil }

func (s Strip) labels() []string { return Bars{Bars: s.Readings}.labels() }

// extent adds room at both ends, and a row above the readings for the texts at the lines.
func (s Strip) extent() (x, y span) {
	x = nothing()
	for _, r := range s.Readings {
		x.addFor(s.X, r.Value)
	}
	if x.empty() {
		return x, nothing()
	}
	x.addFor(s.X, s.Published)
	x.addFor(s.X, s.None)
	if room := 0.08 * (x.high - x.low); !s.X.Log {
		x.low, x.high = x.low-room, x.high+room
	}
	return x, span{0, float64(len(s.Readings) + 1)}
}

func (s Strip) table() [][]string {
	rows := [][]string{{"reading", "value", "low", "high", "published"}}
	for _, r := range s.Readings {
		rows = append(rows, []string{r.Label, exact(r.Value), exact(r.Low), exact(r.High), exact(s.Published)})
	}
	return rows
}

func (s Strip) draw(c *canvas, x, y axis) {
	height := (y.from - y.to) / float64(len(s.Readings)+1)
	none, said := "no effect", "published "+orElse(s.Said, Number(s.Published))
	if x.shows(s.Published) && 2*math.Abs(x.at(s.None)-x.at(s.Published)) < float64(textWidth(none)+textWidth(said)) {
		none = "" // there is no room for both
	}
	s.across(c, s.None, "mark", none, x, y)
	s.across(c, s.Published, "published", said, x, y)
	for i, r := range s.Readings {
		mid := y.to + height*(float64(i)+1.5)
		c.line("grid", x.from, mid, x.to, mid, "")
		c.text("name", x.from-5, mid+4, "end", shortened(r.Label, x.from-5))
		if finite(r.Low) && x.shows(r.High) {
			c.whisker("whisker", Interval{r.Low, r.High}, mid, x, false)
		}
		if !x.shows(r.Value) {
			continue
		}
		class := "open s0"
		if i < s.Judged {
			class = "bar f0"
		}
		c.circle(class, x.at(r.Value), mid, 5, r.title("published"))
		c.text("value", x.to+6, mid+4, "start", rounded(r.Value))
	}
}

// across draws a line through all rows, and its name above them, on the side with more room.
func (s Strip) across(c *canvas, v float64, class, name string, x, y axis) {
	if !x.shows(v) || !x.inside(v) {
		return
	}
	at := x.at(v)
	c.line(class, at, y.to+barHeight-4, at, y.from, name)
	switch wide := float64(textWidth(name)) / 2; {
	case at+wide > x.to:
		c.text("note", x.to, y.to+11, "end", name)
	case at-wide < x.from:
		c.text("note", x.from, y.to+11, "start", name)
	default:
		c.text("note", at, y.to+11, "middle", name)
	}
}

// rounded returns a value as shown beside a mark, with three digits.
func rounded(v float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-2)
	if r := math.Round(v/unit) * unit; finite(r) {
		return Number(r)
	}
	return Number(v)
}
