package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// replayOptions say how a trace is submitted to a cluster.
type replayOptions struct {
	masterFlags
	scaleTime, scaleBytes float64
	jobs                  int
	workload, rates       string
	seed                  uint64
	asJSON                bool
}

func newTraceReplay() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use: "replay FILE|gen:MODEL:JOBS", Short: "Submit the jobs of a trace to a cluster at their times, as synthetic jobs that hold containers and move bytes",
		Example: "  millrace trace replay gen:fb-2010:100 --scale-time 0.01 --scale-bytes 0.001",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.define(cmd)
	f := cmd.Flags()
	f.Float64Var(&o.scaleTime, "scale-time", 1, "multiply the times between jobs and the lengths of tasks")
	f.Float64Var(&o.scaleBytes, "scale-bytes", 1, "multiply all sizes: fewer maps, less to shuffle")
	f.IntVar(&o.jobs, "jobs", 0, "the first so many jobs (0: all)")
	shapeFlag(f, &o.workload)
	ratesFlag(f, &o.rates)
	f.Uint64Var(&o.seed, "seed", 1, "seed of generated traces and of task lengths")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object")
	return cmd
}

func (o *replayOptions) check() error {
	if !(o.scaleTime > 0 && o.scaleTime <= 1000) || !(o.scaleBytes > 0 && o.scaleBytes <= 1000) {
		return fmt.Errorf("--scale-time %g, --scale-bytes %g: must be above 0 and at most 1000", o.scaleTime, o.scaleBytes)
	}
	if o.jobs < 0 {
		return fmt.Errorf("--jobs is %d, must not be negative", o.jobs)
	}
	return nil
}

func (o *replayOptions) run(cmd *cobra.Command, source string) error {
	if err := o.check(); err != nil {
		return err
	}
	w, err := (&simOptions{trace: source}).readSource()
	if err != nil {
		return err
	}
	return withClient(&o.masterFlags, func(cl *client.Client) error {
		nodes, err := cl.Nodes(cmd.Context())
		if err != nil {
			return err
		}
		r := newReplay(cl)
		if err := r.plan(o, w, nodes); err != nil {
			return err
		}
		if err := r.fits(cmd.Context(), o); err != nil {
			return err
		}
		if r.left > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "left out, %s: it has no maps, as one that ended before its plan\n", human.Many(int64(r.left), "job"))
		}
		fmt.Fprintln(cmd.ErrOrStderr(), r.ahead(o))
		return r.report(cmd, o, r.submit(cmd.Context()))
	})
}

// replay is a trace on its way through a cluster.
type replay struct {
	workflow
	dir   string               // of the outputs, in the block store
	specs []*scheduler.JobSpec // by job
	tasks int64                // of all jobs
	cost  replayCost
	left  int  // jobs without a map, which a cluster does not run
	reads bool // jobs with splits have input to read
}

func newReplay(cl *client.Client) *replay {
	return &replay{workflow: workflow{cl: cl}, dir: "/tmp/replay-" + strings.ToLower(rand.Text()[:8])}
}

// input returns where the input of a job is.
func (r *replay) input(i int) string { return fmt.Sprintf("%s/in-%d", r.dir, i) }

// plan makes the jobs.
func (r *replay) plan(o *replayOptions, w *workload, nodes []wire.NodeStatus) error {
	containers := 0
	for _, n := range nodes {
		containers += n.Capacity.Attempts()
	}
	topo, err := topology.Uniform(1, max(1, len(nodes)), 0, 0)
	if err != nil {
		return err
	}
	cfg := sim.DefaultWorkload(topo, containers)
	if cfg.Shape, err = parseShape(o.workload, max(1, len(nodes)), max(1, containers), o.scaleBytes); err != nil {
		return fmt.Errorf("--workload %w", err)
	}
	if cfg.Rates, err = parseRates(o.rates); err != nil {
		return fmt.Errorf("--rates %w", err)
	}
	list, err := w.make(cfg, o.seed, mostTasks)
	if err != nil {
		return err
	}
	if o.jobs > 0 {
		list = list[:min(o.jobs, len(list))]
	}
	all := len(list)
	list = slices.DeleteFunc(list, func(j *sim.Job) bool { return j.Spec.Maps == 0 })
	if r.left = all - len(list); len(list) == 0 {
		return fmt.Errorf("no job of the trace has a map: there is nothing to replay")
	}
	for i, j := range list {
		spec, err := r.job(o, i, j)
		if err != nil {
			return fmt.Errorf("job %d of the trace, %s: %w (a smaller --scale-bytes or --scale-time makes it smaller)", i+1, human.Printable(j.Spec.Name), err)
		}
		at := time.Duration(float64(j.Spec.Submit-list[0].Spec.Submit) * o.scaleTime)
		r.jobs, r.specs = append(r.jobs, dueJob{at: at, spec: spec}), append(r.specs, j.Spec)
		r.tasks += int64(j.Spec.Maps) + int64(j.Spec.Reduces)
	}
	return nil
}

