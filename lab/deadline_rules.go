package lab

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/deadline"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// deadlineRules checks the weight formula and the order of the states.
func deadlineRules(r *Recorder) error {
	r.seeds(1, 1)
	slack := []float64{6000 - 3549, 3000 - 1264, 20}
	why := []string{"J1", "J2", "the Joins. This slack fits a goal of 120 s; with the goal of 150 s, which the paper also names, the weight would be 50"}
	for i, want := range []float64{1, 1.41, 122.5} {
		r.within(fmt.Sprintf("12: weight from a slack of %s s", number(slack[i])), slack[0]/slack[i], want, 0.005*want, why[i])
		r.quoted([]string{"1", "1.4 printed; 1.41 by the formula", "122 printed; 122.5 by the formula"}[i])
	}
	right, all := 0, 0
	first := &Watcher{Keys: []string{"job with data", "late job", "new job"}, Of: onlyMaps(3), KeepSpans: true}
	for seed := range uint64(50) {
		w := first
		if seed > 0 {
			w = nil
		}
		ok, err := statesInOrder(r.options.Seed+seed, w)
		if err != nil {
			return err
		}
		all++
		if ok {
			right++
		}
	}
	r.within("14: runs in which slots go to the late job, then to the new one, then to the one with data, %", 100*float64(right)/float64(all), 100, 0, "50 runs with other task lengths")
	return drawRules(r, slack, first)
}

// drawRules draws the weights, and who got the slot in the first run.
func drawRules(r *Recorder, slack []float64, w *Watcher) error {
	bars := chart.Bars{Frame: chart.Frame{Title: "Weight of a job, from its slack", X: chart.Axis{Label: "weight", Log: true}}}
	for i, printed := range []float64{1, 1.4, 122} {
		b := chart.Plain([]string{"J1", "J2", "Joins"}[i]+", slack "+number(slack[i])+" s", slack[0]/slack[i])
		b.Published = printed
		bars.Bars = append(bars.Bars, b)
	}
	r.figure("weights", "The thick line: the weight that the paper prints.", bars)
	topo, err := topology.Uniform(1, 1, 0, 0)
	if err != nil {
		return err
	}
	g := w.Gantt("Who gets the only slot, first run", topo, 0, time.Hour)
	for i := range g.Spans {
		g.Spans[i].Title = g.Groups[g.Spans[i].Group]
	}
	r.figure("order", "One bar is one map. The late job and the new one come during the first map of the job with data.", g)
	return nil
}

// statesInOrder gives one slot at a time to a job that is late, a job without data and
// a job with data, and says whether they were served in this order.
func statesInOrder(seed uint64, w *Watcher) (bool, error) {
	rng := rand.New(rand.NewPCG(seed, 14))
	cfg, err := slotted(1, 1, 1)
	if err != nil {
		return false, err
	}
	p, err := deadline.New(deadline.DefaultConfig(true))
	if err != nil {
		return false, err
	}
	cfg.Policy, cfg.Seed = p, seed
	length := seconds(5 + 10*rng.Float64())
	// The first job's first map gives it data; the second comes late to its own goal;
	// the third has nothing done when both are known.
	jobs := []*sim.Job{
		{Spec: &scheduler.JobSpec{ID: 0, Maps: 6, Deadline: time.Hour}, Maps: []time.Duration{length}},
		{Spec: &scheduler.JobSpec{ID: 1, Maps: 4, Submit: length / 2, Deadline: length/2 + time.Millisecond}, Maps: []time.Duration{length}},
		{Spec: &scheduler.JobSpec{ID: 2, Maps: 1, Submit: length / 2, Deadline: time.Hour}, Maps: []time.Duration{length}},
	}
	var order []int
	cfg.Watch = func(_ time.Duration, a sim.Attempt, started bool) {
		if started {
			order = append(order, int(a.Task.Job))
		}
	}
	if w != nil {
		w.Attach(&cfg)
	}
	if _, err := sim.Run(cfg, jobs); err != nil {
		return false, err
	}
	return slices.Equal(order, []int{0, 1, 1, 1, 1, 2, 0, 0, 0, 0, 0}), nil
}
