package cli

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// whatIf has the flags of whatif, and what the history says.
type whatIf struct {
	policies []string
	params   []string
	ran      string
	size     size
	seed     uint64
	noSecond bool
	noNet    bool
	asJSON   bool
	out      string

	admission   string // of the others
	admitParams []string

	file    string
	history *trace.History
	past    *compare.Past
	topo    *topology.Topology
	room    []scheduler.Capacity
	arms    []arm // the first is the policy that ran

	mu     sync.Mutex       // guards unable
	unable map[string]error // policies that cannot run these jobs
}

// size is what flags say of the cluster; Room is the room of a node.
type size struct{ Nodes, Racks, Room int }

func newWhatIf() *cobra.Command {
	o := whatIf{unable: map[string]error{}}
	cmd := &cobra.Command{
		Use: "whatif HISTORY", Short: "Replay what a cluster did under other policies, and say what each would have changed",
		Long: `Replay the jobs of a history (millrace job history --export FILE) on a simulated cluster of the
same size, under the policy that really ran and under others. The replay of the first says how far
the simulator is off; differences between policies that are smaller than that mean nothing.

The first replay changes policies when the cluster did. The others have one policy all the time, and the
admission policy that the cluster had last, or that of --admission.

Tasks take as long as they took, on a machine of the same speed. Where the history has the rates of the
racks' links, data moves over those, and only the rest of a task's time is fixed. Blocks are placed at random,
as a history does not say where they were; a later stage of a chain is submitted when it was. Jobs that failed
are left out.`,
		Example: `  millrace job history --export week.jsonl && millrace whatif week.jsonl
  millrace whatif week.jsonl --policy fair,fbq,mine.star --param fbq.limits=4000 --out report
  millrace whatif week.jsonl --policy fair --admission cbt --admission-param start=0.2`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			return o.run(cmd)
		},
	}
	o.define(cmd.Flags())
	return cmd
}

// define adds the flags.
func (o *whatIf) define(f *pflag.FlagSet) {
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "policies" { // its name in older versions
			name = "policy"
		}
		return pflag.NormalizedName(name)
	})
	f.StringSliceVar(&o.policies, "policy", nil, "policies to try, by name or, for scripts, by a file that ends in .star (default: all that have a name): "+strings.Join(policies.Names(scheduler.Assignment), ", "))
	f.StringArrayVar(&o.params, "param", nil, "parameter of a policy, POLICY.NAME=VALUE; may be given several times")
	f.StringVar(&o.admission, "admission", "", "admission policy of the others (default: as the history says): "+strings.Join(policies.Names(scheduler.Admitting), ", "))
	f.StringArrayVar(&o.admitParams, "admission-param", nil, "parameter of that admission policy, as name=value; may be given several times")
	f.BoolVar(&o.noNet, "no-network", false, "leave out the network, also where the history has the rates of links")
	f.StringVar(&o.ran, "ran", "", "the policy that really ran (default: the one that the history names)")
	f.IntVar(&o.size.Nodes, "nodes", 0, "nodes of the cluster (default: as the history says)")
	f.IntVar(&o.size.Racks, "racks", 0, "racks they stand in (default: as the history says)")
	f.IntVar(&o.size.Room, "containers", 0, "containers of a node (default: as the history says)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of where blocks are")
	f.BoolVar(&o.noSecond, "no-speculation", false, "start no second attempts of slow tasks")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object")
	f.StringVar(&o.out, "out", "", "directory for report.html, report.json, report.csv and the figures as SVG and CSV")
}

func (o *whatIf) run(cmd *cobra.Command) error {
	if err := o.read(); err != nil {
		return err
	}
	if i := slices.IndexFunc(o.arms, func(a arm) bool { return a.scripted() }); i >= 0 {
		at := min(runtime.GOMAXPROCS(0), len(o.arms))
		defer watchMemory("a replay under "+o.arms[i].name, apartMemory+uint64(at)*taskMemory*uint64(len(o.history.Attempts)))()
	}
	runs, err := runAll(cmd, len(o.arms), o.try)
	if len(runs) == 0 || runs[0].arm.name != o.arms[0].name {
		return failed(errors.Join(err, fmt.Errorf("%s was not replayed: without it the others say nothing", o.arms[0].name)))
	}
	return failed(errors.Join(err, o.report(cmd, runs)))
}

// read reads the history, and from it the cluster and the policies.
func (o *whatIf) read() (err error) {
	t, err := readTraces("", o.file)
	if err != nil {
		return err
	}
	o.history = t.History
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
	if o.topo, o.room, err = compare.OriginCluster(o.history.Origin); err != nil {
		return wrong("%w: --nodes, --racks and --containers do", err)
	}
	if err := o.choose(); err != nil {
		return err
	}
	w := sim.DefaultWorkload(o.topo, o.history.Origin.Room)
	if o.past, err = compare.NewPast(o.history, w, o.seed); err != nil {
		return wrong("%w", err)
	}
	if o.hasNet() {
		o.past.OverNetwork(o.topo)
	}
	return nil
}

// resize lets flags override what the history says of the cluster.
func (o *whatIf) resize() {
	at := &o.history.Origin
	perNode := at.Room / max(1, at.Nodes)
	if o.size.Nodes > 0 {
		at.Nodes, at.Room = o.size.Nodes, o.size.Nodes*perNode
	}
	if o.size.Room > 0 {
		at.Room = at.Nodes * o.size.Room
	}
	if at.Racks = cmp.Or(o.size.Racks, at.Racks); o.size != (size{}) {
		at.Machines, at.Links, at.Optical = nil, nil, nil // of another cluster
	}
}

// hasNet reports whether data moves over links.
func (o *whatIf) hasNet() bool { return !o.noNet && compare.HasLinks(o.history.Origin) }

// try replays under one policy. A policy that cannot run these jobs does not stop others, unless it is the one that
// ran.
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

func (o *whatIf) simRun(name string, res *sim.Result, w *compare.Watcher) compare.Run {
	return compare.NewRun(name, o.seed, res, o.topo, o.history.Origin.Room, w)
}