// job returns a simulator's job as a synthetic one. Users of the trace become pools: a caller submits as one user.
func (r *replay) job(o *replayOptions, i int, j *sim.Job) (wire.JobSpec, error) {
	s := j.Spec
	length := func(all []time.Duration) string {
		x := make([]float64, len(all))
		for i, d := range all {
			x[i] = float64(d) * o.scaleTime
		}
		if len(x) == 0 {
			return "0s"
		}
		return min(time.Duration(stats.Mean(x)), 1000*time.Hour).String()
	}
	expected := int64(0)
	if s.Input.Known {
		expected = max(s.Input.Bytes, 1) // 0 would mean unknown
	}
	args := []string{
		"--maps", strconv.Itoa(int(s.Maps)), "--reduces", strconv.Itoa(int(s.Reduces)), "--map-time", length(j.Maps), "--reduce-time", length(j.Reduces),
		"--shuffle-bytes", strconv.FormatInt(s.Shuffle.Bytes, 10), "--output", fmt.Sprintf("dfs:%s/%d", r.dir, i),
		"--name", s.Name, "--pool", cmp.Or(s.Pool, s.User), "--expect-input", strconv.FormatInt(expected, 10),
		"--expect-shuffle", strconv.FormatInt(s.Shuffle.Bytes, 10), "--expect-map-time", s.MapTime.String(), "--expect-reduce-time", s.ReduceTime.String(),
		"--queue", s.Queue, "--recurring=" + strconv.FormatBool(s.Recurring),
	}
	if n := s.Splits.Len(); r.reads && n > 0 {
		args = append(args, "--input", "dfs:"+r.input(i), "--split-bytes", strconv.FormatInt(s.Splits.Bytes[0], 10))
	}
	if s.Deadline > 0 {
		args = append(args, "--deadline", time.Duration(float64(s.Deadline-s.Submit)*o.scaleTime).String())
	}
	stages, err := jobs.Parse("synthetic", args)
	if err != nil {
		return wire.JobSpec{}, err
	}
	return client.SpecOf(stages, wire.Program{Builtin: "synthetic", Args: args}, false), nil
}

// ahead describes what the cluster will have to do: bytes are really made, sorted, written and moved, and take longest.
func (r *replay) ahead(o *replayOptions) string {
	bytes := int64(0)
	for _, s := range r.specs {
		bytes += min(s.Shuffle.Bytes, math.MaxInt64-bytes)
	}
	return fmt.Sprintf("%s jobs with %s tasks; their maps will make %s, which is written, moved and read again (--scale-bytes %g; less is faster)",
		human.Count(int64(len(r.jobs))), human.Count(r.tasks), human.Bytes(bytes), o.scaleBytes)
}

// fits refuses a trace with a job that alone would fill half of the free space on the workers. What all jobs fill
// together cannot be known before: they write no output, and the map output of each is deleted when it ends. So it
// depends on how many run at once, which the policies decide.
func (r *replay) fits(ctx context.Context, o *replayOptions) error {
	nodes, err := r.cl.DFS().Nodes(ctx)
	if err != nil {
		return err
	}
	free := freeOf(nodes)
	for i, j := range r.jobs {
		if s := r.specs[i].Shuffle.Bytes; s > free/2 {
			return fmt.Errorf("job %d of the trace, %s, shuffles %s, and the workers have %s free: --scale-bytes %.1g would do", i+1,
				human.Printable(j.spec.Name), human.Bytes(s), human.Bytes(free), o.scaleBytes*float64(free)/2/float64(s)*0.9)
		}
	}
	return nil
}

