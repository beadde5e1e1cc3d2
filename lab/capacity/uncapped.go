package capacity

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/chart"
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

// uncapped judges the order of queues by backlog, which gives the published numbers, and shows what that of the text gives.
func uncapped(r *lab.Recorder) {
	n := r.Seeds(5, 2)
	if r.Quick() {
		r.Only("two runs of five")
	}
	orders := []string{"order by backlog (inferred, judged)", "order by ratio (of the text)"}
	ratio := chart.Bars{Frame: chart.Frame{Title: "Response ratio of the long types, no caps", X: chart.Axis{Label: "elapsed over execution time"}}, Groups: orders}
	makespan := chart.Bars{Frame: chart.Frame{Title: "Makespan of a queue, no caps", X: chart.Axis{Label: "s"}}, Groups: orders}
	for _, c := range noCaps {
		for k, order := range []string{"backlog", "ratio"} {
			o := capBase()
			o.params = map[string]string{"queue-order": order}
			m := average(r, capGroups[c.group], capSettings[c.setting], o, n)
			checks := c.checks(order, m)
			if order == "backlog" {
				r.Check(checks...)
			} else {
				r.Check(c.ofText(r, checks))
			}
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

// checks are the published numbers of an experiment beside those of an order of queues.
func (c noCap) checks(order string, m capMean) (all []lab.Check) {
	for t, want := range c.ratio {
		item := fmt.Sprintf("experiment %d, %s, order by %s: response ratio of type %d", c.number(), c.queue, order, t+1)
		all = append(all, lab.Within(item, m.byQueue[c.queue][t], want, wide(t)*want).SameSide(1).Because("the reading that gives the published numbers"))
	}
	for i, q := range c.ends {
		item := fmt.Sprintf("experiment %d, order by %s: makespan of %s, s", c.number(), order, q)
		all = append(all, lab.Within(item, m.makespan[q], c.makespan[i], 0.1*c.makespan[i]).Because("the reading that gives the published numbers"))
	}
	return all
}

// ofText is one row of what the order of queues that the text states gives, so that no published number is counted twice.
func (c noCap) ofText(r *lab.Recorder, checks []lab.Check) lab.Check {
	item := fmt.Sprintf("experiment %d, order of the text: long types of %s, makespans of %s and %s, s", c.number(), c.queue, c.ends[0], c.ends[1])
	var said, got []string
	ok := true
	for _, one := range checks {
		said, got, ok = append(said, one.Published), append(got, one.Measured), ok && one.Verdict == lab.Reproduced
	}
	return lab.Holds(item, lab.Number(strings.Join(said, ", ")), strings.Join(got, ", "), ok, "each as under backlog").Contradicted(r.Say("two orders"))
}
