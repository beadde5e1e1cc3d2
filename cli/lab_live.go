package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/lab/live"
	"github.com/millrace/millrace/sim"
)

// liveLab runs laboratories on clusters that it starts.
type liveLab struct {
	live, quick, asJSON bool
	repeat              int
	arms                []string // only these; nil: all, of quick runs those that are quick
}

func (o *liveLab) define(f *pflag.FlagSet) {
	f.BoolVar(&o.live, "live", false, "run a live laboratory: on a cluster of processes that is started for it, beside the simulator (docs/lab/live.md)")
	f.IntVar(&o.repeat, "repeat", 1, "with --live: how often each arm is run on the cluster")
	f.StringSliceVar(&o.arms, "arms", nil, "with --live: compare only these")
}

// chosen are the arms that are run.
func (o *liveLab) chosen(l *live.Laboratory) (arms []live.Arm, err error) {
	known := []string{}
	for _, a := range l.Arms {
		if o.arms == nil && (a.Quick || !o.quick) || slices.Contains(o.arms, a.Name) {
			arms = append(arms, a)
		}
		known = append(known, a.Name)
	}
	for _, name := range o.arms {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no arm %q (there are %s)", name, strings.Join(known, ", "))
		}
	}
	return arms, nil
}

// listLive lists the live laboratories.
func listLive(w io.Writer) {
	t := newTable(w, "live laboratory (lab run --live)", "question", "source", "takes about")
	for _, l := range live.All {
		t.AppendRow(table.Row{l.ID, l.Title, l.Source, fmt.Sprintf("%d s", l.Seconds)})
	}
	t.Render()
}

func (o *liveLab) run(cmd *cobra.Command, ids []string) error {
	if o.repeat < 1 || o.repeat > 100 {
		return fmt.Errorf("--repeat is %d, must be in 1..100", o.repeat)
	}
	var list []*live.Laboratory
	for _, id := range ids {
		if id == "all" && len(ids) == 1 {
			list = live.All
			break
		}
		l, err := live.Find(id)
		if err != nil {
			return err
		}
		list = append(list, l)
	}
	for _, l := range list {
		if err := o.one(cmd, l); err != nil {
			return failed(fmt.Errorf("%s: %w", l.ID, err))
		}
	}
	return nil
}

// liveReport is what is printed of a laboratory.
type liveReport struct {
	ID        string         `json:"id"`
	Published string         `json:"published"`
	Repeat    int            `json:"repeat"`
	Overheads live.Overheads `json:"overheads_ns"`
	live.Verdict
}

// one runs a laboratory: each arm on a cluster of its own, and in the simulator with what jobs cost there beside their tasks.
func (o *liveLab) one(cmd *cobra.Command, l *live.Laboratory) error {
	ctx := cmd.Context()
	arms, err := o.chosen(l)
	if err != nil {
		return err
	}
	var all live.Costs
	simulated, measured := make([][][]float64, len(arms)), make([][][]float64, len(arms))
	for i := range arms {
		for range o.repeat {
			var costs live.Costs
			seconds, err := o.arm(ctx, l, &arms[i], &costs)
			if err != nil {
				return fmt.Errorf("%s: %w", arms[i].Name, err)
			}
			foretold, err := l.Simulate(&arms[i], costs.Overheads(), o.quick)
			if err != nil {
				return err
			}
			measured[i], simulated[i] = append(measured[i], seconds), append(simulated[i], foretold)
			all.Add(&costs)
		}
	}
	r := liveReport{l.ID, l.Published, o.repeat, all.Overheads(), l.Judge(arms, l.Jobs(o.quick), simulated, measured)}
	if o.asJSON {
		return printJSON(cmd, r)
	}
	r.print(cmd.OutOrStdout(), l)
	return nil
}

// onCluster runs fn on a cluster of an arm, which it starts and stops.
func onCluster(ctx context.Context, l *live.Laboratory, a *live.Arm, fn func(cl *client.Client) error) (err error) {
	dir, err := os.MkdirTemp("", "millrace-lab-")
	if err != nil {
		return err
	}
	up := &upOptions{
		workers: l.Workers, racks: 1, containers: l.Containers, timeout: time.Minute, given: func(string) bool { return true },
		policy: a.Policy.Name, params: setParams(a.Policy.Params), admission: a.Admission.Name, admitting: setParams(a.Admission.Params),
	}
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil {
		return err
	}
	c, err := up.start(ctx, dir)
	defer func() {
		err = errors.Join(err, stopCluster(dir, c, 10*time.Second), os.RemoveAll(dir))
	}()
	if err != nil {
		return err
	}
	cl, err := client.New(client.Config{Master: c.Master})
	if err != nil {
		return err
	}
	return errors.Join(fn(cl), cl.Close())
}

