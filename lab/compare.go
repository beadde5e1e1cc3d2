package lab

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// A SimRun is one run of a workload under one policy, for a comparison.
type SimRun struct {
	Policy  string
	Seed    uint64
	Metrics Metrics
	Events  int64

	completion, slowdown, work []float64
	watch                      *Watcher
	end                        time.Duration
	topo                       *topology.Topology
}

// NewSimRun keeps what a report needs of a run. The watcher must have seen it, by kind of
// task; nil leaves charts over time out.
func NewSimRun(policy string, seed uint64, res *sim.Result, topo *topology.Topology, alone func(*sim.JobResult) time.Duration, slots int, w *Watcher) SimRun {
	r := SimRun{Policy: policy, Seed: seed, Metrics: Measure(res, alone, slots), Events: res.Events + res.Launches, watch: w, end: res.Makespan, topo: topo}
	for i := range res.Jobs {
		j := &res.Jobs[i]
		if j.Failed {
			continue
		}
		r.completion = append(r.completion, j.Completion().Seconds())
		r.slowdown = append(r.slowdown, j.Completion().Seconds()/max(alone(j), time.Millisecond).Seconds())
		r.work = append(r.work, j.Job.Spec.Work.Seconds())
	}
	return r
}

// WatchKinds returns a watcher for NewSimRun.
func WatchKinds() *Watcher {
	return &Watcher{Keys: []string{"map", "reduce"}, Of: byKind, KeepSpans: true}
}

// Compare makes a report of runs: policies in order of their first run, repetitions of
// each together.
func Compare(title, setup string, runs []SimRun) Report {
	r := Report{ID: "comparison", Title: title, Source: "millrace sim run", Setup: setup}
	names, by := grouped(runs)
	for _, n := range names {
		r.Seeds = max(r.Seeds, len(by[n]))
	}
	r.Read = "Slowdown is completion over the time that the job would take alone. In the distributions a curve further left is better. Single jobs and charts over time are those of the first repetition."
	r.Tables = []Table{metricsTable(names, by)}
	rec := &Recorder{report: r}
	compareCharts(rec, names, by)
	return rec.report
}

func grouped(runs []SimRun) (names []string, by map[string][]SimRun) {
	by = map[string][]SimRun{}
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
	{"room in use, %", func(m Metrics) float64 { return 100 * m.Utilisation }},
	{"jobs that run at once", func(m Metrics) float64 { return m.Concurrency }},
	{"deadlines missed", func(m Metrics) float64 { return float64(m.Missed) }},
	{"evenness over queues (Jain)", func(m Metrics) float64 { return m.QueueFairness }},
	{"evenness over users (Jain)", func(m Metrics) float64 { return m.UserFairness }},
	{"jobs rejected", func(m Metrics) float64 { return float64(m.Rejected) }},
	{"attempts stopped", func(m Metrics) float64 { return float64(m.Killed) }},
}

func metricsTable(names []string, by map[string][]SimRun) Table {
	t := Table{Head: append([]string{""}, names...)}
	for _, row := range metricRows {
		cells := []string{row.name}
		for _, n := range names {
			e := estimateOver(by[n], row.of)
			cell := number(e.Mean)
			if e.N > 1 {
				cell += fmt.Sprintf(" (%s to %s)", number(e.Low), number(e.High))
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func estimateOver(runs []SimRun, of func(Metrics) float64) Estimate {
	var x []float64
	for _, run := range runs {
		x = append(x, of(run.Metrics))
	}
	return NewEstimate(x)
}

// ganttRows and ganttSpans bound the Gantt charts of a comparison.
const (
	ganttRows  = 120
	ganttSpans = 20_000
)

func compareCharts(r *Recorder, names []string, by map[string][]SimRun) {
	completion := chart.CDF{Frame: chart.Frame{Title: "Completion time", X: chart.Axis{Label: "s", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	slowdown := chart.CDF{Frame: chart.Frame{Title: "Slowdown", X: chart.Axis{Label: "slowdown", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	scatter := chart.Scatter{Frame: chart.Frame{Title: "Slowdown against job size", X: chart.Axis{Label: "job size, task-seconds", Log: true}, Y: chart.Axis{Label: "slowdown", Log: true}}}
	bars := chart.Bars{Frame: chart.Frame{Title: "Mean completion, s", X: chart.Axis{Label: "s"}}}
	tails := chart.Bars{Frame: chart.Frame{Title: "95th percentile of slowdown", X: chart.Axis{Label: "slowdown"}}}
	for _, n := range names {
		first := by[n][0]
		completion.Samples = append(completion.Samples, chart.Sample{Name: n, Values: first.completion})
		slowdown.Samples = append(slowdown.Samples, chart.Sample{Name: n, Values: first.slowdown})
		scatter.Groups = append(scatter.Groups, chart.Series{Name: n, X: first.work, Y: first.slowdown})
		bars.Bars = append(bars.Bars, estimateOver(by[n], metricRows[0].of).bar(n, nan))
		tails.Bars = append(tails.Bars, estimateOver(by[n], metricRows[8].of).bar(n, nan))
	}
	r.figure("mean", "Means over repetitions with 95 % intervals.", bars)
	r.figure("tail", "Means over repetitions with 95 % intervals.", tails)
	r.figure("completion", "", completion)
	r.figure("slowdown", "", slowdown)
	r.figure("scatter", "A point is a job.", scatter)
	for _, n := range names {
		if first := by[n][0]; first.watch != nil {
			r.figure("tasks-"+safeName(n), "Running tasks over time.", first.watch.Area("Running tasks, "+n, first.end))
			drawSmall(r, n, first)
		}
	}
}

// drawSmall adds a Gantt chart where the cluster is small enough to show.
func drawSmall(r *Recorder, name string, run SimRun) {
	if run.topo.NumNodes() > ganttRows/2 || len(run.watch.spans) > ganttSpans {
		return
	}
	if g := run.watch.Gantt("Tasks by node, "+name, run.topo, 0, run.end); len(g.Rows) <= 4*ganttRows {
		r.figure("gantt-"+safeName(name), "", g)
	}
}

// safeName keeps what may stand in the name of a file.
func safeName(s string) string {
	out := []rune(s)
	for i, c := range out {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			out[i] = '-'
		}
	}
	return string(out)
}
