package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/deadline"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// deadlineLate is two jobs that both miss their goals.
func deadlineLate(r *Recorder) error {
	n := r.seeds(20, 5)
	gap, total := make([]float64, n), make([]float64, n)
	w := &Watcher{Keys: []string{"goal 10 s", "goal 60 s"}, Of: onlyMaps(2)}
	err := r.each(n, func(i int) error {
		seed := r.options.Seed + uint64(i)
		rng := rand.New(rand.NewPCG(seed, 13))
		var jobs []*sim.Job
		for k, goal := range []float64{10, 60} {
			j := &sim.Job{Spec: &scheduler.JobSpec{ID: scheduler.JobID(k), Maps: 600, Deadline: seconds(goal)}}
			for range 600 {
				j.Maps = append(j.Maps, seconds(8+4*rng.Float64()))
			}
			jobs = append(jobs, j)
		}
		cfg, err := slotted(60, 1, 1)
		if err != nil {
			return err
		}
		if cfg.Policy, err = policies.Policy("deadline-max", nil); err != nil {
			return err
		}
		cfg.Heartbeat, cfg.OutOfBand, cfg.Seed = 3*time.Second, true, seed
		if i == 0 {
			w.Attach(&cfg)
		}
		res, err := sim.Run(cfg, jobs)
		if err != nil {
			return err
		}
		late := func(k int) float64 { return (res.Jobs[k].Finished - jobs[k].Spec.Deadline).Seconds() }
		gap[i], total[i] = math.Abs(late(0)-late(1)), res.Makespan.Seconds()
		return nil
	})
	if err != nil {
		return err
	}
	r.between("13: difference of lateness of two late jobs, s", "equalised", mean(gap), 0, 25, "")
	r.within("13: time for all their work, s", mean(total), 205, 15, "")
	r.figure("slots", "Slots of the two late jobs, first repetition.", w.Lines("Two late jobs", seconds(total[0]),
		chart.Mark{Name: "goal 1", Value: 10, Vertical: true}, chart.Mark{Name: "goal 2", Value: 60, Vertical: true}))
	return nil
}

// deadlineShrink is experiment three with a smaller cluster from 2,500 s on.
func deadlineShrink(r *Recorder) error {
	n := r.seeds(20, 3)
	names := []string{"min", "max", "fair"}
	var faults []sim.Fault
	for node := range 20 {
		faults = append(faults, sim.Fault{Node: topology.NodeID(node), At: 2500 * time.Second, KeepOutput: true})
	}
	runs, w := map[string][]goalRun{}, goalWatch()
	for _, name := range names {
		runs[name] = make([]goalRun, n)
	}
	err := r.each(len(names)*n, func(i int) error {
		p, err := goalPolicies[names[i/n]]()
		if err != nil {
			return err
		}
		mine := goalWatch()
		if names[i/n] == "max" && i%n == 0 {
			mine = w
		}
		runs[names[i/n]][i%n], err = runGoals(p, r.options.Seed+uint64(i%n), mine, faults)
		return err
	})
	if err != nil {
		return err
	}
	low, avg, high := over(runs["max"], done(1))
	r.holds("17: J2 under max still meets its goal of 3,000 s", "2,943 s in the model of the specification", span(low, avg, high), high <= 3000, "tasks of lost workers start again here; the specification lets them finish")
	most := 0.0
	area := w.Area("max, 20 workers leave at 2,500 s", runs["max"][0].makespan, chart.Mark{Name: "20 leave", Value: 2500, Vertical: true})
	for i, at := range area.At {
		sum := 0.0
		for _, s := range area.Series {
			sum += s.Values[i]
		}
		if at > 2500 {
			most = max(most, sum)
		}
	}
	r.between("17: most map slots in use afterwards", "40", most, 1, 40.5, "")
	shrinkModel(r, runs)
	r.figure("slots", "The remaining 40 workers are shared by the same rule.", area)
	return nil
}

// shrinkModel shows the specification's own model beside what is measured.
func shrinkModel(r *Recorder, runs map[string][]goalRun) {
	for _, c := range []struct {
		policy string
		job    int
		want   float64
	}{{"max", 0, 5932}, {"max", 3, 179}, {"min", 0, 7466}, {"min", 1, 3153}, {"fair", 3, 408}} {
		_, avg, _ := over(runs[c.policy], done(c.job))
		r.add(Check{
			Item: fmt.Sprintf("17: J%d under %s, s", c.job+1, c.policy), Published: number(c.want) + " in the model of the specification",
			Measured: number(avg), Tolerance: "reported", Verdict: ShapeOnly, Why: "tasks of lost workers are killed here",
		})
	}
}

// deadlineRules checks the weight formula and the order of the states.
func deadlineRules(r *Recorder) error {
	r.seeds(1, 1)
	slack := []float64{6000 - 3549, 3000 - 1264, 20}
	for i, want := range []float64{1, 1.41, 122.5} {
		r.within(fmt.Sprintf("12: weight from a slack of %s s", number(slack[i])), slack[0]/slack[i], want, 0.005*want, "largest slack over the job's own (3.8)")
	}
	right, all := 0, 0
	for seed := range uint64(50) {
		ok, err := statesInOrder(r.options.Seed + seed)
		if err != nil {
			return err
		}
		all++
		if ok {
			right++
		}
	}
	r.within("14: runs in which slots go to the late job, then to the new one, then to the one with data, %", 100*float64(right)/float64(all), 100, 0, "")
	return nil
}

// statesInOrder gives one slot at a time to a job that is late, a job without data and
// a job with data, and says whether they were served in this order.
func statesInOrder(seed uint64) (bool, error) {
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
	if _, err := sim.Run(cfg, jobs); err != nil {
		return false, err
	}
	return slices.Equal(order, []int{0, 1, 1, 1, 1, 2, 0, 0, 0, 0, 0}), nil
}