// freeOf returns how much the workers may write. Workers of one machine whose disks are equally large count as sharing
// one.
func freeOf(nodes []wire.StoreNode) (free int64) {
	type disk struct {
		host  string
		total int64
	}
	seen := map[disk]bool{}
	for _, n := range nodes {
		host, _, _ := net.SplitHostPort(n.Addr) // "" counts as a host
		for _, v := range n.Volumes {
			if d := (disk{host, v.Total}); !seen[d] {
				seen[d] = true
				free += v.Free
			}
		}
	}
	return free
}

// lastReports is how long after the last job all workers have reported what it cost them.
const lastReports = time.Second

// submit submits every job at its time and waits for all. When interrupted, it kills what it has submitted.
func (r *replay) submit(ctx context.Context) (err error) {
	if r.cost, err = costOf(ctx, r.cl); err != nil {
		return err
	}
	err = r.run(ctx)
	return errors.Join(err, r.clean(ctx))
}

// clean ends what still runs, removes the outputs, and records what everything has cost.
func (r *replay) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	for i := range r.jobs {
		if j := &r.jobs[i]; j.id != "" && !j.ended {
			errs = append(errs, r.cl.Kill(ctx, j.id, "the replay was interrupted"))
		}
	}
	if err := r.cl.DFS().Remove(ctx, r.dir, true); err != nil && wire.KindOf(err) != wire.NotFound {
		errs = append(errs, err)
	}
	time.Sleep(lastReports)
	after, err := costOf(ctx, r.cl)
	r.cost = replayCost{after.master - r.cost.master, after.workers - r.cost.workers}
	return errors.Join(append(errs, err)...)
}

// replayCost is the processor time that daemons have used.
type replayCost struct{ master, workers time.Duration }

func costOf(ctx context.Context, cl *client.Client) (c replayCost, err error) {
	s, err1 := cl.SchedulerStatus(ctx)
	n, err2 := cl.Net(ctx)
	c.master = time.Duration(s.CPUMillis) * time.Millisecond
	for _, node := range n.Nodes {
		c.workers += time.Duration(node.CPUMillis) * time.Millisecond
	}
	return c, errors.Join(err1, err2)
}

// replayReport is what is printed.
type replayReport struct {
	Jobs      int     `json:"jobs"`
	Tasks     int64   `json:"tasks"`
	Seconds   float64 `json:"seconds"`
	Failed    int     `json:"failed"`
	Mean      float64 `json:"mean_s"`
	Median    float64 `json:"median_s"`
	P95       float64 `json:"p95_s"`
	Longest   float64 `json:"longest_s"`
	MasterMS  float64 `json:"master_ms_per_task"`
	WorkersMS float64 `json:"workers_ms_per_task"`
}

// report prints how the jobs fared.
func (r *replay) report(cmd *cobra.Command, o *replayOptions, err error) error {
	if err != nil {
		return err
	}
	out := replayReport{Jobs: len(r.jobs), Tasks: r.tasks, Seconds: r.took.Seconds()}
	times := make([]float64, 0, len(r.jobs))
	for i := range r.jobs {
		j := &r.jobs[i]
		times = append(times, j.seconds())
		if !j.succeeded() {
			out.Failed++
		}
	}
	sorted := stats.Sorted(times)
	out.Mean, out.Median, out.P95, out.Longest = stats.Mean(times), stats.Quantile(sorted, 0.5), stats.Quantile(sorted, 0.95), stats.Quantile(sorted, 1)
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(max(r.tasks, 1)) }
	out.MasterMS, out.WorkersMS = each(r.cost.master), each(r.cost.workers)
	err = answer(cmd, o.asJSON, &out, nil, printReplay)
	if err == nil && out.Failed > 0 {
		return failed(fmt.Errorf("%d of %d jobs did not succeed (millrace job ls)", out.Failed, out.Jobs))
	}
	return err
}

func printReplay(w io.Writer, o *replayReport) {
	fmt.Fprintf(w, "%s jobs with %s tasks in %.1f s, %d failed\n", human.Count(int64(o.Jobs)), human.Count(o.Tasks), o.Seconds, o.Failed)
	fmt.Fprintf(w, "from submission to end: mean %.2f s, median %.2f s, 95 %% within %.2f s, longest %.2f s\n", o.Mean, o.Median, o.P95, o.Longest)
	fmt.Fprintf(w, "processor time for each task: master %.2f ms, workers %.2f ms\n", o.MasterMS, o.WorkersMS)
}
