package compare

import (
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// twoJobs runs two jobs of two queues on two nodes with one map slot each: four maps of
// 10 s at 0, and two of 5 s at 1 s, with a goal it must miss.
func twoJobs(t *testing.T, w *Watcher) *sim.Result {
	t.Helper()
	topo, err := topology.Uniform(1, 2, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	fifo, err := policies.Policy("fifo", nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Topology: topo, Capacity: scheduler.Capacity{MapSlots: 1, ReduceSlots: 1}, Policy: fifo, State: scheduler.DefaultConfig(), Model: sim.NewFixed()}
	if w != nil {
		w.Attach(&cfg)
	}
	res, err := sim.Run(cfg, []*sim.Job{
		{Spec: &scheduler.JobSpec{ID: 0, Queue: "a", Maps: 4}, Maps: []time.Duration{10 * time.Second}},
		{Spec: &scheduler.JobSpec{ID: 1, Queue: "b", Maps: 2, Submit: time.Second, Deadline: 12 * time.Second}, Maps: []time.Duration{5 * time.Second}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

func TestMeasure(t *testing.T) {
	m := Measure(twoJobs(t, nil), func(j *sim.JobResult) time.Duration { return j.Job.Alone(2) }, 2)
	near(t, "makespan", m.Makespan, 25, 0)
	near(t, "mean completion", m.Completion.Mean, (20+24)/2.0, 1e-9)
	near(t, "mean wait", m.Wait.Mean, (0+19)/2.0, 1e-9)
	near(t, "mean execution", m.Execution.Mean, (20+5)/2.0, 1e-9)
	near(t, "largest slowdown", m.Slowdown.Max, 24/5.0, 1e-9)
	near(t, "variability of slowdown", m.SlowdownV, m.Slowdown.P95/m.Slowdown.Median, 0)
	near(t, "largest response ratio", m.Response.Max, 24/5.0, 1e-9)
	near(t, "utilisation", m.Utilisation, 1, 1e-9)
	near(t, "throughput", m.Throughput, 2*3600/25.0, 1e-9)
	near(t, "concurrency", m.Concurrency, 1, 1e-9)
	near(t, "fairness of queues", m.QueueFairness, (1+4.8)*(1+4.8)/(2*(1+4.8*4.8)), 1e-9)
	if m.WithDeadline != 1 || m.Missed != 1 {
		t.Errorf("%d of %d deadlines missed, want 1 of 1", m.Missed, m.WithDeadline)
	}
}

// Jobs that were rejected count as such and in nothing else; deadlines are met or missed; maps ran near their data or not.
func TestMeasureCounts(t *testing.T) {
	job := func(user string, from, end, deadline int, failed bool, local [3]int) sim.JobResult {
		return sim.JobResult{
			Job:        &sim.Job{Spec: &scheduler.JobSpec{User: user, Queue: user, Deadline: time.Duration(deadline) * time.Second}},
			FirstStart: time.Duration(from) * time.Second, Finished: time.Duration(end) * time.Second, Failed: failed, Local: local,
		}
	}
	res := &sim.Result{
		Makespan: 100 * time.Second, Killed: 3, Busy: [3]time.Duration{40 * time.Second, 10 * time.Second, 99 * time.Second},
		Jobs: []sim.JobResult{
			job("a", 0, 50, 60, false, [3]int{3, 2, 0}), job("b", 10, 20, 20, false, [3]int{0, 1, 4}), job("b", 50, 50, 40, false, [3]int{}),
			job("c", 0, 90, 10, true, [3]int{9, 9, 9}), job("c", 0, 90, 0, true, [3]int{}),
		},
	}
	m := Measure(res, func(*sim.JobResult) time.Duration { return 10 * time.Second }, 2)
	if m.Jobs != 5 || m.Rejected != 2 || m.WithDeadline != 3 || m.Missed != 1 || m.Killed != 3 {
		t.Errorf("%d jobs, %d rejected, %d of %d deadlines missed, %d attempts stopped", m.Jobs, m.Rejected, m.Missed, m.WithDeadline, m.Killed)
	}
	near(t, "jobs an hour", m.Throughput, 3*36, 1e-9)
	near(t, "node-local maps", m.NodeLocal, 0.3, 1e-9)
	near(t, "rack-local maps", m.RackLocal, 0.3, 1e-9)
	near(t, "utilisation", m.Utilisation, 0.25, 1e-9)
	near(t, "concurrency", m.Concurrency, 0.6, 1e-9)
	near(t, "median slowdown", m.Slowdown.Median, 5, 1e-9)
	near(t, "variability of slowdown", m.SlowdownV, m.Slowdown.P95/m.Slowdown.Median, 0)
	near(t, "largest response ratio", m.Response.Max, 2, 1e-9) // the job that took no time has none
	near(t, "fairness of users", m.UserFairness, (5+3.5)*(5+3.5)/(2*(5*5+3.5*3.5)), 1e-9)
	if none := Measure(&sim.Result{}, nil, 0); none.Throughput != 0 || none.Utilisation != 0 || none.NodeLocal != 0 {
		t.Errorf("of no run: %+v", none)
	}
}

// The area of the chart is the time that tasks ran, and bars in a row do not overlap.
func TestWatcher(t *testing.T) {
	w := &Watcher{Keys: []string{"j0", "j1"}, Of: MapsOf(2), KeepSpans: true}
	res := twoJobs(t, w)
	a := w.Area("", res.Makespan)
	for k, want := range []float64{40, 10} {
		near(t, "task time of "+a.Series[k].Name, stats.Sum(a.Series[k].Values)*res.Makespan.Seconds()/periods, want, 1e-6)
	}
	if cut := w.Gantt("", 10*time.Second, 20*time.Second); len(cut.Spans) != 2 || cut.Spans[0].From != 10 || cut.Spans[1].To != 20 {
		t.Errorf("from 10 s to 20 s ran %+v", cut.Spans)
	}
	if cut := w.Gantt("", 5*time.Second, 12*time.Second); len(cut.Spans) != 4 || cut.Spans[0].From != 5 || cut.Spans[3].To != 12 {
		t.Errorf("from 5 s to 12 s ran %+v", cut.Spans)
	}
	still := &Watcher{Keys: []string{"map", "reduce"}, Of: ByKind}
	still.see(2*time.Second, sim.Attempt{}, true) // and never ends
	at, layers := still.series(8 * time.Second)
	near(t, "the time of a task that still runs", stats.Sum(layers[0].Values)*(at[1]-at[0]), 6, 1e-9)
	g := w.Gantt("", 0, res.Makespan)
	if len(g.Rows) != 2 || len(g.Spans) != 6 {
		t.Fatalf("%d rows and %d bars, want 2 and 6", len(g.Rows), len(g.Spans))
	}
	end := make([]float64, len(g.Rows))
	for _, s := range g.Spans {
		if s.From < end[s.Row] {
			t.Errorf("bar %q overlaps the one before it", s.Title)
		}
		end[s.Row] = s.To
	}
}
