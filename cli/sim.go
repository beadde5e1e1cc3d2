package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
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
	noTape     bool // no recording: play.html shows other runs
	history    string

	keys   map[string]int // the line of each key of the file that counts
	more   simFile        // of the file: what no flag sets
	jobs   []sim.Listed   // from a file
	load   float64
	arms   []arm // the policies to compare
	record bool  // record every decision, for the player
	stop   func() error
	ended  func(jobs int) // if set, called with the number of jobs that ended; runs may call it at the same time
}

// An arm is a policy with its parameters, under a name of its own.
type arm struct {
	name, policy string
	params       map[string]string
	admission    string
	admitParams  map[string]string
	periods      []trace.Period // for whatif: what ran, if the history says so
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

Keys of the cluster and the workload may be ranges, load: 0.1..0.9 by 0.2: each value is a scenario of its own.
millrace sim explain lists all keys. Instead of a trace, jobs: lists them, with times in seconds:

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
	ratesFlag(f, &o.rates)
	f.Float64Var(&o.load, "load", 0, "stretch the times of arrival so that the work needs this share of the containers (0: as they are)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the workload and of the first run")
	f.IntVar(&o.seeds, "seeds", 1, "repetitions of each policy; a generated trace is another each time")
	f.BoolVar(&o.noSecond, "no-speculation", false, "start no second attempts of slow tasks")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object")
	f.StringVar(&o.out, "out", "", "directory for report.html, report.json, report.csv, jobs.csv (a row for each job), attempts.csv (a row for each attempt of the first seed), the figures as SVG and CSV, and play.html")
	f.StringVar(&o.history, "history", "", "file for what happened in the first run of the first policy (docs/formats/history.md)")
}

// defaultSim returns the options without any flag.
func defaultSim() *simOptions {
	o := &simOptions{}
	o.flags(pflag.NewFlagSet("sim", pflag.ContinueOnError))
	return o
}

func (o *simOptions) run(cmd *cobra.Command) error {
	cases, err := o.setUp(cmd)
	if err != nil {
		return err
	}
	source, err := cases[0].readSource() // the same for all
	if err != nil {
		return err
	}
	stop, err := watchScripts(cases, source)
	if err != nil {
		return err
	}
	defer stop()
	runs, err := compareCases(cmd, cases, source)
	if len(runs) == 0 {
		return failed(err)
	}
	if werr := o.report(cmd, cases, source, runs); werr != nil {
		err = errors.Join(err, werr)
	}
	return failed(err)
}

// setUp reads the file and checks the options.
func (o *simOptions) setUp(cmd *cobra.Command) ([]*simCase, error) {
	defer watchMemory(cmp.Or(o.file, strings.Join(o.policies, ", ")), apartMemory)() // reading a script already runs it
	cases := []*simCase{{simOptions: o}}
	if o.file != "" {
		data, err := os.ReadFile(o.file)
		if err != nil {
			return nil, failed(err)
		}
		if cases, err = o.cases(data, cmd.Flags().Changed); err != nil {
			return nil, err
		}
	}
	for _, c := range cases {
		c.takeCluster(cmd)
		var err error
		if c.topo, err = c.check(); err != nil {
			return nil, err
		}
		if n := len(cases) * len(c.arms); len(cases) > 1 && n > mostArms {
			return nil, fmt.Errorf("--policy: %d scenarios with %d policies each are %d runs, at most %d; take larger steps in %s", len(cases), len(c.arms), n, mostArms, o.file)
		}
	}
	return cases, nil
}

// check refuses what cannot be simulated, before anything is read.
func (o *simOptions) check() (*topology.Topology, error) {
	if err := o.bounds(); err != nil {
		return nil, err
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
	for i, a := range o.arms {
		if slices.ContainsFunc(o.arms[:i], func(b arm) bool { return b.name == a.name }) {
			return nil, fmt.Errorf("--policy: %q is there twice: its runs would pass for repetitions of one; name it once, and repeat by --seeds", a.name)
		}
		if err := a.check(); err != nil {
			return nil, err
		}
	}
	topo, err := o.topology()
	if err == nil {
		_, err = o.config(topo, o.arms[0], o.seed) // finds errors in the rest of the file
	}
	return topo, err
}

// check makes the policies once, to test that they can be made.
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

// armsOfFlags parses --policy, --param and --admission.
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
