package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/sim/compare"
)

// simResult is what scripts rely on: the first repetition of a policy.
type simResult struct {
	Jobs           int      `json:"jobs"`
	MeanCompletion *float64 `json:"mean_completion_s"`
	MedianSlowdown *float64 `json:"median_slowdown"`
	P95Slowdown    *float64 `json:"p95_slowdown"`
	Makespan       float64  `json:"makespan_s"`
	NodeLocal      float64  `json:"node_local"`
	Utilisation    float64  `json:"utilisation"`
	Events         int64    `json:"events"`
	Wall           float64  `json:"wall_s"`
	// All repetitions, in full.
	Metrics []compare.Metrics `json:"metrics"`
}

func resultsOf(runs []*simRun) map[string]*simResult {
	out := map[string]*simResult{}
	for _, r := range runs {
		m := r.Metrics
		if out[r.Policy] == nil {
			out[r.Policy] = &simResult{
				Jobs: m.Jobs, MeanCompletion: compare.Known(m.Completion.Mean), MedianSlowdown: compare.Known(m.Slowdown.Median), P95Slowdown: compare.Known(m.Slowdown.P95),
				Makespan: m.Makespan, NodeLocal: m.NodeLocal, Utilisation: m.Utilisation, Events: r.Events, Wall: r.wall.Seconds(),
			}
		}
		out[r.Policy].Metrics = append(out[r.Policy].Metrics, m)
	}
	return out
}

// printRuns prints a table of runs. Its columns are the metrics that a file asks for; nil means the usual ones.
func printRuns(w io.Writer, runs []*simRun, metrics []string) {
	head, row := []any{"policy", "jobs", "mean completion", "mean wait", "median slowdown", "95 % slowdown", "makespan", "node-local maps", "containers busy", "missed goals", "events", "took"}, runRow
	if metrics != nil {
		head, row = []any{"policy"}, chosenRow(metrics)
		for _, m := range metrics {
			head = append(head, m)
		}
	}
	t := newTable(w, head...)
	t.AppendRows(runRows(runs, row))
	t.Render()
	printTurnedAway(w, runs)
	fmt.Fprintln(w, "Slowdown is completion over the time the job would take alone.")
	printNetwork(w, runs)
	done := doneOf(runs)
	printPaired(w, compare.Paired(done))
	if hint := compare.Idle(done); hint != "" {
		fmt.Fprintln(w, hint)
	}
}

// known formats a figure, with "-" for an undefined one.
func known(format string, v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

func printTurnedAway(w io.Writer, runs []*simRun) {
	if text := compare.TurnedAway(doneOf(runs)); text != "" {
		fmt.Fprintln(w, text)
	}
}

func doneOf(runs []*simRun) (out []compare.Run) {
	for _, r := range runs {
		out = append(out, r.Run)
	}
	return out
}

// runRows returns a row for each run, and the mean of each policy with several runs.
func runRows(runs []*simRun, row func(name string, runs []*simRun) table.Row) (rows []table.Row) {
	for len(runs) > 0 {
		policy, n := runs[0].Policy, 1
		for n < len(runs) && runs[n].Policy == policy {
			n++
		}
		if n == 1 {
			rows = append(rows, row(policy, runs[:1]))
		} else {
			for i := range n {
				rows = append(rows, row(fmt.Sprintf("%s, %d of %d", policy, i+1, n), runs[i:i+1]))
			}
			rows = append(rows, row(policy+", mean", runs[:n]))
		}
		runs = runs[n:]
	}
	return rows
}

// chosenRow returns a function that makes a row of the metrics, each as in the report.
func chosenRow(metrics []string) func(name string, runs []*simRun) table.Row {
	return func(name string, runs []*simRun) table.Row {
		out := table.Row{name}
		for _, m := range metrics {
			out = append(out, compare.Metric(m, doneOf(runs)).Text())
		}
		return out
	}
}

// runRow returns a row of the table: means over runs.
func runRow(name string, runs []*simRun) table.Row {
	mean := func(of func(*simRun) float64) float64 {
		sum := 0.0
		for _, r := range runs {
			sum += of(r)
		}
		return sum / float64(len(runs))
	}
	cell := func(format string, of func(compare.Metrics) float64) string {
		return known(format, mean(func(r *simRun) float64 { return of(r.Metrics) }))
	}
	count := func(of func(compare.Metrics) int) string {
		f := mean(func(r *simRun) float64 { return float64(of(r.Metrics)) })
		return strconv.FormatFloat(math.Round(10*f)/10, 'f', -1, 64)
	}
	missed := count(func(m compare.Metrics) int { return m.Missed }) + " of " + count(func(m compare.Metrics) int { return m.WithDeadline })
	return table.Row{
		name, count(func(m compare.Metrics) int { return m.Jobs }),
		cell("%.1f s", func(m compare.Metrics) float64 { return m.Completion.Mean }), cell("%.1f s", func(m compare.Metrics) float64 { return m.Wait.Mean }),
		cell("%.2f", func(m compare.Metrics) float64 { return m.Slowdown.Median }), cell("%.2f", func(m compare.Metrics) float64 { return m.Slowdown.P95 }),
		cell("%.0f s", func(m compare.Metrics) float64 { return m.Makespan }), cell("%.1f %%", func(m compare.Metrics) float64 { return 100 * m.NodeLocal }),
		cell("%.1f %%", func(m compare.Metrics) float64 { return 100 * m.Utilisation }), missed,
		human.Count(int64(mean(func(r *simRun) float64 { return float64(r.Events) }))), fmt.Sprintf("%.2f s", mean(func(r *simRun) float64 { return r.wall.Seconds() })),
	}
}

// printPaired prints what the repetitions show about differences.
func printPaired(w io.Writer, p compare.Table) {
	if len(p.Rows) == 0 {
		return
	}
	fmt.Fprintln(w, p.Title+":")
	printTable(w, p)
}

// printTable prints the table of a report.
func printTable(w io.Writer, p compare.Table) {
	cells := func(row []string) (out []any) {
		for _, c := range row {
			out = append(out, c)
		}
		return out
	}
	t := newTable(w, cells(p.Head)...)
	for _, row := range p.Rows {
		t.AppendRow(cells(row))
	}
	t.Render()
}

// bar shows how many runs are done: a bar on a terminal, a line for each otherwise.
type bar struct {
	mu    sync.Mutex // guards count and the writer
	w     io.Writer
	drawn bool
	count int
	of    int
}

func newBar(cmd *cobra.Command, of int) *bar {
	b := &bar{w: cmd.ErrOrStderr(), of: of}
	if f, ok := b.w.(*os.File); ok {
		b.drawn = console.Auto.Choose(f) == console.Bar
	}
	return b
}

const barWidth = 30

func (b *bar) done(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	if !b.drawn {
		fmt.Fprintf(b.w, "%d of %d: %s\n", b.count, b.of, what)
		return
	}
	full := barWidth * b.count / b.of
	fmt.Fprintf(b.w, "\r[%s%s] %d of %d  %-40.40s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), b.count, b.of, what)
}

func (b *bar) end() {
	if b.drawn {
		fmt.Fprintln(b.w)
	}
}
