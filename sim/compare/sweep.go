package compare

import (
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
)

// A Case is the runs of one scenario of a sweep: Values are those of the keys that are swept.
type Case struct {
	Values []string
	Runs   []Run
}

// maxCurves bounds the curves of a chart that can still be read.
const maxCurves = 24

// Sweep puts the scenarios of a sweep beside each other: a row for each scenario and policy, and charts of mean completion and makespan
// against the first key, with a curve for each policy and each value of the other keys. Metrics are names of rows of Beside; none means all.
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
				row = append(row, stats.Text(Metric(m, by[n]).Mean))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t, []Figure{
		{"sweep-completion", "Means over repetitions.", sweepChart("Mean completion, s", metricRows[0].of, keys, cases)},
		{"sweep-makespan", "Means over repetitions.", sweepChart("Makespan, s", metricOf("makespan, s"), keys, cases)},
	}
}

func sweepChart(title string, of func(Metrics) float64, keys []string, cases []Case) chart.Chart {
	l := chart.Lines{Frame: chart.Frame{Title: title + " against " + keys[0], X: chart.Axis{Label: keys[0]}, Y: chart.Axis{Label: strings.ToLower(title)}}}
	at := map[string]int{}
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
				l.Series = append(l.Series, chart.Series{Name: name})
			}
			x, _ := strconv.ParseFloat(strings.TrimSuffix(c.Values[0], "s"), 64) // a number, or seconds
			s := &l.Series[i]
			s.X, s.Y = append(s.X, x), append(s.Y, estimateOver(by[n], of).Mean)
		}
	}
	return l
}

// curveName is a policy and the values of all keys but the first.
func curveName(policy string, keys, values []string) string {
	parts := []string{policy}
	for i, key := range keys {
		parts = append(parts, key+"="+values[i])
	}
	return strings.Join(parts, ", ")
}
