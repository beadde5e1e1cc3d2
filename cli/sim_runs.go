package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/play"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// takeCluster makes the simulated cluster like that of a history, except where flags differ. Errors of the file show
// when it is read.
func (o *simOptions) takeCluster(cmd *cobra.Command) {
	f, err := os.Open(o.trace)
	if err != nil {
		return
	}
	defer f.Close()
	at, ok := trace.ReadOrigin(f)
	if given := cmd.Flags().Changed; !ok || at.Nodes < 1 || at.Racks < 1 || at.Nodes%at.Racks != 0 || given("nodes") || given("racks") {
		return
	}
	o.nodes, o.racks = at.Nodes, at.Racks
	if !cmd.Flags().Changed("containers") && at.Room >= at.Nodes {
		o.containers = at.Room / at.Nodes
	}
}

// workload is where jobs come from: a model, a trace, or a history.
type workload struct {
	model   *trace.Model
	jobs    int
	traced  []trace.Job
	history *trace.History
	listed  []sim.Listed
}

func (w *workload) len() int {
	switch {
	case w.model != nil:
		return w.jobs
	case w.history != nil:
		return len(w.history.Jobs)
	}
	return len(w.traced) + len(w.listed)
}

// make returns the jobs of one repetition, unless they have more than most tasks: these are counted before any job is
// made.
func (w *workload) make(cfg sim.WorkloadConfig, seed uint64, most int64) ([]*sim.Job, error) {
	rng, traced := rand.New(rand.NewPCG(seed, 2)), w.traced
	if w.model != nil {
		traced = w.model.Generate(w.jobs, rand.New(rand.NewPCG(seed, 1)))
	}
	if n := w.count(cfg.Shape, traced); n > most {
		return nil, fmt.Errorf("%s tasks are more than the %s that fit here; take fewer jobs, or a smaller scale", human.Count(n), human.Count(most))
	}
	switch {
	case w.history != nil:
		return compare.Replay(w.history, cfg, rng), nil
	case w.listed != nil:
		return sim.FromList(w.listed, cfg, rng)
	}
	return sim.FromTrace(traced, cfg, rng), nil
}

// tasks counts the tasks of one repetition.
func (w *workload) tasks(s trace.Shape, seed uint64) int64 {
	if w.model != nil {
		return w.count(s, w.model.Generate(w.jobs, rand.New(rand.NewPCG(seed, 1))))
	}
	return w.count(s, w.traced)
}

// count counts maps and reduces.
func (w *workload) count(s trace.Shape, traced []trace.Job) (n int64) {
	for _, j := range traced {
		maps, reduces := s.Tasks(s.Sized(j))
		n += maps + reduces
	}
	for i := range w.listed {
		n += int64(w.listed[i].Maps) + int64(w.listed[i].Reduces)
	}
	return n
}

// mostTasks is how many tasks fit into the memory of a usual machine: each takes about 100 bytes.
const mostTasks = 50_000_000

func (o *simOptions) readSource() (*workload, error) {
	if o.jobs != nil {
		return &workload{listed: o.jobs}, nil
	}
	spec, generated := strings.CutPrefix(o.trace, "gen:")
	if !generated {
		t, err := readTraces("", o.trace)
		if err != nil {
			return nil, err
		}
		return &workload{traced: t.Jobs, history: t.History}, nil
	}
	name, count, _ := strings.Cut(spec, ":")
	m, ok := trace.Models[name]
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > 10_000_000 {
		return nil, o.blame("trace", "is %q: write gen:MODEL:JOBS with a model of %s and 1 to 10000000 jobs", o.trace, strings.Join(modelNames(), ", "))
	}
	return &workload{model: m, jobs: n}, nil
}

// simRun is a finished run.
type simRun struct {
	compare.Run
	arm   arm
	of    *simCase // of sim run
	swept []string // values of the keys that are ranges
	topo  *topology.Topology
	room  int // containers of the cluster
	wall  time.Duration
	res   *sim.Result
	watch *compare.Watcher
	tape  *play.Recorder
}

// runAll makes n runs on all cores. If the context ends, it returns the finished runs with the error, and leaves those
// under way to the end of the process. A nil run is left out.
func runAll(cmd *cobra.Command, n int, run func(i int) (*simRun, error)) ([]*simRun, error) {
	var mu sync.Mutex // guards all
	all := make([]*simRun, n)
	bar := newBar(cmd, n)
	ctx := cmd.Context()
	ended := make(chan error, 1)
	go func() {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(runtime.GOMAXPROCS(0))
		for i := range all {
			g.Go(func() error {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				r, err := run(i)
				if err != nil || r == nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				all[i] = r
				bar.done(fmt.Sprintf("%s in %.2f s", r.arm.name, r.wall.Seconds()))
				return nil
			})
		}
		ended <- g.Wait()
	}()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	mu.Lock()
	defer mu.Unlock()
	bar.end()
	return slices.DeleteFunc(slices.Clone(all), func(r *simRun) bool { return r == nil }), err
}

// keptTasks bounds the tasks of a run whose every attempt is kept for charts.
const keptTasks = 2_000_000

