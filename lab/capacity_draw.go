package lab

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler/capacity"
)

// drawInert draws the ends of each job in two experiments against each other.
func drawInert(r *Recorder, runs map[string]capMean) {
	c := chart.Scatter{Frame: chart.Frame{
		Title: "When each job ends, factor 1 against factor 2", X: chart.Axis{Label: "end in experiment 2, 6 or 4 (factor 1), s"}, Y: chart.Axis{Label: "end with factor 2, s"},
	}}
	for _, p := range []struct{ one, two, name string }{{"b", "e", "experiments 2 and 5"}, {"f", "h", "experiments 6 and 8"}, {"d", "g", "experiments 4 and 7"}} {
		c.Groups = append(c.Groups, chart.Series{Name: p.name, X: runs[p.one].runs[0].ended, Y: runs[p.two].runs[0].ended})
	}
	r.figure("ends", "A point is a job of the first repetition. On the diagonal it ends at the same time in both experiments.", c)
}

// small lists the response ratios of the small types.
func small(ratio []float64) (out string) {
	for t := longTypes; t < len(capTypes); t++ {
		if out != "" {
			out += ", "
		}
		out += number(ratio[t])
	}
	return out
}

// drawSeparate draws what queues of their own do for each type.
func drawSeparate(r *Recorder, shared, apart capMean) {
	bars := chart.Bars{
		Frame:  chart.Frame{Title: "Response ratio by type of job, small jobs shared and apart", X: chart.Axis{Label: "elapsed over execution time", Log: true}},
		Groups: []string{"one queue a side (experiment 18)", "queues of their own (experiment 26)"},
	}
	published := [][]float64{{1.18, 1.94, 1.51, 8.70, 2.02, 4.16, 6.91}, {1.23, 2.21, 1.59, 9.36, 1.2, 1.65, 1.53}}
	most := 0.0
	for t := range capTypes {
		if t < longTypes {
			most = max(most, 100*math.Abs(apart.ratio[t]/shared.ratio[t]-1))
		}
		for k, m := range []capMean{shared, apart} {
			b := chart.Plain(fmt.Sprintf("type %d", t+1), m.ratio[t])
			b.Group, b.Published = k, published[k][t]
			bars.Bars = append(bars.Bars, b)
		}
	}
	r.figure("ratio", fmt.Sprintf("Means over the repetitions, with caps and MULP 100; the thick line: published. Small jobs gain much; long types change by at most %.0f %%, up or down.", most), bars)
}

var queueOrders = []string{"ratio", "backlog"}

// uncappedBars collects the response ratios of the experiments without caps.
type uncappedBars struct{ ratio, makespan chart.Bars }

func (u *uncappedBars) add(experiment int, order, queue string, published []float64, m capMean) {
	group := 0
	if order == queueOrders[1] {
		group = 1
	}
	for t, want := range published {
		b := chart.Plain(fmt.Sprintf("experiment %d, %s, type %d", experiment, queue, t+1), m.byQueue[queue][t])
		b.Group, b.Published = group, want
		u.ratio.Bars = append(u.ratio.Bars, b)
	}
	queues, want := []string{"q1", "q2"}, map[string]float64{"q1": 1211, "q2": 1244}
	switch experiment {
	case 25:
		queues, want = []string{"small1", "small2"}, map[string]float64{"small1": 1196, "small2": 1196}
	case 28:
		queues, want = []string{"small1", "small2"}, map[string]float64{"small1": 1242, "small2": 1232}
	}
	for _, q := range queues {
		b := chart.Plain(fmt.Sprintf("experiment %d, %s", experiment, q), m.makespan[q])
		b.Group, b.Published = group, want[q]
		u.makespan.Bars = append(u.makespan.Bars, b)
	}
}

func (u *uncappedBars) draw(r *Recorder) {
	u.ratio.Groups = []string{"order by ratio (documented)", "order by backlog (inferred)"}
	u.makespan.Groups = u.ratio.Groups
	u.ratio.Frame = chart.Frame{Title: "Response ratio of the long types, no caps", X: chart.Axis{Label: "elapsed over execution time"}}
	u.makespan.Frame = chart.Frame{Title: "Makespan of a queue, no caps", X: chart.Axis{Label: "s"}}
	r.figure("ratio", "Means over the repetitions; the thick line: published.", u.ratio)
	r.figure("makespan", "Means over the repetitions; the thick line: published. The published queues of an experiment end at nearly the same time, as by backlog.", u.makespan)
}

// drawLimits draws the user limit by the number of users, and the waits under maximum-system-jobs.
func drawLimits(r *Recorder, names []string, waits map[string]float64) {
	l := chart.Lines{Frame: chart.Frame{Title: "Slots that one user may hold, of a queue of 60", X: chart.Axis{Label: "users with tasks to run"}, Y: chart.Axis{Label: "slots", Min: 0, Max: 65}}}
	for _, percent := range []float64{100, 50, 25} {
		s := chart.Series{Name: fmt.Sprint("MULP ", percent)}
		for users := range int32(10) {
			s.X, s.Y = append(s.X, float64(users+1)), append(s.Y, float64(capacity.UserLimit(60, 0, users+1, 1, percent, 1)))
		}
		l.Series = append(l.Series, s)
	}
	r.figure("users", "The formula that the first rows check: an equal part, but never less than MULP per cent of the queue.", l)
	bars := chart.Bars{Frame: chart.Frame{Title: "Mean wait of a job", X: chart.Axis{Label: "s from submission to the first map"}}}
	for _, name := range names {
		bars.Bars = append(bars.Bars, chart.Plain(name, waits[name]))
	}
	r.figure("waits", "Six jobs in two queues on 5 workers; means over the repetitions.", bars)
}

// drawPairs draws the times of reduces with and without company.
func drawPairs(r *Recorder, alone, paired []float64) {
	r.figure("reduces", "All TeraSort reduces of all repetitions, 2 reduce slots on a node. A curve further to the right means longer times.", chart.CDF{
		Frame:   chart.Frame{Title: "Time of a TeraSort reduce after its job's last map", X: chart.Axis{Label: "s"}},
		Samples: []chart.Sample{{Name: "isolated", Values: alone}, {Name: "paired", Values: paired}},
	})
}
