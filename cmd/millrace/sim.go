package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

func newSim() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sim run",
		Short:   "Compare scheduling policies on a workload in the simulator",
		Example: "  millrace sim run --trace gen:fb-2010:200 --policy fifo,fair,fbq --nodes 40 --racks 8",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("sim needs a verb: run")
			}
			return fmt.Errorf("unknown verb %q (known: run)", args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSimRun())
	return cmd
}

// simOptions are the flags of sim run.
type simOptions struct {
	trace      string
	policies   []string
	params     []string
	admission  string
	nodes      int
	racks      int
	containers int
	heartbeat  time.Duration
	scale      float64
	seed       uint64
	asJSON     bool
}

func newSimRun() *cobra.Command {
	var o simOptions
	cmd := &cobra.Command{
		Use: "run", Short: "Run one workload under several policies, side by side",
		Example: `  millrace sim run --trace gen:fb-2010:500 --policy fifo,fair,delay --nodes 40 --racks 8
  millrace sim run --trace FB-2010.tsv --scale 0.1 --policy fbq --param fbq.limits=4000 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.trace, "trace", "gen:fb-2010:200", "SWIM trace file, or gen:MODEL:JOBS for a generated one ("+strings.Join(modelNames(), ", ")+")")
	f.StringSliceVar(&o.policies, "policy", []string{"fifo", "fair"}, "policies to compare: "+strings.Join(policies.Names(scheduler.Assignment), ", "))
	f.StringArrayVar(&o.params, "param", nil, "parameter of a policy, POLICY.NAME=VALUE; may be given several times")
	f.StringVar(&o.admission, "admission", "", "admission policy (default: every job at once): "+strings.Join(policies.Names(scheduler.Admitting), ", "))
	f.IntVar(&o.nodes, "nodes", 40, "nodes of the cluster")
	f.IntVar(&o.racks, "racks", 8, "racks they stand in")
	f.IntVar(&o.containers, "containers", 6, "containers of a node")
	f.DurationVar(&o.heartbeat, "heartbeat", time.Second, "period in which nodes report (0: at once)")
	f.Float64Var(&o.scale, "scale", 1, "factor on all sizes of the trace")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the workload and of the run")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object")
	return cmd
}

// simResult is what scripts rely on.
type simResult struct {
	Jobs           int     `json:"jobs"`
	MeanCompletion float64 `json:"mean_completion_s"`
	MedianSlowdown float64 `json:"median_slowdown"`
	P95Slowdown    float64 `json:"p95_slowdown"`
	Makespan       float64 `json:"makespan_s"`
	NodeLocal      float64 `json:"node_local"`
	Utilisation    float64 `json:"utilisation"`
	Events         int64   `json:"events"`
	Wall           float64 `json:"wall_s"`
}

func (o *simOptions) run(cmd *cobra.Command) error {
	topo, params, err := o.check()
	if err != nil {
		return err
	}
	jobs, err := o.readJobs()
	if err != nil {
		return err
	}
	results, err := o.compare(cmd, topo, params, jobs)
	if err != nil {
		return failed(err)
	}
	if o.asJSON {
		return failed(json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"policies": results}))
	}
	o.print(cmd.OutOrStdout(), results)
	return nil
}

// check refuses what cannot be simulated before anything is read.
func (o *simOptions) check() (*topology.Topology, map[string]map[string]string, error) {
	if o.racks < 1 || o.nodes < o.racks || o.nodes%o.racks != 0 {
		return nil, nil, fmt.Errorf("--nodes is %d and --racks %d: racks must be of equal size and not empty", o.nodes, o.racks)
	}
	if o.containers < 1 || o.scale <= 0 || o.heartbeat < 0 {
		return nil, nil, errors.New("--containers and --scale must be above 0, --heartbeat not below")
	}
	params := map[string]map[string]string{}
	for _, p := range o.params {
		name, value, ok := strings.Cut(p, "=")
		policy, param, dotted := strings.Cut(name, ".")
		if !ok || !dotted {
			return nil, nil, fmt.Errorf("--param %q: write POLICY.NAME=VALUE", p)
		}
		if params[policy] == nil {
			params[policy] = map[string]string{}
		}
		params[policy][param] = value
	}
	for _, name := range o.policies {
		if _, err := policies.Policy(name, params[name]); err != nil {
			return nil, nil, err
		}
	}
	if o.admission != "" {
		if _, err := policies.Admission(o.admission, params[o.admission]); err != nil {
			return nil, nil, err
		}
	}
	topo, err := topology.Uniform(o.racks, o.nodes/o.racks, 0, 0)
	return topo, params, err
}

func (o *simOptions) readJobs() ([]trace.Job, error) {
	spec, generated := strings.CutPrefix(o.trace, "gen:")
	if !generated {
		jobs, err := readTrace(o.trace)
		return jobs, failed(err)
	}
	name, count, _ := strings.Cut(spec, ":")
	m, ok := trace.Models[name]
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > 10_000_000 {
		return nil, fmt.Errorf("--trace %q: write gen:MODEL:JOBS with a model of %s", o.trace, strings.Join(modelNames(), ", "))
	}
	return m.Generate(n, rand.New(rand.NewPCG(o.seed, 1))), nil
}

// compare runs the policies on all cores, each on a workload of its own that the seed
// makes the same.
func (o *simOptions) compare(cmd *cobra.Command, topo *topology.Topology, params map[string]map[string]string, jobs []trace.Job) (map[string]simResult, error) {
	results := make([]simResult, len(o.policies))
	g, _ := errgroup.WithContext(cmd.Context())
	g.SetLimit(runtime.GOMAXPROCS(0))
	var done atomic.Int32
	for i, name := range o.policies {
		g.Go(func() error {
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			r, err := o.simulate(topo, name, params, jobs)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			results[i] = r
			fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d: %s in %.2f s\n", done.Add(1), len(o.policies), name, r.Wall)
			return nil
		})
	}
	err := g.Wait()
	out := map[string]simResult{}
	for i, name := range o.policies {
		out[name] = results[i]
	}
	return out, err
}

func (o *simOptions) simulate(topo *topology.Topology, name string, params map[string]map[string]string, traced []trace.Job) (simResult, error) {
	policy, err := policies.Policy(name, params[name])
	if err != nil {
		return simResult{}, err
	}
	cfg := sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{Containers: int32(o.containers)}, Policy: policy,
		State: scheduler.DefaultConfig(), Model: sim.NewFixed(), Heartbeat: o.heartbeat, Seed: o.seed, BreakDeadlocks: true,
	}
	if o.admission != "" {
		if cfg.Admission, err = policies.Admission(o.admission, params[o.admission]); err != nil {
			return simResult{}, err
		}
	}
	w := sim.DefaultWorkload(topo, o.nodes*o.containers)
	w.Scale = o.scale
	jobs := sim.FromTrace(traced, w, rand.New(rand.NewPCG(o.seed, 2)))
	began := time.Now()
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return simResult{}, err
	}
	return o.summarise(res, time.Since(began)), nil
}

func (o *simOptions) summarise(res *sim.Result, wall time.Duration) simResult {
	out := simResult{Jobs: len(res.Jobs), Makespan: res.Makespan.Seconds(), Events: res.Events + res.Launches, Wall: wall.Seconds()}
	var slow []float64
	var local, maps int
	for i := range res.Jobs {
		j := &res.Jobs[i]
		out.MeanCompletion += j.Completion().Seconds() / float64(len(res.Jobs))
		alone := max(j.Job.Alone(o.nodes*o.containers), time.Millisecond)
		slow = append(slow, j.Completion().Seconds()/alone.Seconds())
		local += j.Local[scheduler.NodeLocal]
		maps += j.Local[0] + j.Local[1] + j.Local[2]
	}
	slices.Sort(slow)
	out.MedianSlowdown, out.P95Slowdown = slow[len(slow)/2], slow[len(slow)*95/100]
	out.NodeLocal = float64(local) / float64(max(1, maps))
	busy := res.Busy[scheduler.Map] + res.Busy[scheduler.Reduce]
	out.Utilisation = busy.Seconds() / (out.Makespan * float64(o.nodes*o.containers))
	return out
}

func (o *simOptions) print(w io.Writer, results map[string]simResult) {
	t := newTable(w, "policy", "jobs", "mean completion", "median slowdown", "95 % slowdown", "makespan", "node-local maps", "containers busy", "events", "took")
	for _, name := range o.policies {
		r := results[name]
		t.AppendRow(table.Row{
			name, r.Jobs, fmt.Sprintf("%.1f s", r.MeanCompletion), fmt.Sprintf("%.2f", r.MedianSlowdown), fmt.Sprintf("%.2f", r.P95Slowdown),
			fmt.Sprintf("%.0f s", r.Makespan), fmt.Sprintf("%.1f %%", 100*r.NodeLocal), fmt.Sprintf("%.1f %%", 100*r.Utilisation),
			console.Count(r.Events), fmt.Sprintf("%.2f s", r.Wall),
		})
	}
	t.Render()
	fmt.Fprintln(w, "Slowdown is completion over the time the job would take alone. No network is simulated: docs/simulator.md.")
}
