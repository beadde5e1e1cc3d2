package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

func newSim() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sim run|explain",
		Short:   "Compare scheduling policies on a workload in the simulator",
		Example: "  millrace sim run --trace gen:fb-2010:200 --policy fifo,fair,fbq --nodes 40 --racks 8",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("sim needs a verb: run or explain")
			}
			return fmt.Errorf("unknown verb %q (known: run, explain)", args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSimRun(), leavesNothing(newSimExplain()))
	return cmd
}

// simOptions are the flags of sim run.
type simOptions struct {
	file       string
	trace      string
	policies   []string
	params     []string
	admission  string
	nodes      int
	racks      int
	containers int
	heartbeat  time.Duration
	network    simNetwork
	scale      float64
	workload   string
	rates      string
	seed       uint64
	seeds      int
	noSecond   bool
	asJSON     bool
	out        string
	history    string

	jobs   []sim.Listed // of a file
	load   float64
	arms   []arm // what is compared
	record bool  // decision by decision, for the player
	stop   func() error
}

// An arm is a policy with its parameters, under a name of its own.
type arm struct {
	name, policy string
	params       map[string]string
	admission    string
	admitParams  map[string]string
	periods      []trace.Period // of whatif: what ran, if the history says it
}

func newSimRun() *cobra.Command {
	var o simOptions
	cmd := &cobra.Command{
		Use: "run", Short: "Run one workload under several policies, side by side",
		Long: `Run one workload under several policies, side by side, on all cores. The cluster and
the policies can also come from a YAML file (--file); flags that are given win over it:

  nodes: 40
  racks: 8
  containers: 6
  heartbeat: 1s
  trace: gen:fb-2010:200
  scale: 1
  load: 0.7            # times of arrival are stretched so that the cluster is this busy
  workload: swim,reduce-bytes=64MiB
  rates: copy
  policies:
    - policy: fair
    - name: short queue
      policy: fbq
      params: {limits: "4000"}
  admission: {policy: marp, params: {marp: "0.2"}}

Instead of a trace, jobs: lists them, with times in seconds:

  jobs:
    - {name: large, at: 0, maps: 400, map_time: 20, reduces: 10, reduce_time: 30}
    - {name: small, at: 5, maps: 4, map_time: 3, user: ann, queue: short, deadline: 60}

With --out, play.html plays the first two policies decision by decision.
After Ctrl-C the runs that are done are still reported.`,
		Example: `  millrace sim run --trace gen:fb-2010:500 --policy fifo,fair,delay --nodes 40 --racks 8 --out report
  millrace sim run --trace FB-2010.tsv --scale 0.1 --policy fbq --param fbq.limits=4000 --json
  millrace sim run --policy fair,delay,nas --uplink 1 --nic 1 --scale 0.2
  millrace sim run --file cluster.yaml --seeds 5 --out report`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.flags(cmd.Flags())
	return cmd
}

func (o *simOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.file, "file", "", "YAML file with the cluster, the policies and their parameters")
	f.StringVar(&o.trace, "trace", "gen:fb-2010:200", "SWIM trace or history file, or gen:MODEL:JOBS for a generated one ("+strings.Join(modelNames(), ", ")+")")
	f.StringSliceVar(&o.policies, "policy", []string{"fifo", "fair"}, "policies to compare, by name or, for scripts, by a file that ends in .star: "+strings.Join(policies.Names(scheduler.Assignment), ", "))
	f.StringArrayVar(&o.params, "param", nil, "parameter of a policy, POLICY.NAME=VALUE; may be given several times")
	f.StringVar(&o.admission, "admission", "", "admission policy (default: every job at once): "+strings.Join(policies.Names(scheduler.Admitting), ", "))
	f.IntVar(&o.nodes, "nodes", 40, "nodes of the cluster")
	f.IntVar(&o.racks, "racks", 8, "racks they stand in")
	f.IntVar(&o.containers, "containers", 6, "containers of a node")
	f.DurationVar(&o.heartbeat, "heartbeat", time.Second, "period in which nodes report (0: at once)")
	o.network.flags(f)
	f.Float64Var(&o.scale, "scale", 1, "factor on all sizes of the trace")
	shapeFlag(f, &o.workload)
	f.StringVar(&o.rates, "rates", "middle", "how fast tasks compute: copy, middle or slow, or MAP:REDUCE in bytes a second")
	f.Float64Var(&o.load, "load", 0, "stretch the times of arrival so that the work needs this share of the containers (0: as they are)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the workload and of the first run")
	f.IntVar(&o.seeds, "seeds", 1, "repetitions of each policy; a generated trace is another each time")
	f.BoolVar(&o.noSecond, "no-speculation", false, "start no second attempts of slow tasks")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object")
	f.StringVar(&o.out, "out", "", "directory for report.html, report.json, report.csv and the figures as SVG and CSV")
	f.StringVar(&o.history, "history", "", "file for what happened in the first run of the first policy (docs/formats/history.md)")
}

