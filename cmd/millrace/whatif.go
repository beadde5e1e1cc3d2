package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
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

// report prints and writes what the replays say.
func (o *whatIf) report(cmd *cobra.Command, runs []*simRun) error {
	was := o.simRun("as it was", o.past.Real, nil)
	miss := o.past.Miss(runs[0].res)
	runs[0].Policy += ", replayed"
	if o.asJSON {
		if err := o.printJSON(cmd.OutOrStdout(), was, runs, miss); err != nil {
			return err
		}
	} else {
		o.print(cmd.OutOrStdout(), was, runs, miss)
	}
	if o.out == "" {
		return nil
	}
	all := []lab.SimRun{was}
	for _, r := range runs {
		all = append(all, r.SimRun)
	}
	page := lab.Page{Title: "millrace whatif", Reports: []lab.Report{lab.Compare("What other policies would have done", o.setup()+" "+missText(o.arms[0].name, miss), all)}}
	if err := lab.WriteFiles(o.out, page); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "report: %s\n", filepath.Join(o.out, "report.html"))
	return nil
}

func (o *whatIf) setup() string {
	at := o.history.Origin
	text := fmt.Sprintf("%d jobs of %s, which ran under %s on %d nodes in %d racks with room for %d tasks.", len(o.past.Real.Jobs), o.file, o.arms[0].name, at.Nodes, at.Racks, at.Room)
	if o.past.LeftOut > 0 {
		text += fmt.Sprintf(" %d more are left out: they failed, or not all of their attempts are known.", o.past.LeftOut)
	}
	return text
}

func missText(name string, m lab.Miss) string {
	return fmt.Sprintf("The replay of %s misses the real mean completion by %+.1f %%, the makespan by %+.1f %%, and a single job by %.1f %% (median; one in ten by more than %.1f %%): smaller differences between policies mean nothing.",
		name, 100*m.Completion, 100*m.Makespan, 100*m.Typical, 100*m.Bad)
}

func (o *whatIf) print(w io.Writer, was lab.SimRun, runs []*simRun, miss lab.Miss) {
	fmt.Fprintln(w, o.setup())
	t := newTable(w, "policy", "mean completion", "against the replay", "mean wait", "median slowdown", "95 % slowdown", "makespan", "missed goals")
	row := func(name string, m lab.Metrics, change string) {
		t.AppendRow(table.Row{
			name, fmt.Sprintf("%.2f s", m.Completion.Mean), change, fmt.Sprintf("%.2f s", m.Wait.Mean), fmt.Sprintf("%.2f", m.Slowdown.Median), fmt.Sprintf("%.2f", m.Slowdown.P95),
			fmt.Sprintf("%.1f s", m.Makespan), fmt.Sprintf("%d of %d", m.Missed, m.WithDeadline),
		})
	}
	row("as it was", was.Metrics, "")
	for i, r := range runs {
		change := ""
		if i > 0 {
			change = fmt.Sprintf("%+.1f %%", 100*changeOf(runs[0], r))
		}
		row(r.Policy, r.Metrics, change)
	}
	t.Render()
	for _, name := range slices.Sorted(maps.Keys(o.unable)) {
		fmt.Fprintln(w, "not in the table:", o.unable[name])
	}
	fmt.Fprintln(w, missText(o.arms[0].name, miss))
	fmt.Fprintln(w, "Slowdown is completion over the time the job would take alone.")
}

// changeOf is by how much a policy changes mean completion, against the replay of the one that ran.
func changeOf(replayed, r *simRun) float64 {
	return r.Metrics.Completion.Mean/max(replayed.Metrics.Completion.Mean, 1e-9) - 1
}

func (o *whatIf) printJSON(w io.Writer, was lab.SimRun, runs []*simRun, miss lab.Miss) error {
	type tried struct {
		Change  float64     `json:"change"` // of mean completion, against the replay
		Metrics lab.Metrics `json:"metrics"`
	}
	out := struct {
		Ran      string           `json:"ran"`
		Jobs     int              `json:"jobs"`
		LeftOut  int              `json:"left_out"`
		Real     lab.Metrics      `json:"real"`
		Replayed lab.Metrics      `json:"replayed"`
		Error    lab.Miss         `json:"error"`
		Policies map[string]tried `json:"policies"`
		// Unable are the policies under which these jobs do not end, and why.
		Unable map[string]string `json:"unable,omitempty"`
	}{o.arms[0].name, len(o.past.Real.Jobs), o.past.LeftOut, was.Metrics, runs[0].Metrics, miss, map[string]tried{}, map[string]string{}}
	for name, err := range o.unable {
		out.Unable[name] = err.Error()
	}
	for _, r := range runs[1:] {
		out.Policies[r.arm.name] = tried{changeOf(runs[0], r), r.Metrics}
	}
	return json.NewEncoder(w).Encode(out)
}