// setParams writes parameters as flags take them.
func setParams(params map[string]string) (out []string) {
	for k, v := range params {
		out = append(out, k+"="+v)
	}
	return out
}

// submitLab hands in jobs as trace replay does.
func submitLab(ctx context.Context, cl *client.Client, list []*sim.Job) (*replay, error) {
	r, o := newReplay(cl), &replayOptions{scaleTime: 1, scaleBytes: 1}
	for i, j := range list {
		spec, err := r.job(o, i, j)
		if err != nil {
			return nil, err
		}
		r.jobs = append(r.jobs, dueJob{at: j.Spec.Submit, spec: spec})
	}
	if err := r.submit(ctx); err != nil {
		return nil, err
	}
	for i := range r.jobs {
		if j := &r.jobs[i]; !j.succeeded() {
			return nil, fmt.Errorf("%s %s: %s", j.id, j.status.State, j.status.Error)
		}
	}
	return r, nil
}

// arm is how many seconds each job takes on a cluster. It adds what they cost.
func (o *liveLab) arm(ctx context.Context, l *live.Laboratory, a *live.Arm, costs *live.Costs) (seconds []float64, err error) {
	err = onCluster(ctx, l, a, func(cl *client.Client) error {
		list := l.Jobs(o.quick)
		r, err := submitLab(ctx, cl, list)
		if err != nil {
			return err
		}
		for i := range r.jobs {
			seconds = append(seconds, r.jobs[i].seconds())
			costs.At = append(costs.At, time.Duration(r.jobs[i].status.Submitted-r.jobs[0].status.Submitted)*time.Millisecond)
			if err := costsOf(ctx, cl, r.jobs[i].status, list[i], costs); err != nil {
				return err
			}
		}
		return nil
	})
	return seconds, err
}

// costsOf reads off the history of a job what it has cost, and how long its tasks took.
func costsOf(ctx context.Context, cl *client.Client, s wire.JobStatus, j *sim.Job, costs *live.Costs) error {
	type key struct {
		kind  wire.TaskKind
		index int32
	}
	begun, done := map[key]int64{}, map[key]int64{}
	driver, submitted, ended := int64(0), s.Submitted*int64(time.Millisecond), s.Ended*int64(time.Millisecond)
	last := map[wire.TaskKind]int64{}
	err := cl.Events(ctx, s.Job, func(e *wire.PastEvent) {
		switch k := (key{e.Task, e.Index}); {
		case e.Kind == wire.PastLaunched && e.Task == wire.DriverTask:
			driver = e.At
			costs.Submit = append(costs.Submit, float64(max(0, e.At-submitted)))
		case e.Kind == wire.PastPlanned:
			costs.Start = append(costs.Start, float64(e.At-driver))
		case e.Kind == wire.PastLaunched:
			begun[k] = e.At
		case e.Kind == wire.PastDone && e.Task != wire.DriverTask:
			done[k], last[e.Task] = e.At, max(last[e.Task], e.At)
		}
	})
	maps, reduces := slices.Clone(j.Maps), slices.Clone(j.Reduces)
	for k, at := range done {
		if k.kind == wire.MapTask {
			maps[k.index] = time.Duration(at - begun[k])
			costs.Task = append(costs.Task, float64(maps[k.index]-j.Maps[k.index]))
		} else {
			reduces[k.index] = time.Duration(at - max(begun[k], last[wire.MapTask]))
		}
	}
	costs.Maps, costs.Reduces = append(costs.Maps, maps), append(costs.Reduces, reduces)
	costs.End = append(costs.End, float64(max(0, ended-max(last[wire.MapTask], last[wire.ReduceTask]))))
	return err
}

func (r *liveReport) print(w io.Writer, l *live.Laboratory) {
	fmt.Fprintf(w, "%s: %s (%s)\na job costs %s\n", r.ID, l.Title, l.Source, r.Overheads)
	t := newTable(w, "arm", "measure", "simulated", "live", "error")
	for _, row := range r.Rows {
		t.AppendRow(table.Row{row.Arm, row.Measure, stats.Text(row.Simulated) + " " + row.Unit, stats.Span(row.Live, row.Unit), fmt.Sprintf("%+.0f %%", 100*(row.Simulated/stats.Mean(row.Live)-1))})
	}
	t.Render()
	says := "the simulator does not foretell the cluster"
	if r.Agrees {
		says = "the simulator foretells the cluster"
	}
	fmt.Fprintf(w, "published: %s\n%s: the time of a job is off by %.1f %% in the median (at most 10), the order of the arms agrees to %.2f (at least 0.9; Kendall's tau)\n", r.Published, says, 100*r.MedianError, r.Tau)
}
