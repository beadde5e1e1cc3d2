package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// whatIf are the flags of whatif, and what the history says.
type whatIf struct {
	policies []string
	params   []string
	ran      string
	size     trace.Origin // only what flags say of the cluster; Room is that of a node
	seed     uint64
	asJSON   bool
	out      string

	file    string
	history *trace.History
	past    *lab.Past
	topo    *topology.Topology
	room    []scheduler.Capacity
	arms    []arm // the first is the policy that ran

	mu     sync.Mutex
	unable map[string]error // policies that cannot run these jobs; guarded by mu
}

func newWhatIf() *cobra.Command {
	o := whatIf{unable: map[string]error{}}
	cmd := &cobra.Command{
		Use: "whatif HISTORY", Short: "Replay what a cluster did under other policies, and say what each would have changed",
		Long: `Replay the jobs of a history (millrace job history --export FILE) on a simulated cluster of the
same size, under the policy that really ran and under others. The replay of the first says how far
the simulator is off; differences between policies that are smaller than that mean nothing.

Tasks take as long as they took, wherever they run; blocks are placed at random, as a history does
not say where they were; a later stage of a chain is submitted when it was. Jobs that failed are left out.`,
		Example: `  millrace job history --export week.jsonl && millrace whatif week.jsonl
  millrace whatif week.jsonl --policies fair,fbq --param fbq.limits=4000 --out report`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			return o.run(cmd)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.policies, "policies", nil, "policies to try (default: all of them): "+strings.Join(policies.Names(scheduler.Assignment), ", "))
	f.StringArrayVar(&o.params, "param", nil, "parameter of a policy, POLICY.NAME=VALUE; may be given several times")
	f.StringVar(&o.ran, "ran", "", "the policy that really ran (default: the one that the history names)")
	f.IntVar(&o.size.Nodes, "nodes", 0, "nodes of the cluster (default: as the history says)")
	f.IntVar(&o.size.Racks, "racks", 0, "racks they stand in (default: as the history says)")
	f.IntVar(&o.size.Room, "containers", 0, "containers of a node (default: as the history says)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of where blocks are")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object")
	f.StringVar(&o.out, "out", "", "directory for report.html, report.json, report.csv and the figures as SVG and CSV")
	return cmd
}

func (o *whatIf) run(cmd *cobra.Command) error {
	if err := o.read(); err != nil {
		return err
	}
	runs, err := runAll(cmd, len(o.arms), o.try)
	if len(runs) == 0 || runs[0].arm.name != o.arms[0].name {
		return failed(errors.Join(err, fmt.Errorf("%s was not replayed: without it the others say nothing", o.arms[0].name)))
	}
	return failed(errors.Join(err, o.report(cmd, runs)))
}

// read takes the history, and from it the cluster and the policies.
func (o *whatIf) read() (err error) {
	if o.history, _, err = readAny(o.file); err != nil {
		return failed(err)
	}
	wrong := func(format string, args ...any) error {
		return failed(fmt.Errorf("%s: %w", o.file, fmt.Errorf(format, args...)))
	}
	if min(o.size.Nodes, o.size.Racks, o.size.Room) < 0 {
		return errors.New("--nodes, --racks and --containers must not be negative")
	}
	if o.history == nil || len(o.history.Attempts) == 0 {
		return wrong("a trace of sizes does not say what happened; make a history by millrace job history --export, or use millrace sim run --trace")
	}
	o.resize()
	if o.topo, o.room, err = lab.OriginCluster(o.history.Origin); err != nil {
		return wrong("%w: --nodes, --racks and --containers do", err)
	}
	if err := o.choose(); err != nil {
		return err
	}
	w := sim.DefaultWorkload(o.topo, o.history.Origin.Room)
	if o.past, err = lab.NewPast(o.history, w, o.seed); err != nil {
		return wrong("%w", err)
	}
	return nil
}

// resize lets flags win over what the history says of the cluster.
func (o *whatIf) resize() {
	at := &o.history.Origin
	perNode := at.Room / max(1, at.Nodes)
	if o.size.Nodes > 0 {
		at.Nodes, at.Room = o.size.Nodes, o.size.Nodes*perNode
	}
	if o.size.Room > 0 {
		at.Room = at.Nodes * o.size.Room
	}
	at.Racks = cmp.Or(o.size.Racks, at.Racks)
}

// choose makes the arms: what ran, then the others.
func (o *whatIf) choose() error {
	ran := o.ran
	if ran == "" {
		ran = o.history.Origin.Policy
	}
	if ran == "" {
		return fmt.Errorf("%s does not name the policy that ran: say it with --ran", o.file)
	}
	names := o.policies
	if names == nil {
		names = policies.Names(scheduler.Assignment)
	}
	names = append([]string{ran}, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == ran })...)
	s := simOptions{policies: names, params: o.params}
	if err := s.armsOfFlags(); err != nil {
		return err
	}
	o.arms = s.arms
	for i := range o.arms {
		if o.history.Origin.Source == "cluster" {
			o.arms[i].params = policies.LiveParams(o.arms[i].policy, o.arms[i].params)
			o.arms[i].admission = o.history.Origin.Admission
			o.arms[i].admitParams = policies.LiveParams(o.arms[i].admission, nil)
		}
		if err := o.arms[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// try replays under one policy. One that cannot run these jobs does not keep others from it, unless it is the one that ran.
func (o *whatIf) try(i int) (*simRun, error) {
	r, err := o.replay(o.arms[i])
	if err == nil || i == 0 {
		return r, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unable[o.arms[i].name] = err
	return nil, nil
}

func (o *whatIf) replay(a arm) (*simRun, error) {
	fail := func(err error) (*simRun, error) { return nil, fmt.Errorf("%s: %w", a.name, err) }
	policy, err := policies.Policy(a.policy, a.params)
	if err != nil {
		return fail(err)
	}
	cfg := sim.Config{
		Topology: o.topo, Capacities: o.room, Policy: policy, State: scheduler.DefaultConfig(), Model: sim.NewFixed(),
		DriverStart: o.past.DriverStart, Seed: o.seed, BreakDeadlocks: true,
	}
	if o.history.Origin.Source == "sim" {
		cfg.Heartbeat = time.Second
	} else {
		cfg.AskAgain = 100 * time.Millisecond // as the master does
	}
	if a.admission != "" {
		if cfg.Admission, err = policies.Admission(a.admission, a.admitParams); err != nil {
			return fail(err)
		}
	}
	jobs, run := o.past.Workload(), &simRun{arm: a}
	if o.out != "" && tasksOf(jobs) <= keptTasks {
		run.watch = lab.WatchKinds()
		run.watch.Attach(&cfg)
	}
	began := time.Now()
	if run.res, err = sim.Run(cfg, jobs); err != nil {
		return fail(err)
	}
	run.wall = time.Since(began)
	run.SimRun = o.simRun(a.name, run.res, run.watch)
	return run, nil
}

func (o *whatIf) simRun(name string, res *sim.Result, w *lab.Watcher) lab.SimRun {
	room := o.history.Origin.Room
	return lab.NewSimRun(name, o.seed, res, o.topo, func(j *sim.JobResult) time.Duration { return j.Job.Alone(room) }, room, w)
}
