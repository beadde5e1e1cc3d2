package chart

import "strconv"

// Heat is a table of cells, which are darker for larger values.
type Heat struct {
	Frame
	Rows, Columns []string
	Values        [][]float64 // by row and column
	Unit          string
}

// cellTitles is how many cells may have tooltips.
const cellTitles = 4000

func (h Heat) cellHeight() float64 { return min(max(420/float64(max(len(h.Rows), 1)), 6), 26) }

func (h Heat) frame() Frame {
	f := frameOf(h.Frame, 86+int(h.cellHeight()*float64(len(h.Rows))))
	f.X.Log = false
	return f
}

func (h Heat) names() []string { return nil }

func (h Heat) labels() []string { return h.Rows }

func (h Heat) extent() (x, y span) {
	if h.top().empty() || len(h.Columns) == 0 {
		return nothing(), nothing()
	}
	return span{0, float64(len(h.Columns))}, span{0, float64(len(h.Rows))}
}

func (h Heat) top() span {
	s := nothing()
	for _, row := range h.Values {
		s.addAll(row)
	}
	return s
}

func (h Heat) table() [][]string {
	rows := [][]string{append([]string{""}, h.Columns...)}
	for i, r := range h.Rows {
		row := []string{r}
		for k := range h.Columns {
			v, ok := h.value(i, k)
			if !ok {
				row = append(row, "")
				continue
			}
			row = append(row, exact(v))
		}
		rows = append(rows, row)
	}
	return rows
}

func (h Heat) value(row, column int) (float64, bool) {
	if row < len(h.Values) && column < len(h.Values[row]) && finite(h.Values[row][column]) {
		return h.Values[row][column], true
	}
	return 0, false
}

func (h Heat) draw(c *canvas, x, y axis) {
	s := h.top()
	w, t := (x.to-x.from)/float64(len(h.Columns)), (y.from-y.to)/float64(len(h.Rows))
	titled := len(h.Rows)*len(h.Columns) <= cellTitles
	for i, r := range h.Rows {
		top := y.to + t*float64(i)
		if t >= 9 {
			c.text("tick", x.from-5, top+t/2+4, "end", r)
		}
		for k, col := range h.Columns {
			v, ok := h.value(i, k)
			title := ""
			if titled {
				title = r + ", " + col + ": " + Number(v) + h.Unit
			}
			if !ok {
				c.rect("empty", x.from+w*float64(k), top, w-0.5, t-0.5, "")
				continue
			}
			h.cell(c, x.from+w*float64(k), top, w-0.5, t-0.5, (v-min(s.low, 0))/max(s.high-min(s.low, 0), 1e-300), title)
		}
	}
}

// columnNames writes as many column names as fit.
func (h Heat) columnNames(c *canvas, g room, x axis) {
	widest := 1
	for _, n := range h.Columns {
		widest = max(widest, textWidth(n)+6)
	}
	w := (x.to - x.from) / float64(len(h.Columns))
	every := max(1, int(float64(widest)/w+0.999))
	for k := 0; k < len(h.Columns); k += every {
		c.text("tick", x.from+w*(float64(k)+0.5), g.bottom+14, "middle", h.Columns[k])
	}
}

func (h Heat) cell(c *canvas, x, y, w, t, part float64, title string) {
	c.add(`<rect class="cell" fill-opacity="`, strconv.FormatFloat(0.04+0.96*min(max(part, 0), 1), 'f', 2, 64),
		`" x="`, px(x), `" y="`, px(y), `" width="`, px(max(w, 0.5)), `" height="`, px(max(t, 0.5)), `"`)
	c.closeWith("rect", title)
}
