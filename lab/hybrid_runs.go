package lab

import (
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
)

// hybridVariant is a row of hybrid.md 3.7.
type hybridVariant struct {
	name    string
	cluster hybridCluster
	base    string // fair or delay
	on      bool   // the hybrid policy
	steal   bool
	literal bool // steals although scale-up has room
	wrong   float64
	online  bool
	jobs    int
}

// hybridRun is what one run showed.
type hybridRun struct {
	all, small, large []float64 // completion
	makespan          float64
	smallEnd          float64
	stolen, onUp      int       // jobs
	topShare          []float64 // completion of the largest 0.1 %, one at least
	local             [2]float64
}

var rule = hybrid.Rule{Scale: 1}

// isSmall labels a job by what is true of it.
func isSmall(s *scheduler.JobSpec, wrong float64) bool {
	return rule.Small(float64(s.Input.Bytes), float64(s.Shuffle.Bytes)/wrong)
}

func (v hybridVariant) policy() (scheduler.Policy, error) {
	if !v.on {
		return policies.Policy(v.base, map[string]string{"key": "job"})
	}
	cfg := hybrid.DefaultConfig()
	cfg.Base, cfg.Steal, cfg.StealOnlyIfUpBusy = v.base, v.steal, !v.literal
	return hybrid.New(cfg)
}

func (v hybridVariant) run(seed uint64) (hybridRun, error) {
	wrong := v.wrong
	if wrong == 0 {
		wrong = 1
	}
	jobs := hybridJobs(v.jobs, v.online, wrong, seed)
	topo, room, err := v.cluster.build()
	if err != nil {
		return hybridRun{}, err
	}
	name := "rack-aware"
	if v.on {
		name = "two-plus-one"
	}
	place, err := placement.New(name, topo)
	if err != nil {
		return hybridRun{}, err
	}
	if err := placeBlocks(jobs, topo, place, rand.New(rand.NewPCG(seed, 0x70))); err != nil {
		return hybridRun{}, err
	}
	policy, err := v.policy()
	if err != nil {
		return hybridRun{}, err
	}
	onOut := make([]bool, len(jobs))
	res, err := sim.Run(sim.Config{
		Topology: topo, Capacities: room, Policy: policy, State: scheduler.DefaultConfig(), Model: newTwoSpeeds(v.cluster.isUp),
		Heartbeat: time.Second, OutOfBand: true, BreakDeadlocks: true, Seed: seed,
		Watch: func(_ time.Duration, a sim.Attempt, _ bool) {
			onOut[a.Task.Job] = onOut[a.Task.Job] || !v.cluster.isUp(a.Node)
		},
	}, jobs)
	if err != nil {
		return hybridRun{}, err
	}
	return v.measure(res, onOut, wrong), nil
}

func (v hybridVariant) measure(res *sim.Result, onOut []bool, wrong float64) hybridRun {
	out := hybridRun{makespan: res.Makespan.Seconds()}
	var local, maps [2]float64 // unstolen on scale-out, stolen
	biggest := 0
	for i := range res.Jobs {
		j := &res.Jobs[i]
		t := j.Completion().Seconds()
		out.all = append(out.all, t)
		small := isSmall(j.Job.Spec, wrong)
		if small {
			out.small = append(out.small, t)
			out.smallEnd = max(out.smallEnd, j.Finished.Seconds())
		} else {
			out.large = append(out.large, t)
		}
		if res.Jobs[biggest].Job.Spec.Input.Bytes < j.Job.Spec.Input.Bytes {
			biggest = i
		}
		if called, _ := (hybrid.ByRule{Rule: rule}).Classify(j.Job.Spec); onOut[i] {
			k := 0
			if called && v.on {
				k = 1
				out.stolen++
			}
			local[k] += float64(j.Local[scheduler.NodeLocal] + j.Local[scheduler.RackLocal])
			maps[k] += float64(j.Job.Spec.Maps)
		} else {
			out.onUp++
		}
	}
	out.topShare = []float64{res.Jobs[biggest].Completion().Seconds()}
	for k := range local {
		out.local[k] = local[k] / max(1, maps[k])
	}
	return out
}

// hybrids runs variants over seeds, all on the same workloads.
func (r *Recorder) hybrids(list []hybridVariant, n int) (map[string][]hybridRun, error) {
	runs := make([][]hybridRun, len(list))
	for i := range runs {
		runs[i] = make([]hybridRun, n)
	}
	err := r.each(len(list)*n, func(i int) (err error) {
		runs[i/n][i%n], err = list[i/n].run(r.options.Seed + uint64(i%n))
		return err
	})
	out := map[string][]hybridRun{}
	for i, v := range list {
		out[v.name] = runs[i]
	}
	return out, err
}

// ratioOf compares a quantity of two variants, run by run.
func ratioOf(a, b []hybridRun, of func(hybridRun) float64) Estimate {
	var x []float64
	for i := range a {
		x = append(x, of(a[i])/of(b[i]))
	}
	return NewEstimate(x)
}

func meanAll(h hybridRun) float64   { return mean(h.all) }
func meanSmall(h hybridRun) float64 { return mean(h.small) }
func meanLarge(h hybridRun) float64 { return mean(h.large) }
func medianAll(h hybridRun) float64 { return quantile(sorted(h.all), 0.5) }
func medianSmall(h hybridRun) float64 {
	return quantile(sorted(h.small), 0.5)
}
func makespanOf(h hybridRun) float64 { return h.makespan }
func smallEndOf(h hybridRun) float64 { return h.smallEnd }
func topOf(h hybridRun) float64      { return mean(h.topShare) }
