package capacity

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// noCap is an experiment without caps: what was published of the response ratios of a queue's long types, and of makespans.
type noCap struct {
	group, setting int
	queue          string
	ratio          [longTypes]float64
	ends           [2]string // queues whose makespans were published
	makespan       [2]float64
}

var noCaps = []noCap{
	{1, 0, "q2", [longTypes]float64{1.14, 1.78, 1.2, 3.74}, [2]string{"q1", "q2"}, [2]float64{1211, 1244}},
	{3, 0, "long1", [longTypes]float64{1.14, 1.76, 1.19, 2.46}, [2]string{"small1", "small2"}, [2]float64{1196, 1196}},
	{3, 3, "long1", [longTypes]float64{1.01, 1.39, 1.12, 1.55}, [2]string{"small1", "small2"}, [2]float64{1242, 1232}},
}

func (c noCap) number() int { return capGroups[c.group].first + c.setting }

// uncapped reports the documented order of queues beside the inferred one.
func uncapped(r *lab.Recorder) {
	n := r.Seeds(5, 2)
	if r.Quick() {
		r.Only("two runs of five")
	}
	orders := []string{"order by ratio (documented)", "order by backlog (inferred)"}
	ratio := chart.Bars{Frame: chart.Frame{Title: "Response ratio of the long types, no caps", X: chart.Axis{Label: "elapsed over execution time"}}, Groups: orders}
	makespan := chart.Bars{Frame: chart.Frame{Title: "Makespan of a queue, no caps", X: chart.Axis{Label: "s"}}, Groups: orders}
	for _, c := range noCaps {
		for k, order := range []string{"ratio", "backlog"} {
			o := capBase()
			o.params = map[string]string{"queue-order": order}
			m := average(r, capGroups[c.group], capSettings[c.setting], o, n)
			c.check(r, order, m)
			for t, want := range c.ratio {
				ratio.Bars = append(ratio.Bars, chart.Plain(fmt.Sprintf("experiment %d, %s, type %d", c.number(), c.queue, t+1), m.byQueue[c.queue][t]).In(k).Beside(want))
			}
			for i, q := range c.ends {
				makespan.Bars = append(makespan.Bars, chart.Plain(fmt.Sprintf("experiment %d, %s", c.number(), q), m.makespan[q]).In(k).Beside(c.makespan[i]))
			}
		}
	}
	r.Figure("ratio", ratio)
	r.Figure("makespan", makespan)
}

func (c noCap) check(r *lab.Recorder, order string, m capMean) {
	for t, want := range c.ratio {
		item := fmt.Sprintf("experiment %d, %s, order by %s: response ratio of type %d", c.number(), c.queue, order, t+1)
		got := m.byQueue[c.queue][t]
		if order == "ratio" {
			r.Check(lab.Within(item, got, want, wide(t)*want).SameSide(1).Because("by the documented rule").Missed("the rows ordered by backlog have the published number"))
		} else {
			r.Check(lab.Reported(item, stats.Text(want), stats.Text(got)).Because(r.Say("inferred order", lab.Facts{"off": fmt.Sprintf("%.0f", 100*math.Abs(got/want-1))})))
		}
	}
	item := fmt.Sprintf("experiment %d, order by %s: makespan of ", c.number(), order)
	for i, q := range c.ends {
		if order == "ratio" {
			r.Check(lab.Within(item+q+", s", m.makespan[q], c.makespan[i], 0.1*c.makespan[i]).Missed(r.Say("idle queue")))
		} else {
			r.Check(lab.Reported(item+q+", s", stats.Text(c.makespan[i]), stats.Text(m.makespan[q])))
		}
	}
}