func (o *simOptions) simulate(topo *topology.Topology, a arm, source *workload, seed uint64) (*simRun, error) {
	cfg, err := o.config(topo, a, seed)
	if err != nil {
		return nil, err
	}
	jobs, err := o.jobsOf(topo, a, source, seed)
	if err != nil {
		return nil, err
	}
	run := &simRun{arm: a, topo: topo, room: o.room()}
	if (o.out != "" || o.history != "") && seed == o.seed && tasksOf(jobs) <= keptTasks {
		run.watch = compare.WatchKinds()
		run.watch.Attach(&cfg)
		cfg.LogAttempts = o.out != ""
	}
	if (o.out != "" || o.record) && !o.noTape && seed == o.seed {
		run.tape = play.NewRecorder(a.name, a.admission)
		run.tape.Expect(tasksOf(jobs))
		cfg.Lines = run.tape.Hear
	}
	if o.ended != nil {
		cfg.Lines = o.telling(cfg.Lines)
	}
	began := time.Now()
	if run.res, err = sim.Run(cfg, jobs); err == nil && cfg.Stop != nil {
		err = cfg.Stop() // a script may fail at the very end
	}
	if err != nil {
		return nil, err
	}
	run.wall = time.Since(began)
	run.Run = compare.NewRun(a.name, seed, run.res, topo, run.room, run.watch)
	return run, nil
}

// telling counts the jobs that end, in addition to calling hear.
func (o *simOptions) telling(hear func(*drive.Loop, *drive.Line)) func(*drive.Loop, *drive.Line) {
	return func(d *drive.Loop, l *drive.Line) {
		if hear != nil {
			hear(d, l)
		}
		if l.Kind == drive.LineEvent && (l.Event.Kind == scheduler.EvJobFinished || l.Event.Kind == scheduler.EvJobFailed) {
			o.ended(1)
		}
	}
}

// config returns the cluster under a policy.
func (o *simOptions) config(topo *topology.Topology, a arm, seed uint64) (cfg sim.Config, err error) {
	policy, err := makePolicy(&a)
	if err != nil {
		return cfg, err
	}
	cfg = sim.Config{
		Topology: topo, Capacity: o.capacity(), Policy: policy,
		State: scheduler.DefaultConfig(), Model: sim.NewFixed(), Reports: sim.Reports{Heartbeat: o.heartbeat}, Seed: seed, Stop: stopper(o.stop, policy),
	}
	asCluster(&cfg, o.noSecond)
	if err := o.network.use(&cfg, a.policy); err != nil {
		return cfg, err
	}
	if a.admission != "" {
		if cfg.Admission, err = policies.Admission(a.admission, a.admitParams); err != nil {
			return cfg, err
		}
	}
	return cfg, o.apply(&cfg)
}

// jobsOf makes the jobs of a run.
func (o *simOptions) jobsOf(topo *topology.Topology, a arm, source *workload, seed uint64) ([]*sim.Job, error) {
	w, err := o.tasks(topo)
	if err != nil {
		return nil, err
	}
	most := int64(mostTasks)
	if o.record {
		most = playTasks
	}
	jobs, err := source.make(w, seed, most)
	if err != nil {
		return nil, err
	}
	if err := o.shape(jobs, a.admission != ""); err != nil {
		return nil, err
	}
	if o.load > 0 {
		err = sim.SetLoad(jobs, o.power(), o.load)
	}
	return jobs, err
}

// tasks returns how the trace becomes tasks.
func (o *simOptions) tasks(topo *topology.Topology) (w sim.WorkloadConfig, err error) {
	w = sim.DefaultWorkload(topo, o.room())
	if w.Shape, err = parseShape(o.workload, o.nodes, o.room(), o.scale); err != nil {
		return w, o.blame("workload", "%w", err)
	}
	if w.Rates, err = parseRates(o.rates); err != nil {
		return w, o.blame("rates", "%w", err)
	}
	f := &o.more
	setIf(f.Slowstart, &w.Slowstart, false)
	setIf(f.TaskOverhead, &w.TaskOverhead, false)
	setIf(f.Noise, &w.Noise, false)
	setIf(f.Users, &w.Users, false)
	return w, nil
}

// asCluster makes second attempts and breaks deadlocks as a live cluster does by default.
func asCluster(cfg *sim.Config, noSecond bool) {
	cfg.BreakDeadlocks, cfg.Refill = true, true
	if !noSecond {
		cfg.Seconds = drive.DefaultLATE()
	}
}

func tasksOf(jobs []*sim.Job) (n int) {
	for _, j := range jobs {
		n += int(j.Spec.Maps) + int(j.Spec.Reduces)
	}
	return n
}

// describeClasses lists the machines of a scenario with classes, one by one.
func (o *simOptions) describeClasses(to *trace.Origin, topo *topology.Topology) {
	to.Room = 0
	for i := range o.more.Classes {
		c := &o.more.Classes[i]
		has := o.capacityOf(c)
		room := int(max(has.Containers, has.MapSlots+has.ReduceSlots, has.VCores))
		for range c.Count {
			at := topo.Node(topology.NodeID(len(to.Machines)))
			to.Machines = append(to.Machines, trace.Machine{Name: at.Name, Rack: topo.Rack(at.Rack).Name, Class: at.Class, Speed: c.Speed, Room: room, NIC: float64(at.NIC)})
			to.Room += room
		}
	}
	if len(to.Machines) > maxMachines {
		to.Machines = nil
	}
}

func (o *simOptions) writeHistory(topo *topology.Topology, runs []*simRun) error {
	first := runs[0]
	if first.watch == nil {
		return fmt.Errorf("no history is kept of runs with more than %s tasks", human.Count(keptTasks))
	}
	origin := trace.Origin{Source: "sim", Policy: first.arm.policy, Admission: first.arm.admission, Nodes: o.nodes, Racks: o.racks, Room: o.room()}
	var cfg sim.Config
	asCluster(&cfg, o.noSecond)
	if err := o.applySeconds(&cfg); err != nil {
		return err
	}
	rule := trace.Rule(drive.NameOf(cfg.Seconds))
	origin.Second = &rule
	if len(o.more.Classes) > 0 {
		o.describeClasses(&origin, topo)
	}
	f, err := os.Create(o.history)
	if err != nil {
		return err
	}
	if err := trace.WriteHistory(f, compare.History(origin, topo, first.res, first.watch)); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
