package chart

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestTagsStandApart: wherever curves end, their names keep their order, keep apart and stay inside.
func TestTagsStandApart(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		list := make([]tag, 1+rng.IntN(colours))
		for i := range list {
			list[i].y = 20 + float64(rng.IntN(3))*rng.Float64()*120 // often several at one place
		}
		slices.SortFunc(list, func(a, b tag) int { return cmp.Compare(a.y, b.y) })
		at := spread(list, 20, 260)
		for i := range at {
			if at[i] < 20 || at[i] > 260 || i > 0 && at[i]-at[i-1] < tagGap-1e-9 {
				t.Fatalf("curves end at %v, names stand at %v", list, at)
			}
		}
	}
	if at := spread([]tag{{y: 50}, {y: 200}}, 20, 260); at[0] != 50 || at[1] != 200 {
		t.Errorf("names that have room are moved to %v", at)
	}
}

// TestTagsOrLegend: a few short names stand beside their curves; many, or long ones, in a legend; never both.
func TestTagsOrLegend(t *testing.T) {
	t.Parallel()
	lines := func(n int, name string) Lines {
		l := Lines{Frame: Frame{Title: "t"}}
		for i := range n {
			l.Series = append(l.Series, Series{Name: fmt.Sprint(name, i), X: []float64{0, 1}, Y: []float64{0, float64(i)}})
		}
		return l
	}
	for _, c := range []struct {
		chart  Chart
		beside bool
	}{
		{lines(2, "fair"), true},
		{lines(colours, "fair"), true},
		{lines(colours+1, "fair"), false},
		{lines(2, strings.Repeat("long ", 12)), false},
		{CDF{Samples: []Sample{{"fair", []float64{1, 2}}, {"fifo", []float64{2, 3}}}}, true},
		{Lines{Frame: Frame{Height: 100}, Series: lines(3, "fair").Series}, false},
	} {
		svg := Inline(c.chart)
		for _, n := range c.chart.names() {
			if strings.Count(svg, ">"+n+"</text>") != 1 {
				t.Errorf("%q is written %d times", n, strings.Count(svg, ">"+n+"</text>"))
			}
		}
		if beside := strings.Contains(svg, `tag f0"`); beside != c.beside {
			t.Errorf("%v: beside the curves: %v", c.chart.names(), beside)
		}
	}
}