// defaultSim are the options where no flag is given.
func defaultSim() *simOptions {
	o := &simOptions{}
	o.flags(pflag.NewFlagSet("sim", pflag.ContinueOnError))
	return o
}

func (o *simOptions) run(cmd *cobra.Command) error {
	if o.file != "" {
		if err := o.readFile(cmd); err != nil {
			return err
		}
	}
	o.takeCluster(cmd)
	topo, err := o.check()
	if err != nil {
		return err
	}
	source, err := o.readSource()
	if err != nil {
		return err
	}
	runs, err := o.compare(cmd, topo, source)
	if len(runs) == 0 {
		return failed(err)
	}
	if werr := o.report(cmd, topo, source, runs); werr != nil {
		err = errors.Join(err, werr)
	}
	return failed(err)
}

// report prints and writes what is done.
func (o *simOptions) report(cmd *cobra.Command, topo *topology.Topology, source *workload, runs []*simRun) error {
	if o.asJSON {
		if err := json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"policies": resultsOf(runs)}); err != nil {
			return err
		}
	} else {
		printRuns(cmd.OutOrStdout(), runs)
	}
	if o.history != "" {
		if err := o.writeHistory(topo, runs); err != nil {
			return err
		}
	}
	if o.out == "" {
		return nil
	}
	var done []compare.Run
	for _, r := range runs {
		done = append(done, r.Run)
	}
	from := o.trace
	if o.jobs != nil {
		from = o.file
	}
	setup := fmt.Sprintf("%s of %s on %s in %s with %s each; seed %d.", human.Many(int64(source.len()), "job"), from, human.Many(int64(o.nodes), "node"), human.Many(int64(o.racks), "rack"), human.Many(int64(o.containers), "container"), o.seed)
	book := lab.Page{Title: "millrace simulation", Reports: []lab.Report{lab.Compared("Policies side by side", setup, done)}}
	if err := lab.WriteFiles(o.out, book); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "report: %s\n", filepath.Join(o.out, "report.html"))
	page := filepath.Join(o.out, "play.html")
	if err := writePlay(page, setup, o.tapes(runs)); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "player: %s\n", page)
	return nil
}

// check refuses what cannot be simulated before anything is read.
func (o *simOptions) check() (*topology.Topology, error) {
	if o.racks < 1 || o.nodes < o.racks || o.nodes%o.racks != 0 {
		return nil, fmt.Errorf("--nodes is %d and --racks %d: racks must be of equal size and not empty", o.nodes, o.racks)
	}
	if o.load < 0 || o.load > 100 {
		return nil, fmt.Errorf("--load is %v: give a share of the containers, such as 0.7, at most 100", o.load)
	}
	if o.containers < 1 || o.scale <= 0 || o.heartbeat < 0 || o.seeds < 1 || o.seeds > 1000 {
		return nil, errors.New("--containers and --scale must be above 0, --heartbeat not below, --seeds in 1..1000")
	}
	if _, err := o.tasks(nil); err != nil {
		return nil, err
	}
	if o.arms == nil {
		if err := o.armsOfFlags(); err != nil {
			return nil, err
		}
	}
	if err := o.readScripts(); err != nil {
		return nil, err
	}
	for _, a := range o.arms {
		if err := a.check(); err != nil {
			return nil, err
		}
	}
	return o.network.topology(o.racks, o.nodes)
}

// check makes the policies once, to see whether they can be made.
func (a arm) check() error {
	if _, err := makePolicy(&a); err != nil {
		return err
	}
	if a.admission == "" {
		return nil
	}
	_, err := policies.Admission(a.admission, a.admitParams)
	return err
}

// armsOfFlags reads --policy, --param and --admission.
func (o *simOptions) armsOfFlags() error {
	params := map[string]map[string]string{}
	for _, p := range o.params {
		name, value, ok := strings.Cut(p, "=")
		policy, param, dotted := strings.Cut(name, ".")
		if !ok || !dotted {
			return fmt.Errorf("--param %q: write POLICY.NAME=VALUE", p)
		}
		if params[policy] == nil {
			params[policy] = map[string]string{}
		}
		params[policy][param] = value
	}
	for name := range params {
		if !slices.Contains(o.policies, name) && name != o.admission {
			return fmt.Errorf("--param %s...: %q is none of the policies compared (%s)", name+".", name, strings.Join(o.policies, ", "))
		}
	}
	if len(o.policies) == 0 {
		return errors.New("--policy is empty: name at least one (millrace scheduler ls)")
	}
	for _, name := range o.policies {
		a := arm{name: name, policy: name, params: policies.UsualParams(name, params[name]), admission: o.admission, admitParams: params[o.admission]}
		all, err := a.swept()
		if err != nil {
			return fmt.Errorf("--param: %w", err)
		}
		if o.arms = append(o.arms, all...); len(o.arms) > mostArms {
			return fmt.Errorf("--param: %d policies would be compared, at most %d", len(o.arms), mostArms)
		}
	}
	return nil
}
