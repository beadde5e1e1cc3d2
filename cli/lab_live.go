package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab/live"
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
	simulated, measured := make([][]*live.Outcome, len(arms)), make([][]*live.Outcome, len(arms))
	for i := range arms {
		for range o.repeat {
			var costs live.Costs
			got, err := o.arm(ctx, l, &arms[i], &costs)
			if err != nil {
				return fmt.Errorf("%s: %w", arms[i].Name, err)
			}
			foretold, err := l.Simulate(&arms[i], costs.Overheads(), o.quick)
			if err != nil {
				return err
			}
			measured[i], simulated[i] = append(measured[i], got), append(simulated[i], foretold)
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

func (r *liveReport) print(w io.Writer, l *live.Laboratory) {
	fmt.Fprintf(w, "%s: %s (%s)\na job costs %s\n", r.ID, l.Title, l.Source, r.Overheads)
	t := newTable(w, "arm", "measure", "simulated", "live", "error")
	for _, row := range r.Rows {
		t.AppendRow(table.Row{row.Arm, row.Measure, stats.Text(row.Simulated) + " " + row.Unit, stats.Span(row.Live, row.Unit), offBy(row)})
	}
	t.Render()
	says := "the simulator does not foretell the cluster"
	if r.Agrees {
		says = "the simulator foretells the cluster"
	}
	fmt.Fprintf(w, "published: %s\n%s: the time of a job is off by %.1f %% in the median (at most 10), the order of the arms agrees to %.2f (at least 0.9; Kendall's tau)\n", r.Published, says, 100*r.MedianError, r.Tau)
}

// offBy is by how much the simulator is off; of nothing there is no part.
func offBy(row live.Row) string {
	measured := stats.Mean(row.Live)
	if measured == row.Simulated {
		return "0 %"
	}
	if measured == 0 {
		return ""
	}
	return fmt.Sprintf("%+.0f %%", 100*(row.Simulated/measured-1))
}
