package compare

import (
	"fmt"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/chart"
)

// TestSweep: a row for each scenario and policy, a curve for each policy and value of the further keys, and intervals where there are
// repetitions, as long as the curves can be told apart.
func TestSweep(t *testing.T) {
	sweep := func(policies, seeds int) (Table, []Figure) {
		var cases []Case
		for _, v := range [][]string{{"10s", "1"}, {"20s", "1"}, {"10s", "2"}} {
			c := Case{Values: v}
			for p := range policies {
				for s := range seeds {
					c.Runs = append(c.Runs, runOf(fmt.Sprint("p", p), uint64(s), float64(100*p+10*len(cases)), 0.5))
				}
			}
			cases = append(cases, c)
		}
		return Sweep([]string{"wait", "load"}, cases, []string{"mean completion, s"})
	}
	table, figures := sweep(2, 1)
	if want := [][]string{{"10s", "1", "p0", "0"}, {"10s", "1", "p1", "100.0"}, {"20s", "1", "p0", "10.00"}, {"20s", "1", "p1", "110.0"}, {"10s", "2", "p0", "20.00"}, {"10s", "2", "p1", "120.0"}}; !slices.EqualFunc(table.Rows, want, slices.Equal[[]string]) {
		t.Errorf("rows %q", table.Rows)
	}
	if !slices.Equal(table.Head, []string{"wait", "load", "policy", "mean completion, s"}) {
		t.Errorf("head %q", table.Head)
	}
	l := figures[0].Chart.(chart.Lines)
	var curves []string
	for _, s := range l.Series {
		curves = append(curves, fmt.Sprint(s.Name, s.X, s.Y))
	}
	if want := []string{"p0, load=1[10 20] [0 10]", "p1, load=1[10 20] [100 110]", "p0, load=2[10] [20]", "p1, load=2[10] [120]"}; !slices.Equal(curves, want) {
		t.Errorf("curves %q", curves)
	}
	for _, c := range []struct {
		policies, seeds, curves int
		ranges                  bool
	}{{2, 1, 4, false}, {2, 2, 4, true}, {4, 2, 8, true}, {5, 2, 10, false}, {12, 1, 24, false}, {13, 1, 24, false}} {
		_, figures := sweep(c.policies, c.seeds)
		l := figures[0].Chart.(chart.Lines)
		caption := map[bool]string{false: "Means over repetitions.", true: "Means over repetitions with 95 % intervals."}[c.ranges]
		if len(l.Series) != c.curves || (l.Ranges != nil) != c.ranges || figures[0].Caption != caption {
			t.Errorf("%+v: %d curves, intervals %v, %q", c, len(l.Series), l.Ranges != nil, figures[0].Caption)
		}
	}
	if all, _ := Sweep([]string{"x"}, nil, nil); len(all.Head) != 2+len(MetricNames()) {
		t.Errorf("without a choice %d columns", len(all.Head))
	}
}
