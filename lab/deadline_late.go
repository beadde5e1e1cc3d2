package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// deadlineLate is two jobs that both miss their goals.
func deadlineLate(r *Recorder) error {
	n := r.seeds(20, 5)
	gap, total := make([]float64, n), make([]float64, n)
	var shown string
	w := &Watcher{Keys: []string{"goal 10 s", "goal 60 s"}, Of: onlyMaps(2)}
	err := r.each(n, func(i int) error {
		seed := r.options.Seed + uint64(i)
		jobs := lateJobs(rand.New(rand.NewPCG(seed, 13)))
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
		if i == 0 {
			shown = fmt.Sprintf("They end %.0f and %.0f s after their goals.", late(0), late(1))
		}
		gap[i], total[i] = math.Abs(late(0)-late(1)), res.Makespan.Seconds()
		return nil
	})
	if err != nil {
		return err
	}
	r.between("13: difference of lateness of two late jobs, s", "equalised", mean(gap), 0, 25, "mean over runs of one job's lateness minus the other's, without sign")
	r.within("13: time for all their work, s", mean(total), 205, 15, "arithmetic, not published: 1,200 maps of 10 s on 60 slots, and the last wave")
	lines := w.Lines("Slots of the two late jobs", seconds(total[0]),
		chart.Mark{Name: "goal 10 s", Value: 10, Vertical: true}, chart.Mark{Name: "goal 60 s", Value: 60, Vertical: true})
	lines.Y.Label = "slots (running maps)"
	r.figure("slots", "First repetition. Once both goals have passed, the job that would be later gets more slots. "+shown, lines)
	return nil
}

// lateJobs makes two jobs that cannot meet their goals.
func lateJobs(rng *rand.Rand) (jobs []*sim.Job) {
	for k, goal := range []float64{10, 60} {
		j := &sim.Job{Spec: &scheduler.JobSpec{ID: scheduler.JobID(k), Maps: 600, Deadline: seconds(goal)}}
		for range 600 {
			j.Maps = append(j.Maps, seconds(8+4*rng.Float64()))
		}
		jobs = append(jobs, j)
	}
	return jobs
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
	r.holds("17: J2 under max still meets its goal of 3,000 s", "2,943 s in the model of the specification", spanOf("s", low, avg, high), high <= 3000, "tasks of lost workers start again here; that model lets them finish")
	r.accept("all runs at most 3,000 s")
	area := w.Area("max, 20 workers leave at 2,500 s", runs["max"][0].makespan, append(goalMarks(), chart.Mark{Name: "20 leave", Value: 2500, Vertical: true})...)
	area.Y.Label = "slots (running maps)"
	r.between("17: most map slots in use afterwards", "40", mostAfter(area, 2500), 1, 40.5, "first repetition under max")
	r.mark(40)
	shrinkModel(r, runs)
	r.figure("slots", "First repetition. After 2,500 s the remaining 40 workers are shared by the same rule; J2 ends before its goal.", area)
	drawOverGoals(r, runs, names)
	return nil
}

// mostAfter is the largest sum of all layers after a time.
func mostAfter(area chart.Area, from float64) (most float64) {
	for i, at := range area.At {
		sum := 0.0
		for _, s := range area.Series {
			sum += s.Values[i]
		}
		if at > from {
			most = max(most, sum)
		}
	}
	return most
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
			Measured: number(avg), Tolerance: "reported", Verdict: ShapeOnly, Why: "completion; tasks of lost workers start again here, in that model they finish",
		})
	}
}
