package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// takeCluster makes the simulated cluster like the one that a history comes from, where flags do not
// say otherwise. What is wrong with the file shows when it is read.
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
}

func (w *workload) len() int {
	switch {
	case w.model != nil:
		return w.jobs
	case w.history != nil:
		return len(w.history.Jobs)
	}
	return len(w.traced)
}

// make returns the jobs of one repetition.
func (w *workload) make(cfg sim.WorkloadConfig, seed uint64) []*sim.Job {
	rng := rand.New(rand.NewPCG(seed, 2))
	switch {
	case w.model != nil:
		return sim.FromTrace(w.model.Generate(w.jobs, rand.New(rand.NewPCG(seed, 1))), cfg, rng)
	case w.history != nil:
		return lab.Replay(w.history, cfg, rng)
	}
	return sim.FromTrace(w.traced, cfg, rng)
}

func (o *simOptions) readSource() (*workload, error) {
	spec, generated := strings.CutPrefix(o.trace, "gen:")
	if !generated {
		h, jobs, err := readAny(o.trace)
		return &workload{traced: jobs, history: h}, failed(err)
	}
	name, count, _ := strings.Cut(spec, ":")
	m, ok := trace.Models[name]
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > 10_000_000 {
		return nil, fmt.Errorf("--trace %q: write gen:MODEL:JOBS with a model of %s", o.trace, strings.Join(modelNames(), ", "))
	}
	return &workload{model: m, jobs: n}, nil
}

// simRun is a run that is done.
type simRun struct {
	lab.SimRun
	arm   arm
	wall  time.Duration
	res   *sim.Result
	watch *lab.Watcher
}

// compare runs every policy with every seed.
func (o *simOptions) compare(cmd *cobra.Command, topo *topology.Topology, source *workload) ([]*simRun, error) {
	return runAll(cmd, len(o.arms)*o.seeds, func(i int) (*simRun, error) {
		a, seed := o.arms[i/o.seeds], o.seed+uint64(i%o.seeds)
		r, err := o.simulate(topo, a, source, seed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		return r, nil
	})
}

// runAll makes n runs on all cores. What is done when the context ends comes back beside
// the error. A run may be nil, and is left out.
func runAll(cmd *cobra.Command, n int, run func(i int) (*simRun, error)) ([]*simRun, error) {
	all := make([]*simRun, n)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	bar := newBar(cmd, n)
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	for i := range all {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := run(i)
			if err != nil {
				cancel()
				return err
			}
			if all[i] = r; r != nil {
				bar.done(fmt.Sprintf("%s in %.2f s", r.arm.name, r.wall.Seconds()))
			}
			return nil
		})
	}
	err := g.Wait()
	bar.end()
	return slices.DeleteFunc(all, func(r *simRun) bool { return r == nil }), err
}

// kept bounds the tasks of a run whose every attempt is kept for charts.
const keptTasks = 2_000_000

func (o *simOptions) simulate(topo *topology.Topology, a arm, source *workload, seed uint64) (*simRun, error) {
	policy, err := policies.Policy(a.policy, a.params)
	if err != nil {
		return nil, err
	}
	cfg := sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{Containers: int32(o.containers)}, Policy: policy,
		State: scheduler.DefaultConfig(), Model: sim.NewFixed(), Heartbeat: o.heartbeat, Seed: seed, BreakDeadlocks: true,
	}
	if err := o.network.use(&cfg, a.policy); err != nil {
		return nil, err
	}
	if a.admission != "" {
		if cfg.Admission, err = policies.Admission(a.admission, a.admitParams); err != nil {
			return nil, err
		}
	}
	w := sim.DefaultWorkload(topo, o.nodes*o.containers)
	w.Scale = o.scale
	jobs := source.make(w, seed)
	run := &simRun{arm: a}
	if (o.out != "" || o.history != "") && seed == o.seed && tasksOf(jobs) <= keptTasks {
		run.watch = lab.WatchKinds()
		run.watch.Attach(&cfg)
	}
	began := time.Now()
	if run.res, err = sim.Run(cfg, jobs); err != nil {
		return nil, err
	}
	run.wall = time.Since(began)
	room := o.nodes * o.containers
	run.SimRun = lab.NewSimRun(a.name, seed, run.res, topo, func(j *sim.JobResult) time.Duration { return j.Job.Alone(room) }, room, run.watch)
	return run, nil
}

func tasksOf(jobs []*sim.Job) (n int) {
	for _, j := range jobs {
		n += int(j.Spec.Maps) + int(j.Spec.Reduces)
	}
	return n
}

func (o *simOptions) writeHistory(topo *topology.Topology, runs []*simRun) error {
	first := runs[0]
	if first.watch == nil {
		return fmt.Errorf("no history is kept of runs with more than %s tasks", human.Count(keptTasks))
	}
	origin := trace.Origin{Source: "sim", Policy: first.arm.policy, Admission: first.arm.admission, Nodes: o.nodes, Racks: o.racks, Room: o.nodes * o.containers}
	f, err := os.Create(o.history)
	if err != nil {
		return err
	}
	if err := trace.WriteHistory(f, lab.History(origin, topo, first.res, first.watch)); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
