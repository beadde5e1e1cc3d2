// Package compare compares runs of a workload: what papers report of a run ([Measure]), what ran when ([Watcher]), the
// table and charts of several runs ([Beside]), runs as histories and histories as workloads ([History], [Replay]), what
// other policies would have done with a history ([NewPast]), and the rows of a Gantt chart ([Lanes]).
package compare

import (
	"cmp"
	"math"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// A Run is one run of a workload under one policy.
type Run struct {
	Policy  string
	Seed    uint64
	Metrics Metrics
	Events  int64

	completion, slowdown, work []float64
	watch                      *Watcher
	end                        time.Duration
	topo                       *topology.Topology
}

// NewRun keeps what a comparison needs of a run. The watcher must have seen the run, by kind of task; nil leaves out
// charts over time.
func NewRun(policy string, seed uint64, res *sim.Result, topo *topology.Topology, slots int, w *Watcher) Run {
	alone := func(j *sim.JobResult) time.Duration { return j.Job.Alone(slots) }
	r := Run{Policy: policy, Seed: seed, Metrics: Measure(res, alone, slots), Events: res.Events + res.Launches, watch: w, end: res.Makespan, topo: topo}
	for i := range res.Jobs {
		j := &res.Jobs[i]
		if j.Failed {
			continue
		}
		r.completion = append(r.completion, j.Completion().Seconds())
		r.slowdown = append(r.slowdown, j.Completion().Seconds()/max(alone(j), time.Millisecond).Seconds())
		r.work = append(r.work, cmp.Or(j.Job.Spec.Work, j.Job.Work()).Seconds()) // the policies may not know it
	}
	return r
}

// A Table is data as text.
type Table struct {
	Title string     `json:"title,omitempty"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
}

// A Figure is a chart, named after what it shows. The caption says what to see in it.
type Figure struct {
	Name    string      `json:"name"`
	Caption string      `json:"caption,omitempty"`
	Chart   chart.Chart `json:"-"`
}

// Beside compares runs: policies in order of their first run, with the repetitions of each together.
func Beside(runs []Run) (Table, []Figure) {
	names, by := grouped(runs)
	return metricsTable(names, by), charts(names, by)
}

// Repetitions returns the largest number of runs of one policy.
func Repetitions(runs []Run) (most int) {
	_, by := grouped(runs)
	for _, of := range by {
		most = max(most, len(of))
	}
	return most
}

func grouped(runs []Run) (names []string, by map[string][]Run) {
	by = map[string][]Run{}
	for _, run := range runs {
		if by[run.Policy] == nil {
			names = append(names, run.Policy)
		}
		by[run.Policy] = append(by[run.Policy], run)
	}
	return names, by
}

// metricRows are the rows of the table.
var metricRows = []struct {
	name string
	of   func(Metrics) float64
}{
	{"mean completion, s", func(m Metrics) float64 { return m.Completion.Mean }},
	{"median completion, s", func(m Metrics) float64 { return m.Completion.Median }},
	{"95th percentile of completion, s", func(m Metrics) float64 { return m.Completion.P95 }},
	{"mean wait, s", func(m Metrics) float64 { return m.Wait.Mean }},
	{"mean execution, s", func(m Metrics) float64 { return m.Execution.Mean }},
	{"mean response ratio", func(m Metrics) float64 { return m.Response.Mean }},
	{"mean slowdown", func(m Metrics) float64 { return m.Slowdown.Mean }},
	{"median slowdown", func(m Metrics) float64 { return m.Slowdown.Median }},
	{"95th percentile of slowdown", func(m Metrics) float64 { return m.Slowdown.P95 }},
	{"variability of slowdown, V(95)", func(m Metrics) float64 { return m.SlowdownV }},
	{"makespan, s", func(m Metrics) float64 { return m.Makespan }},
	{"jobs an hour", func(m Metrics) float64 { return m.Throughput }},
	{"node-local maps, %", func(m Metrics) float64 { return 100 * m.NodeLocal }},
	{"rack-local maps, %", func(m Metrics) float64 { return 100 * m.RackLocal }},
	{"capacity in use, %", func(m Metrics) float64 { return 100 * m.Utilisation }},
	{"jobs that run at once", func(m Metrics) float64 { return m.Concurrency }},
	{"deadlines missed", func(m Metrics) float64 { return float64(m.Missed) }},
	{"evenness over queues (Jain)", func(m Metrics) float64 { return m.QueueFairness }},
	{"evenness over users (Jain)", func(m Metrics) float64 { return m.UserFairness }},
	{"jobs rejected", func(m Metrics) float64 { return float64(m.Rejected) }},
	{"attempts stopped", func(m Metrics) float64 { return float64(m.Killed) }},
}

// MetricNames returns the names of the rows of the table.
func MetricNames() (out []string) {
	for _, row := range metricRows {
		out = append(out, row.name)
	}
	return out
}

// Metric estimates the row of the table with this name over runs.
func Metric(name string, runs []Run) stats.Estimate { return estimateOver(runs, metricOf(name)) }

func metricOf(name string) func(Metrics) float64 {
	for _, row := range metricRows {
		if row.name == name {
			return row.of
		}
	}
	return func(Metrics) float64 { return 0 }
}

// ChartNames are the charts of a comparison. There is one of tasks and gantt for each policy, whose name follows after
// a dash.
var ChartNames = []string{"mean", "tail", "completion", "slowdown", "scatter", "tasks", "gantt"}

func metricsTable(names []string, by map[string][]Run) Table {
	t := Table{Head: append([]string{""}, names...)}
	for _, row := range metricRows {
		cells := []string{row.name}
		for _, n := range names {
			cells = append(cells, estimateOver(by[n], row.of).Text())
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func estimateOver(runs []Run, of func(Metrics) float64) stats.Estimate {
	var x []float64
	for _, run := range runs {
		x = append(x, of(run.Metrics))
	}
	return stats.NewEstimate(x)
}

// ganttRows and ganttSpans bound the Gantt charts of a comparison.
const (
	ganttRows  = 120
	ganttSpans = 20_000
)

func charts(names []string, by map[string][]Run) []Figure {
	completion := chart.CDF{Frame: chart.Frame{Title: "Completion time", X: chart.Axis{Label: "s", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	slowdown := chart.CDF{Frame: chart.Frame{Title: "Slowdown", X: chart.Axis{Label: "slowdown", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	scatter := chart.Scatter{Frame: chart.Frame{Title: "Slowdown against job size", X: chart.Axis{Label: "job size, task-seconds", Log: true}, Y: chart.Axis{Label: "slowdown", Log: true}}}
	bars := chart.Bars{Frame: chart.Frame{Title: "Mean completion, s", X: chart.Axis{Label: "s"}}}
	tails := chart.Bars{Frame: chart.Frame{Title: "95th percentile of slowdown", X: chart.Axis{Label: "slowdown"}}}
	var over []Figure // time
	for _, n := range names {
		first := by[n][0]
		completion.Samples = append(completion.Samples, chart.Sample{Name: n, Values: first.completion})
		slowdown.Samples = append(slowdown.Samples, chart.Sample{Name: n, Values: first.slowdown})
		scatter.Groups = append(scatter.Groups, chart.Series{Name: n, X: first.work, Y: first.slowdown})
		bars.Bars = append(bars.Bars, estimateOver(by[n], metricRows[0].of).Bar(n, math.NaN()))
		tails.Bars = append(tails.Bars, estimateOver(by[n], metricRows[8].of).Bar(n, math.NaN()))
		over = append(over, first.overTime()...)
	}
	return append([]Figure{
		{"mean", "Means over repetitions with 95 % intervals.", bars},
		{"tail", "Means over repetitions with 95 % intervals.", tails},
		{"completion", "", completion},
		{"slowdown", "", slowdown},
		{"scatter", "A point is a job.", scatter},
	}, over...)
}

// overTime draws what was watched: a Gantt chart only if the cluster is small enough for one.
func (r Run) overTime() []Figure {
	if r.watch == nil {
		return nil
	}
	out := []Figure{{"tasks-" + safeName(r.Policy), "Running tasks over time.", r.watch.Area("Running tasks, "+r.Policy, r.end)}}
	if r.topo.NumNodes() > ganttRows/2 || len(r.watch.Ran) > ganttSpans {
		return out
	}
	if g := r.watch.Gantt("Tasks by node, "+r.Policy, 0, r.end); len(g.Rows) <= 4*ganttRows {
		out = append(out, Figure{"gantt-" + safeName(r.Policy), "", g})
	}
	return out
}

// safeName keeps the characters that may appear in the name of a file.
func safeName(s string) string {
	out := []rune(s)
	for i, c := range out {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			out[i] = '-'
		}
	}
	return string(out)
}
