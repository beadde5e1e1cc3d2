package deadline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
)

// rules checks the weight formula and the order of the states.
func rules(r *lab.Recorder) {
	r.Seeds(1, 1)
	slack := []time.Duration{(6000 - 3549) * time.Second, (3000 - 1264) * time.Second, 20 * time.Second}
	weight, err := fair.SlackWeights(slack)
	r.Must(err)
	why := []string{"J1", "J2", r.Say("slack of the Joins")}
	for i, want := range []float64{1, 1.41, 122.5} {
		r.Check(lab.Within(fmt.Sprintf("12: weight from a slack of %s s", stats.Text(slack[i].Seconds())), weight[i], want, 0.005*want).Because(why[i]).Quoted(lab.Number([]string{"1", "1.4 printed; 1.41 by the formula", "122 printed; 122.5 by the formula"}[i])))
	}
	first := &compare.Watcher{Keys: []string{"job with data", "late job", "new job"}, Of: compare.MapsOf(3), KeepSpans: true}
	right := lab.Mean(lab.Repeat(r, 50, func(seed uint64) (bool, error) {
		if seed == r.Seed() {
			return statesInOrder(seed, first)
		}
		return statesInOrder(seed, nil)
	}), func(ok bool) float64 { return map[bool]float64{true: 100}[ok] })
	r.Check(lab.Within("14: runs in which slots go to the late job, then to the new one, then to the one with data, %", right, 100, 0).Because("50 runs with other task lengths"))
	drawRules(r, slack, weight, first)
}

// drawRules draws the weights, and who got the slot in the first run.
func drawRules(r *lab.Recorder, slack []time.Duration, weight []float64, w *compare.Watcher) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Weight of a job, from its slack", X: chart.Axis{Label: "weight", Log: true}}}
	for i, printed := range []float64{1, 1.4, 122} {
		bars.Bars = append(bars.Bars, chart.Plain([]string{"J1", "J2", "Joins"}[i]+", slack "+stats.Text(slack[i].Seconds())+" s", weight[i]).Beside(printed))
	}
	r.Figure("weights", bars)
	g := w.Gantt("Who gets the only slot, first run", 0, time.Hour)
	for i := range g.Spans {
		g.Spans[i].Title = g.Groups[g.Spans[i].Group]
	}
	r.Figure("order", g)
}

// statesInOrder gives one slot at a time to a job that is late, a job without data and a job with data, and reports
// whether they were served in this order.
func statesInOrder(seed uint64, w *compare.Watcher) (bool, error) {
	rng := rand.New(rand.NewPCG(seed, 14))
	cfg, err := lab.Slotted(1, 1, 1, "deadline-max", nil)
	if err != nil {
		return false, err
	}
	cfg.Seed = seed
	length := lab.Seconds(5 + 10*rng.Float64())
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
