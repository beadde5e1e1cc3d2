package compare

import (
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/chart"
)

// A Case is the runs of one scenario of a sweep. Values are the values of the swept keys.
type Case struct {
	Values []string
	Runs   []Run
}

// maxCurves bounds the curves of a readable chart, maxWithRanges those of one with intervals.
const (
	maxCurves     = 24
	maxWithRanges = 8
)

// Sweep compares the scenarios of a sweep: a row for each scenario and policy, and charts of mean completion and
// makespan against the first key, with a curve for each policy and each value of the other keys. metrics are names of
// rows of Beside; nil means all.
func Sweep(keys []string, cases []Case, metrics []string) (Table, []Figure) {
	if metrics == nil {
		metrics = MetricNames()
	}
	t := Table{Head: append(append([]string{}, keys...), append([]string{"policy"}, metrics...)...)}
	for _, c := range cases {
		names, by := grouped(c.Runs)
		for _, n := range names {
			row := append(append([]string{}, c.Values...), n)
			for _, m := range metrics {
				row = append(row, Metric(m, by[n]).Text())
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t, []Figure{sweepFigure("sweep-completion", "mean completion, s", keys, cases), sweepFigure("sweep-makespan", "makespan, s", keys, cases)}
}

func sweepFigure(name, metric string, keys []string, cases []Case) Figure {
	l, caption := sweepChart(metric, keys, cases), "Means over repetitions."
	if l.Ranges != nil {
		caption = "Means over repetitions with 95 % intervals."
	}
	return Figure{name, caption, l}
}

// sweepChart draws a metric against the first key, with intervals if there are repetitions and few curves.
func sweepChart(metric string, keys []string, cases []Case) chart.Lines {
	title := strings.ToUpper(metric[:1]) + metric[1:]
	l := chart.Lines{Frame: chart.Frame{Title: title + " against " + keys[0], X: chart.Axis{Label: keys[0]}, Y: chart.Axis{Label: metric}}}
	at, repeated := map[string]int{}, false
	for _, c := range cases {
		names, by := grouped(c.Runs)
		for _, n := range names {
			name := curveName(n, keys[1:], c.Values[1:])
			i, known := at[name]
			if !known {
				if len(l.Series) == maxCurves {
					continue
				}
				i = len(l.Series)
				at[name] = i
				l.Series, l.Ranges = append(l.Series, chart.Series{Name: name}), append(l.Ranges, nil)
			}
			x, _ := strconv.ParseFloat(strings.TrimSuffix(c.Values[0], "s"), 64) // a number, or seconds
			s, e := &l.Series[i], Metric(metric, by[n])
			s.X, s.Y = append(s.X, x), append(s.Y, e.Mean)
			l.Ranges[i] = append(l.Ranges[i], e.Interval())
			repeated = repeated || e.N > 1
		}
	}
	if !repeated || len(l.Series) > maxWithRanges {
		l.Ranges = nil
	}
	return l
}

// curveName returns the name of a policy and the values of all keys but the first.
func curveName(policy string, keys, values []string) string {
	parts := []string{policy}
	for i, key := range keys {
		parts = append(parts, key+"="+values[i])
	}
	return strings.Join(parts, ", ")
}
