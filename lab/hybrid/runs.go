package hybrid

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// hybridVariant is a row of spec/hybrid 3.7.
type hybridVariant struct {
	name    string
	cluster hybridCluster
	base    string // fair or delay
	on      bool   // the hybrid policy
	steal   bool
	literal bool    // steals although scale-up has room
	wrong   float64 // the shuffle sizes that the scheduler is told, over the true ones; 0: the truth
	online  bool
	apart   float64 // times the time between arrivals; 0 as 1
	jobs    int
	day     []trace.Job // drawn from; nil: jobs of the model
	whole   bool        // all jobs of day; online: as they arrived
	scale   float64     // of the sizes of day
	learned hybrid.Classifier
	loose   bool // replicas are anywhere, although the policy is on
	wire    wire
	room    int32   // containers of a scale-up machine; 0: as published
	faster  float64 // scale-up machines are so much faster than published; 0: as published
}

// classifier tells small jobs from large ones.
func (v hybridVariant) classifier() hybrid.Classifier {
	if v.learned == nil {
		return hybrid.ByRule{Rule: rule}
	}
	return v.learned
}

// hybridRun is what one run showed.
type hybridRun struct {
	all, small, large []float64 // completion
	makespan          float64
	largest           float64 // completion of the job with the largest input
	local             [2]float64
	jobs              []seen
}

var rule = hybrid.Rule{Scale: 1}

func (v hybridVariant) policy() (scheduler.Policy, error) {
	if !v.on {
		return policies.Policy(v.base, map[string]string{"key": "job"})
	}
	cfg := hybrid.DefaultConfig()
	cfg.Classifier, cfg.Base, cfg.Steal, cfg.StealOnlyIfUpBusy = v.classifier(), v.base, v.steal, !v.literal
	return hybrid.New(cfg)
}

// config sets up a run. truth has the true shuffle sizes, by job.
func (v hybridVariant) config(seed uint64) (cfg sim.Config, jobs []*sim.Job, truth []float64, err error) {
	jobs, truth = v.workload(seed)
	policy, err := v.policy()
	if err != nil {
		return cfg, nil, nil, err
	}
	if cfg, err = v.cluster.config(policy); err != nil {
		return cfg, nil, nil, err
	}
	if err := v.connect(&cfg, truth); err != nil {
		return cfg, nil, nil, err
	}
	for i := range cfg.Capacities {
		if v.room > 0 && v.cluster.isUp(topology.NodeID(i)) {
			cfg.Capacities[i].Containers = v.room
		}
	}
	name := "rack-aware"
	if v.on && !v.loose {
		name = "two-plus-one"
	}
	place, err := placement.New(name, cfg.Topology)
	if err != nil {
		return cfg, nil, nil, err
	}
	cfg.Heartbeat, cfg.OutOfBand, cfg.BreakDeadlocks, cfg.Seed = time.Second, true, true, seed
	return cfg, jobs, truth, placeBlocks(jobs, cfg.Topology, place, rand.New(rand.NewPCG(seed, 0x70)))
}

func (v hybridVariant) run(seed uint64) (hybridRun, error) {
	cfg, jobs, truth, err := v.config(seed)
	if err != nil {
		return hybridRun{}, err
	}
	onOut := make([]bool, len(jobs))
	cfg.Watch = func(_ time.Duration, a sim.Attempt, _ bool) {
		onOut[a.Task.Job] = onOut[a.Task.Job] || !v.cluster.isUp(a.Node)
	}
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return hybridRun{}, err
	}
	return v.measure(res, onOut, truth), nil
}

// connect gives the run its network, if it has one.
func (v hybridVariant) connect(cfg *sim.Config, truth []float64) (err error) {
	speeds := cfg.Model.(*twoSpeeds)
	speeds.truth, speeds.more = truth, v.faster
	if v.wire == (wire{}) {
		return nil
	}
	if cfg.Topology, cfg.Capacities, err = v.cluster.build(v.wire); err != nil {
		return err
	}
	cfg.Model, err = speeds.over(cfg.Topology)
	return err
}

func (v hybridVariant) measure(res *sim.Result, onOut []bool, truth []float64) hybridRun {
	out := hybridRun{makespan: res.Makespan.Seconds(), jobs: v.look(res, onOut, truth)}
	var local, maps [2]float64 // unstolen on scale-out, stolen
	biggest := 0
	for i, j := range out.jobs {
		took := j.ended - j.submitted
		out.all = append(out.all, took)
		if j.small {
			out.small = append(out.small, took)
		} else {
			out.large = append(out.large, took)
		}
		if out.jobs[biggest].input < j.input {
			biggest = i
		}
		if j.up {
			continue
		}
		k := 0
		if j.called {
			k = 1
		}
		near := res.Jobs[i].Local
		local[k] += float64(near[scheduler.NodeLocal] + near[scheduler.RackLocal])
		maps[k] += float64(j.maps)
	}
	out.largest = out.all[biggest]
	for k := range local {
		out.local[k] = local[k] / max(1, maps[k])
	}
	return out
}

// in returns the variant with what the user has set. The whole day stays as it is.
func (v hybridVariant) in(r *lab.Recorder) hybridVariant {
	if v.whole {
		return v
	}
	v.jobs = r.Int("jobs", v.jobs)
	times := r.Times("nodes", machines)
	v.cluster.perRack, v.cluster.up = times*v.cluster.perRack, times*v.cluster.up
	if v.online {
		v.apart = r.Float("arrivals", 1)
	}
	return v
}

// scene is a run of the variant to be watched.
func (v hybridVariant) scene(r *lab.Recorder) lab.Scene {
	v = v.in(r)
	return lab.Scene{Name: v.name, Setup: func() (sim.Config, []*sim.Job, error) {
		cfg, jobs, _, err := v.config(r.Seed())
		return cfg, jobs, err
	}}
}

// hybrids runs variants over seeds, all on the same workloads.
func hybrids(r *lab.Recorder, list []hybridVariant, n int) map[string][]hybridRun {
	list = slices.Clone(list)
	for i := range list {
		list[i] = list[i].in(r)
	}
	return lab.Named(r, list, n, func(v hybridVariant) string { return v.name }, hybridVariant.run)
}

func meanAll(h hybridRun) float64     { return stats.Mean(h.all) }
func meanSmall(h hybridRun) float64   { return stats.Mean(h.small) }
func meanLarge(h hybridRun) float64   { return stats.Mean(h.large) }
func medianAll(h hybridRun) float64   { return stats.Median(h.all) }
func medianSmall(h hybridRun) float64 { return stats.Median(h.small) }
func makespanOf(h hybridRun) float64  { return h.makespan }
func topOf(h hybridRun) float64       { return h.largest }
