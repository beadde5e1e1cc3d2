package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim/compare"
)

// report prints and writes the results of the replays.
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
	all := []compare.Run{was}
	for _, r := range runs {
		all = append(all, r.Run)
	}
	page := lab.Page{Title: "millrace whatif", Reports: []lab.Report{lab.Compared("What other policies would have done", o.setup()+" "+missText(o.arms[0].name, miss), all)}}
	if err := lab.WriteFiles(o.out, page); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "report: %s\n", human.Printable(filepath.Join(o.out, "report.html")))
	return nil
}

func (o *whatIf) setup() string {
	at := o.history.Origin
	text := fmt.Sprintf("%s of %s, which ran under %s on %s in %s with room for %s.", human.Many(int64(len(o.past.Real.Jobs)), "job"), o.file, o.arms[0].name, human.Many(int64(at.Nodes), "node"), human.Many(int64(at.Racks), "rack"), human.Many(int64(at.Room), "task"))
	if o.past.LeftOut > 0 {
		text += fmt.Sprintf(" %d more are left out: they failed, or not all of their attempts are known.", o.past.LeftOut)
	}
	return text
}

func missText(name string, m compare.Miss) string {
	return fmt.Sprintf("The replay of %s misses the real mean completion by %+.1f %%, the makespan by %+.1f %%, and a single job by %.1f %% (median; one in ten by more than %.1f %%): smaller differences between policies mean nothing.",
		name, 100*m.Completion, 100*m.Makespan, 100*m.Typical, 100*m.Bad)
}

func (o *whatIf) print(w io.Writer, was compare.Run, runs []*simRun, miss compare.Miss) {
	fmt.Fprintln(w, o.setup())
	t := newTable(w, "policy", "mean completion", "against the replay", "mean wait", "median slowdown", "95 % slowdown", "makespan", "missed goals")
	row := func(name string, m compare.Metrics, change string) {
		t.AppendRow(table.Row{
			name, known("%.2f s", m.Completion.Mean), change, known("%.2f s", m.Wait.Mean), known("%.2f", m.Slowdown.Median), known("%.2f", m.Slowdown.P95),
			fmt.Sprintf("%.1f s", m.Makespan), fmt.Sprintf("%d of %d", m.Missed, m.WithDeadline),
		})
	}
	row("as it was", was.Metrics, "")
	for i, r := range runs {
		change := ""
		if i > 0 {
			change = known("%+.1f %%", 100*changeOf(runs[0], r))
		}
		row(r.Policy, r.Metrics, change)
	}
	t.Render()
	for _, name := range slices.Sorted(maps.Keys(o.unable)) {
		fmt.Fprintln(w, "not in the table:", o.unable[name])
	}
	printTurnedAway(w, runs)
	fmt.Fprintln(w, missText(o.arms[0].name, miss))
	fmt.Fprintln(w, "Slowdown is completion over the time the job would take alone.")
}

// changeOf returns the relative change of mean completion against the replay of what ran; NaN if either policy rejected
// jobs.
func changeOf(replayed, r *simRun) float64 {
	if replayed.Metrics.Rejected+r.Metrics.Rejected > 0 {
		return math.NaN()
	}
	return r.Metrics.Completion.Mean/max(replayed.Metrics.Completion.Mean, 1e-9) - 1
}

func (o *whatIf) printJSON(w io.Writer, was compare.Run, runs []*simRun, miss compare.Miss) error {
	type tried struct {
		Change  *float64        `json:"change"` // of mean completion, against the replay
		Metrics compare.Metrics `json:"metrics"`
	}
	out := struct {
		Ran      string           `json:"ran"`
		Jobs     int              `json:"jobs"`
		LeftOut  int              `json:"left_out"`
		Real     compare.Metrics  `json:"real"`
		Replayed compare.Metrics  `json:"replayed"`
		Error    compare.Miss     `json:"error"`
		Policies map[string]tried `json:"policies"`
		// Unable are the policies under which these jobs do not end, and why.
		Unable map[string]string `json:"unable,omitempty"`
	}{o.arms[0].name, len(o.past.Real.Jobs), o.past.LeftOut, was.Metrics, runs[0].Metrics, miss, map[string]tried{}, map[string]string{}}
	for name, err := range o.unable {
		out.Unable[name] = err.Error()
	}
	for _, r := range runs[1:] {
		out.Policies[r.arm.name] = tried{compare.Known(changeOf(runs[0], r)), r.Metrics}
	}
	return json.NewEncoder(w).Encode(out)
}
