package capacity

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/capacity"
)

// drawInert draws the ends of each job in two experiments against each other.
func drawInert(r *lab.Recorder, runs map[string]capMean) {
	c := chart.Scatter{Frame: chart.Frame{
		Title: "When each job ends, factor 1 against factor 2", X: chart.Axis{Label: "end in experiment 2, 6 or 4 (factor 1), s"}, Y: chart.Axis{Label: "end with factor 2, s"},
	}}
	for _, p := range []struct{ one, two, name string }{{"b", "e", "experiments 2 and 5"}, {"f", "h", "experiments 6 and 8"}, {"d", "g", "experiments 4 and 7"}} {
		c.Groups = append(c.Groups, chart.Series{Name: p.name, X: runs[p.one].runs[0].ended, Y: runs[p.two].runs[0].ended})
	}
	r.Figure("ends", c)
}

// drawSeparate draws what queues of their own do for each type.
func drawSeparate(r *lab.Recorder, shared, apart capMean) {
	most := 0.0
	for t := range longTypes {
		most = max(most, 100*math.Abs(apart.ratio[t]/shared.ratio[t]-1))
	}
	published := [][]float64{{1.18, 1.94, 1.51, 8.70, 2.02, 4.16, 6.91}, {1.23, 2.21, 1.59, 9.36, 1.2, 1.65, 1.53}}
	frame := chart.Frame{Title: "Response ratio by type of job, small jobs shared and apart", X: chart.Axis{Label: "elapsed over execution time", Log: true}}
	r.Figure("ratio", byType(frame, []string{"one queue a side (experiment 18)", "queues of their own (experiment 26)"}, func(t, k int) chart.Bar {
		return chart.Plain("", []capMean{shared, apart}[k].ratio[t]).Beside(published[k][t])
	}), lab.Facts{"most": most})
}

// drawLimits draws the user limit by the number of users, and the waits under maximum-system-jobs.
func drawLimits(r *lab.Recorder, names []string, waits map[string]float64) {
	l := chart.Lines{Frame: chart.Frame{Title: "Slots that one user may hold, of a queue of 60", X: chart.Axis{Label: "users with tasks to run"}, Y: chart.Axis{Label: "slots", Min: 0, Max: 65}}}
	users := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, percent := range []float64{100, 50, 25} {
		l.Series = append(l.Series, chart.Curve(fmt.Sprint("MULP ", percent), users, func(u float64) float64 { return float64(capacity.UserLimit(60, 0, int32(u), 1, percent, 1)) }))
	}
	r.Figure("users", l)
	bars := chart.Bars{Frame: chart.Frame{Title: "Mean wait of a job", X: chart.Axis{Label: "s from submission to the first map"}}}
	for _, name := range names {
		bars.Bars = append(bars.Bars, chart.Plain(name, waits[name]))
	}
	r.Figure("waits", bars)
}

// drawPairs draws the times of reduces with and without company.
func drawPairs(r *lab.Recorder, alone, paired []float64) {
	r.Figure("reduces", chart.CDF{
		Frame:   chart.Frame{Title: "Time of a TeraSort reduce after its job's last map", X: chart.Axis{Label: "s"}},
		Samples: []chart.Sample{{Name: "isolated", Values: alone}, {Name: "paired", Values: paired}},
	})
}
