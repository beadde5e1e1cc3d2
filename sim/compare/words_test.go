package compare

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// TestVerdicts: a policy whose interval lies below the first's is better, above worse, else nothing is shown; there is nothing to compare
// with one policy, or one seed.
func TestVerdicts(t *testing.T) {
	run := func(policy string, seed uint64, mean float64) Run {
		return Run{Policy: policy, Seed: seed, Metrics: Metrics{Completion: Summary{Mean: mean}}}
	}
	runs := []Run{
		run("a", 1, 100), run("a", 2, 200), run("a", 3, 300), run("less", 1, 89), run("less", 2, 190), run("less", 3, 291),
		run("more", 1, 111), run("more", 2, 210), run("more", 3, 309), run("same", 1, 110), run("same", 2, 190), run("same", 3, 300),
	}
	table := Paired(runs)
	if len(table.Rows) != len(pairedRows) || strings.Join(table.Head, ",") != ",less,more,same" || !strings.HasPrefix(table.Title, "Difference from a, ") {
		t.Fatalf("%+v", table)
	}
	for i, want := range []string{"better", "worse", "no difference shown"} {
		cell := table.Rows[0][i+1]
		if !strings.HasSuffix(cell, "): "+want) || strings.HasPrefix(cell, "-") != (want == "better") || strings.HasPrefix(cell, "+") != (want == "worse") {
			t.Errorf("%s, want %s", cell, want)
		}
	}
	for what, some := range map[string][]Run{"one policy": runs[:3], "one seed": {runs[0], runs[3]}, "none": nil} {
		if got := Paired(some); len(got.Rows) != 0 {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestTurnedAway: policies that turned jobs away are named, each with how many of how many, over all its runs.
func TestTurnedAway(t *testing.T) {
	run := func(policy string, jobs, away int) Run {
		return Run{Policy: policy, Metrics: Metrics{Jobs: jobs, Rejected: away}}
	}
	const of = " jobs away: its figures are of the others, and do not compare."
	for want, runs := range map[string][]Run{
		"":                      {run("a", 10, 0), run("b", 10, 0)},
		"b turned 3 of 20" + of: {run("a", 10, 0), run("b", 10, 1), run("b", 10, 2)},
		"a turned 1 of 10" + of + "\nb turned 10 of 10" + of: {run("a", 10, 1), run("b", 10, 10), run("c", 10, 0)},
	} {
		if got := TurnedAway(runs); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestUnknownFigures: what nobody knows is null in JSON, and what is known is a number.
func TestUnknownFigures(t *testing.T) {
	nan := math.NaN()
	b, err := json.Marshal(Metrics{Jobs: 3, Completion: Summary{nan, 2, nan, 4, nan}, SlowdownV: nan, QueueFairness: 0.5, UserFairness: nan})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"mean":null,"median":2,"p95":null,"p99":4,"max":null`, `"slowdown_v95":null`, `"queue_fairness":0.5`, `"user_fairness":null`, `"jobs":3`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
	if got := Known(0); got == nil || *got != 0 {
		t.Error("0 is known")
	}
}

// TestMetricsByName: each row of the table can be asked for by its name; a name of none is nothing.
func TestMetricsByName(t *testing.T) {
	runs := []Run{{Metrics: Metrics{Makespan: 3}}, {Metrics: Metrics{Makespan: 5}}}
	if got := Metric("makespan, s", runs); got.Mean != 4 || got.N != 2 {
		t.Errorf("%+v", got)
	}
	if got := Metric("colour", runs); got.Mean != 0 {
		t.Errorf("%+v", got)
	}
	for _, name := range append([]string{"makespan, s"}, pairedRows...) {
		found := false
		for _, known := range MetricNames() {
			found = found || known == name
		}
		if !found {
			t.Errorf("%s is in no row", name)
		}
	}
}

// TestWatchedTasks: attempts are keyed by kind, by job, or maps by job; what has no key is not drawn. Lines and areas draw the same.
func TestWatchedTasks(t *testing.T) {
	at := func(k scheduler.Kind, job scheduler.JobID) sim.Attempt {
		return sim.Attempt{Task: scheduler.TaskID{Job: job, Kind: k}}
	}
	for _, tt := range []struct {
		a                   sim.Attempt
		kind, tasks, mapsOf int
	}{
		{at(scheduler.Map, 0), 0, 0, 0},
		{at(scheduler.Map, 1), 0, 1, 1},
		{at(scheduler.Reduce, 1), 1, 1, -1},
		{at(scheduler.Driver, 1), -1, 1, -1},
		{at(scheduler.Map, 2), 0, -1, -1},
		{at(scheduler.Reduce, 2), 1, -1, -1},
	} {
		if got := [...]int{ByKind(tt.a), TasksOf(2)(tt.a), MapsOf(2)(tt.a)}; got != [...]int{tt.kind, tt.tasks, tt.mapsOf} {
			t.Errorf("%+v: %v", tt.a.Task, got)
		}
	}
	w := &Watcher{Keys: []string{"maps", "reduces"}, changes: []change{{0, 0, 2}, {5 * time.Second, 0, -1}, {5 * time.Second, 1, 1}, {10 * time.Second, 0, -1}, {10 * time.Second, 1, -1}}}
	area, lines := w.Area("t", 10*time.Second), w.Lines("t", 10*time.Second)
	if len(area.Series) != 2 || len(lines.Series) != 2 || !lines.Steps || lines.Title != "t" || lines.X.Label != area.X.Label || lines.Y.Label != area.Y.Label {
		t.Fatalf("%+v", lines.Frame)
	}
	for k, s := range lines.Series {
		if s.Name != w.Keys[k] || len(s.X) != periods || len(s.Y) != periods {
			t.Fatalf("%s: %d and %d points", s.Name, len(s.X), len(s.Y))
		}
		for i, y := range s.Y {
			want := [2][2]float64{{2, 0}, {1, 1}}[2*i/periods][k]
			if math.Abs(y-want) > 1e-9 || area.Series[k].Values[i] != y {
				t.Fatalf("%s at %g s: %g and %g run, want %g", s.Name, s.X[i], y, area.Series[k].Values[i], want)
			}
		}
	}
}
