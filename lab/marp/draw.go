package marp

import (
	"fmt"
	"math"
	"strings"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/admission"
)

// admitted returns how many drivers a MARP admits here.
func admitted(marp float64) float64 { return float64(admission.Slots(marp, clusterMB, driverMB)) }

// after returns the MARP after increases of 0.04 and some decreases, as the scripts write it.
func after(raised, lowered int, dec float64) float64 {
	return math.Round(1000*(0.05+0.04*float64(raised)-dec*float64(lowered))) / 1000
}

// steps counts from 0 to n.
func steps(n int) (x []float64) {
	for i := range n + 1 {
		x = append(x, float64(i))
	}
	return x
}

// drawSlots draws how many drivers a MARP admits, and what steps of 0.04 and 0.03 add up to.
func drawSlots(r *lab.Recorder) {
	r.Figure("drivers", chart.Lines{
		Frame: chart.Frame{Title: "Drivers that a MARP admits", X: chart.Axis{Label: "MARP"}, Y: chart.Axis{Label: "drivers"}}, Steps: true,
		Series: []chart.Series{chart.Curve("drivers admitted", lab.Each(steps(95), func(m float64) float64 { return m / 100 }), admitted)},
		Marks:  []chart.Mark{{Name: "safe up to here", Value: 16}},
	})
	const raised = 6
	l := chart.Lines{Frame: chart.Frame{Title: "Drivers admitted after six increases and some decreases", X: chart.Axis{Label: "decreases"}, Y: chart.Axis{Label: "drivers"}}, Steps: true}
	l.Series = append(l.Series, chart.Curve("planned: one less each time", steps(raised), func(m float64) float64 { return 1 + raised - m }))
	for _, dec := range []float64{0.03, 0.039} {
		l.Series = append(l.Series, chart.Curve(fmt.Sprintf("decreases of %g", dec), steps(raised), func(m float64) float64 { return admitted(after(raised, int(m), dec)) }))
	}
	r.Figure("drift", l)
}

// decision is what a controller does.
var decision = map[bool]string{true: "start one more", false: "wait"}

// drawGolden shows the worked example that the controllers must follow.
func drawGolden(r *lab.Recorder) {
	t := lab.Table{Title: "The worked example: what the published scripts decide", Head: []string{"measurement", "progress of the running jobs", "mean progress", "smoothed delta", "CBTwS", "CBTwAT"}}
	raw, smooth := chart.Series{Name: "raw delta"}, chart.Series{Name: "smoothed delta"}
	before := 0.0
	for i, row := range goldenRows {
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(i + 1), strings.Trim(strings.ReplaceAll(fmt.Sprint(row.progress), " ", ", "), "[]"), fmt.Sprintf("%.3f", row.p), fmt.Sprint(row.d),
			decision[row.ws], decision[row.at],
		})
		raw.X, raw.Y = append(raw.X, float64(i+1)), append(raw.Y, row.p-before)
		smooth.X, smooth.Y = append(smooth.X, float64(i+1)), append(smooth.Y, float64(row.d))
		before = row.p
	}
	r.Table(t)
	r.Figure("deltas", chart.Lines{
		Frame:  chart.Frame{Title: "Change of mean progress", X: chart.Axis{Label: "measurement"}, Y: chart.Axis{Label: "points"}},
		Series: []chart.Series{raw, smooth}, Marks: []chart.Mark{{Name: "no change", Value: 0}},
	})
}

// fromOne makes the tooltips count jobs as the legend does.
func fromOne(g chart.Gantt) chart.Gantt {
	for i, s := range g.Spans {
		g.Spans[i].Title = strings.Replace(s.Title, fmt.Sprintf("job %d,", s.Group), g.Groups[s.Group]+",", 1)
	}
	return g
}

// drawScaled draws the gains for jobs of less work.
func drawScaled(r *lab.Recorder, full, quarter, tenth gainRuns) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Gain over PRJ, six jobs of less work", X: chart.Axis{Label: "gain, % of PRJ's time"}}, Groups: []string{"full work", "a quarter", "a tenth"}}
	for _, name := range controllers {
		for k, g := range []gainRuns{full, quarter, tenth} {
			bars.Bars = append(bars.Bars, chart.Plain(shownAs[name], g.gain[name]).In(k))
		}
	}
	r.Figure("work", bars)
}
