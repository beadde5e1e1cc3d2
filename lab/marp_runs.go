package lab

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/admission"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
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

// batchSetup says how a batch is run.
type batchSetup struct {
	kind batchKind
	jobs int
	// control is cbt, cbtws or cbtwat; empty means a static marp.
	control string
	marp    float64
	change  func(*admission.Config, *admission.Limits)
	fast    bool // drivers start at once
	hold    bool // reduces wait for the last map of their job
	watch   *Watcher
}

// parallelRun is PRJ: the whole batch at once, as the source set it for six jobs.
func parallelRun(k batchKind, jobs int) batchSetup {
	return batchSetup{kind: k, jobs: jobs, marp: max(0.25, admission.Smallest(jobs, clusterMB, driverMB))}
}

// logged is a controller whose writes are kept.
type logged struct {
	admission.Controller
	marp float64
	acts []act
}

func (l *logged) Init(batch []scheduler.JobID, marp float64) admission.Act {
	l.marp = marp
	return l.keep(0, l.Controller.Init(batch, marp))
}

func (l *logged) Step(o admission.Obs) admission.Act { return l.keep(o.Now, l.Controller.Step(o)) }

func (l *logged) keep(now time.Duration, a admission.Act) admission.Act {
	if a.Write {
		l.acts = append(l.acts, act{now.Seconds(), l.marp, a.MARP})
		l.marp = a.MARP
	}
	return a
}

// admission makes the policy of a set-up, and what logs its controller.
func (b batchSetup) admission(seed uint64) (scheduler.Admission, *logged, error) {
	limits := admission.DefaultLimits()
	random := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
	if b.control == "" {
		adm, err := admission.NewStatic(b.marp, limits, random(1))
		return adm, nil, err
	}
	cfg := map[string]admission.Config{"cbt": admission.CBTConfig(), "cbtws": admission.DefaultConfig(), "cbtwat": admission.CBTwATConfig()}[b.control]
	if b.change != nil {
		b.change(&cfg, &limits)
	}
	var c admission.Controller
	var err error
	switch b.control {
	case "cbt":
		c, err = admission.NewCBT(cfg)
	case "cbtws":
		c, err = admission.NewCBTwS(cfg)
	default:
		c, err = admission.NewCBTwAT(cfg, random(2))
	}
	if err != nil {
		return nil, nil, err
	}
	l := &logged{Controller: c}
	adm, err := admission.NewTuned(l, cfg, limits, random(1))
	return adm, l, err
}

// config sets a run up.
func (b batchSetup) config(seed uint64) (sim.Config, []*sim.Job, *logged, error) {
	topo, err := topology.Uniform(1, 3, 0, 0)
	if err != nil {
		return sim.Config{}, nil, nil, err
	}
	adm, control, err := b.admission(seed)
	if err != nil {
		return sim.Config{}, nil, nil, err
	}
	fair, err := policies.Policy("fair", map[string]string{"measure": "memory", "hold-reduces": strconv.FormatBool(b.hold)})
	if err != nil {
		return sim.Config{}, nil, nil, err
	}
	jobs := b.kind.batch(b.jobs, rand.New(rand.NewPCG(seed, 0x6d617270)))
	if b.fast {
		for _, j := range jobs {
			j.StartUp = time.Millisecond
		}
	}
	return sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{VCores: 17, MemoryMB: 17 * 1024},
		Policy: fair, Admission: adm, State: scheduler.DefaultConfig(),
		Model: sim.NewContention(sim.DefaultContention(), seed), Seed: seed, Heartbeat: time.Second, PerHeartbeat: 1,
	}, jobs, control, nil
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

// batches runs one set-up over many seeds and returns the completion times. The watcher
// sees the first.
func (r *Recorder) batches(b batchSetup, n int) ([]batchRun, []float64, error) {
	runs, totals := make([]batchRun, n), make([]float64, n)
	err := r.each(n, func(i int) (err error) {
		mine := b
		if i > 0 {
			mine.watch = nil
		}
		runs[i], err = mine.run(r.options.Seed + uint64(i))
		totals[i] = runs[i].total
		return err
	})
	return runs, totals, err
}

var controllers = []string{"cbt", "cbtws", "cbtwat"}

// gainRuns are PRJ (under "prj") and the three controllers.
type gainRuns struct {
	runs  map[string][]batchRun
	total map[string]Estimate
	gain  map[string]float64 // over PRJ, per cent
	watch map[string]*Watcher
}

func (r *Recorder) gains(k batchKind, jobs, n int) (gainRuns, error) {
	out := gainRuns{map[string][]batchRun{}, map[string]Estimate{}, map[string]float64{}, map[string]*Watcher{}}
	for _, name := range append([]string{"prj"}, controllers...) {
		b := batchSetup{kind: k, jobs: jobs, control: name}
		if name == "prj" {
			b = parallelRun(k, jobs)
		}
		b.watch = &Watcher{Of: onlyJobs(jobs), KeepSpans: true}
		for j := range jobs {
			b.watch.Keys = append(b.watch.Keys, fmt.Sprintf("job %d", j+1))
		}
		runs, totals, err := r.batches(b, n)
		if err != nil {
			return out, err
		}
		out.runs[name], out.total[name], out.watch[name] = runs, NewEstimate(totals), b.watch
		out.gain[name] = 100 * (out.total["prj"].Mean - out.total[name].Mean) / out.total["prj"].Mean
	}
	return out, nil
}

// onlyJobs keys attempts by job.
func onlyJobs(jobs int) func(sim.Attempt) int {
	return func(a sim.Attempt) int {
		if int(a.Task.Job) >= jobs {
			return -1
		}
		return int(a.Task.Job)
	}
}
