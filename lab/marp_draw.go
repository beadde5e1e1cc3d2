package lab

import (
	"fmt"
	"math"
	"strings"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler/admission"
)

// drawSlots draws how many drivers a MARP admits, and what steps of 0.04 and 0.03 add up to.
func drawSlots(r *Recorder) {
	admits := chart.Series{Name: "drivers admitted"}
	for m := range 96 {
		marp := float64(m) / 100
		admits.X, admits.Y = append(admits.X, marp), append(admits.Y, float64(admission.Slots(marp, clusterMB, driverMB)))
	}
	r.figure("drivers", "Each driver holds 2 GB of 51, so that a MARP of 0.04 has room for one. Above 16 jobs a batch can lock up.", chart.Lines{
		Frame: chart.Frame{Title: "Drivers that a MARP admits", X: chart.Axis{Label: "MARP"}, Y: chart.Axis{Label: "drivers"}}, Steps: true,
		Series: []chart.Series{admits}, Marks: []chart.Mark{{Name: "safe up to here", Value: 16}},
	})
	const raised = 6
	l := chart.Lines{Frame: chart.Frame{Title: "Drivers admitted after six increases and some decreases", X: chart.Axis{Label: "decreases"}, Y: chart.Axis{Label: "drivers"}}, Steps: true}
	planned := chart.Series{Name: "planned: one less each time"}
	for m := range raised + 1 {
		planned.X, planned.Y = append(planned.X, float64(m)), append(planned.Y, float64(1+raised-m))
	}
	l.Series = append(l.Series, planned)
	for _, dec := range []float64{0.03, 0.039} {
		s := chart.Series{Name: fmt.Sprintf("decreases of %g", dec)}
		for m := range raised + 1 {
			marp := math.Round(1000*(0.05+0.04*raised-dec*float64(m))) / 1000
			s.X, s.Y = append(s.X, float64(m)), append(s.Y, float64(admission.Slots(marp, clusterMB, driverMB)))
		}
		l.Series = append(l.Series, s)
	}
	r.figure("drift", "With the published 0.03 there is one driver more than planned from the third decrease on. With 0.039 the line is the planned one.", l)
}

// drawGolden shows the worked example that the controllers must follow.
func drawGolden(r *Recorder) {
	t := Table{Title: "The worked example: what the published scripts decide", Head: []string{"measurement", "progress of the running jobs", "mean progress", "smoothed delta", "CBTwS", "CBTwAT"}}
	raw, smooth := chart.Series{Name: "raw delta"}, chart.Series{Name: "smoothed delta"}
	before := 0.0
	for i, row := range goldenRows {
		var jobs []string
		for _, p := range row.progress {
			jobs = append(jobs, fmt.Sprint(p))
		}
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(i + 1), strings.Join(jobs, ", "), fmt.Sprintf("%.3f", row.p), fmt.Sprint(row.d),
			foundOr(row.ws, "start one more", "wait"), foundOr(row.at, "start one more", "wait"),
		})
		raw.X, raw.Y = append(raw.X, float64(i+1)), append(raw.Y, row.p-before)
		smooth.X, smooth.Y = append(smooth.X, float64(i+1)), append(smooth.Y, float64(row.d))
		before = row.p
	}
	r.report.Tables = append(r.report.Tables, t)
	r.figure("deltas", "The worked example. A new job pulls the mean down (measurements 3, 8 and 12); CBTwS starts one where the smoothed delta rises. A job below 1 point is not counted (measurement 13).", chart.Lines{
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

// gainsOf lists the gains of the controllers.
func gainsOf(gain map[string]float64) string {
	var out []string
	for _, name := range controllers {
		out = append(out, number(gain[name]))
	}
	return strings.Join(out, ", ")
}

// drawScaled draws the gains for jobs of less work.
func drawScaled(r *Recorder, full, quarter, tenth gainRuns) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Gain over PRJ, six jobs of less work", X: chart.Axis{Label: "gain, % of PRJ's time"}}, Groups: []string{"full work", "a quarter", "a tenth"}}
	for _, name := range controllers {
		for k, g := range []gainRuns{full, quarter, tenth} {
			b := chart.Plain(controllerNames[name], g.gain[name])
			b.Group = k
			bars.Bars = append(bars.Bars, b)
		}
	}
	r.figure("work", "Below 0 the batch ends later than under PRJ: the shorter the jobs, the more the delays of a controller weigh.", bars)
}
