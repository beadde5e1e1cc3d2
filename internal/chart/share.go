package chart

// Share gives charts of one kind whose axes have the same labels the same ends, so that they can be compared by eye.
// An axis with ends of its own keeps them.
func Share(charts []Chart) {
	type kind struct {
		of         string
		x, y       string
		logX, logY bool
	}
	alike := map[kind][]int{}
	for i, c := range charts {
		f := c.frame()
		if of := kindOf(c); of != "" {
			k := kind{of, f.X.Label, f.Y.Label, f.X.Log, f.Y.Log}
			alike[k] = append(alike[k], i)
		}
	}
	for k, members := range alike {
		x, y := nothing(), nothing()
		for _, i := range members {
			cx, cy := charts[i].extent()
			x, y = x.with(cx), y.with(cy)
		}
		for _, i := range members {
			charts[i] = within(charts[i], x, y, k.of == "rows")
		}
	}
}

// kindOf returns the kind of chart whose axes may be shared, or "".
func kindOf(c Chart) string {
	switch c.(type) {
	case Bars, Strip:
		return "rows"
	case Lines, Area:
		return "curves"
	case CDF:
		return "shares"
	}
	return ""
}

func (s span) with(o span) span { return span{min(s.low, o.low), max(s.high, o.high)} }

// within returns c with given ends of its axes; with rows, only of the x axis.
func within(c Chart, x, y span, rows bool) Chart {
	set := func(f Frame) Frame {
		f.X = f.X.to(x)
		if !rows {
			f.Y = f.Y.to(y)
		}
		return f
	}
	if f, ok := c.(framed); ok {
		return f.in(set(f.frame()))
	}
	return c
}

// framed charts can be given another frame.
type framed interface {
	Chart
	in(Frame) Chart
}

func (b Bars) in(f Frame) Chart  { b.Frame = f; return b }
func (s Strip) in(f Frame) Chart { s.Frame = f; return s }
func (l Lines) in(f Frame) Chart { l.Frame = f; return l }
func (a Area) in(f Frame) Chart  { a.Frame = f; return a }
func (d CDF) in(f Frame) Chart   { d.Frame = f; return d }

func (a Axis) to(s span) Axis {
	if a.Max <= a.Min && !s.empty() && (!a.Log || s.low > 0) {
		a.Min, a.Max = s.low, s.high
	}
	return a
}
