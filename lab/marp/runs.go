package marp

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/admission"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
)

// batchRun is what was seen of one batch.
type batchRun struct {
	total      float64 // completion of the batch
	secondMaps float64 // launch of the second job's first map
	firstHalf  float64 // when the first job's maps were done
	admitted   []float64
	busy       float64 // mean number of jobs that run
	peakGB     float64 // most map output on disk
	stalled    bool
	acts       []act   // what the controller did
	idle       samples // percentage of processors idle
	rates      []float64
	scores     []int // of CBTwAT, in the order explored; nil until all are
}

// act is a write of a controller.
type act struct{ at, from, to float64 }

// samples are values over time.
type samples struct{ at, value []float64 }

// change alters a controller and how it is called.
type change = func(*admission.Config, *admission.Limits)

// batchSetup says how a batch is run.
type batchSetup struct {
	kind batchKind
	jobs int
	// control is cbt, cbtws or cbtwat; empty means a static marp.
	control string
	marp    float64
	change  change
	fast    bool                        // drivers start at once
	hold    bool                        // reduces wait for the last map of their job
	profile func(*sim.ContentionConfig) // nil: as fitted
	watch   *compare.Watcher
	nodes   int // 0: ownNodes
}

// ownNodes is how many nodes the source's machine is divided into.
const ownNodes = 3

// parallelRun is PRJ: the whole batch at once, as the source set it for six jobs.
func parallelRun(k batchKind, jobs int) batchSetup {
	return batchSetup{kind: k, jobs: jobs, marp: max(0.25, admission.Smallest(jobs, clusterMB, driverMB))}
}

// in returns the set-up as the user has set it: with so many nodes, and so many times the work of each task.
func (b batchSetup) in(r *lab.Recorder) batchSetup {
	b.nodes = r.Int("nodes", ownNodes)
	if f := r.Float("work", 1); f != 1 {
		b.kind = b.kind.scaled(f)
	}
	return b
}

// config sets a run up.
func (b batchSetup) config(seed uint64) (sim.Config, []*sim.Job, *logged, error) {
	cfg, err := machine(b.hold, cmp.Or(b.nodes, ownNodes))
	if err != nil {
		return cfg, nil, nil, err
	}
	adm, control, err := b.admission(seed)
	if err != nil {
		return cfg, nil, nil, err
	}
	jobs := b.kind.batch(b.jobs, rand.New(rand.NewPCG(seed, 0x6d617270)))
	if b.fast {
		for _, j := range jobs {
			j.StartUp = time.Millisecond
		}
	}
	profile := sim.DefaultContention()
	if b.profile != nil {
		b.profile(&profile)
	}
	cfg.Admission, cfg.Model, cfg.Seed = adm, sim.NewContention(profile, seed), seed
	return cfg, jobs, control, nil
}

// machine is nodes in one machine under the Fair Scheduler.
func machine(holdReduces bool, nodes int) (sim.Config, error) {
	cfg, err := lab.Uniform(nodes, scheduler.Capacity{VCores: 17, MemoryMB: 17 * 1024})
	if err != nil {
		return cfg, err
	}
	cfg.Heartbeat, cfg.PerHeartbeat = time.Second, 1
	cfg.Policy, err = policies.Policy("fair", map[string]string{"measure": "memory", "hold-reduces": strconv.FormatBool(holdReduces)})
	return cfg, err
}

func (b batchSetup) run(seed uint64) (batchRun, error) {
	cfg, jobs, control, err := b.config(seed)
	if err != nil {
		return batchRun{}, err
	}
	var out batchRun
	out.sample(&cfg)
	if b.watch != nil {
		b.watch.Attach(&cfg)
	}
	res, err := sim.Run(cfg, jobs)
	if stall, ok := errors.AsType[*sim.StallError](err); ok {
		return batchRun{stalled: true, total: stall.At.Seconds()}, nil
	}
	if err != nil {
		return batchRun{}, err
	}
	out.observe(res)
	out.control(control)
	return out, nil
}

// sample keeps the idle percentage every second and the progress of each running job
// every ten.
func (b *batchRun) sample(cfg *sim.Config) {
	last := map[scheduler.JobID]float64{}
	cfg.SampleEvery = time.Second
	cfg.Sample = func(now time.Duration, v *scheduler.View) {
		if idle, ok := v.CPUIdle(); ok {
			b.idle.at, b.idle.value = append(b.idle.at, now.Seconds()), append(b.idle.value, idle)
		}
		if now%(10*time.Second) != 0 {
			return
		}
		for j := range v.Jobs().All() {
			if j.Phase() != scheduler.Ready {
				continue
			}
			if before, ok := last[j.ID()]; ok {
				b.rates = append(b.rates, j.Progress()-before)
			}
			last[j.ID()] = j.Progress()
		}
	}
}

func (b *batchRun) observe(res *sim.Result) {
	b.total = res.Makespan.Seconds()
	first, second := math.Inf(1), math.Inf(1)
	var firstJob *sim.JobResult
	for i := range res.Jobs {
		j := &res.Jobs[i]
		b.admitted = append(b.admitted, j.Admitted.Seconds())
		b.busy += (j.Finished - j.Admitted).Seconds() / b.total
		switch at := j.FirstMap.Seconds(); {
		case at < first:
			first, second, firstJob = at, first, j
		case at < second:
			second = at
		}
	}
	b.secondMaps, b.firstHalf = second, firstJob.MapsDone.Seconds()
	b.peakGB = peakOutput(res)
}

// peakOutput is the most map output on disk at the end of any map phase, in GB: a job
// holds what its maps made until it ends. Between its first and last map it counts in
// proportion to time.
func peakOutput(res *sim.Result) (peak float64) {
	const perMap = 0.125
	for i := range res.Jobs {
		at, sum := res.Jobs[i].MapsDone, 0.0
		for k := range res.Jobs {
			j := &res.Jobs[k]
			if at < j.FirstMap || at >= j.Finished {
				continue
			}
			part := min(1, float64(at-j.FirstMap)/float64(max(1, j.MapsDone-j.FirstMap)))
			sum += part * perMap * float64(j.Job.Spec.Maps)
		}
		peak = max(peak, sum)
	}
	return peak
}

func (b *batchRun) control(l *logged) {
	if l == nil {
		return
	}
	b.acts = l.acts
	if c, ok := l.Controller.(*admission.CBTwAT); ok {
		if thresholds, scores, explored := c.Scores(); explored == len(thresholds) {
			b.scores = scores
		}
	}
}
