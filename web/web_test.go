package web

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/wire"
)

// TestTimes: an age is in seconds at first, then in tens of them; what has ended says how long it took.
func TestTimes(t *testing.T) {
	for at, want := range map[int64]string{999: "0s", 59_999: "59s", 60_000: "1m0s", 69_999: "1m0s", 70_000: "1m10s", -5: "0s"} {
		if got := age(1000+at, 1000); got != want {
			t.Errorf("%d ms ago is %q, want %q", at, got, want)
		}
	}
	var d jobData
	for a, want := range map[wire.PastAttempt]string{{Begin: 2e9}: "runs", {Begin: 2e9, End: 5e9}: "3.00s"} {
		if got := d.Took(a); got != want {
			t.Errorf("%d to %d took %q, want %q", a.Begin, a.End, got, want)
		}
	}
}

// TestLanes: attempts of a node that overlap lie beside each other, others behind each other.
func TestLanes(t *testing.T) {
	at := func(node string, from, to int64) attempt {
		return attempt{PastAttempt: wire.PastAttempt{Node: wire.NodeName(node), Begin: from, End: to}}
	}
	list := []attempt{at("b", 0, 5), at("a", 0, 10), at("a", 3, 8), at("a", 8, 9), at("a", 10, 0), at("b", 5, 6)}
	names, rows, cut := lanesOf(list, 20)
	if d := cmp.Diff([]string{"a", "a · 2", "b"}, names); d != "" || cut {
		t.Error(d)
	}
	if d := cmp.Diff([]int{0, 1, 1, 0, 2, 2}, rows); d != "" {
		t.Error(d)
	}
	var many []attempt
	for i := range int64(maxLanes + 5) {
		many = append(many, at("a", 0, 100+i))
	}
	if names, _, cut := lanesOf(many, 0); len(names) != maxLanes || !cut {
		t.Errorf("%d lanes, cut %v", len(names), cut)
	}
}

// TestApply: an attempt is what its events say, in whatever order a restart of the master has left them.
func TestApply(t *testing.T) {
	by := map[uint64]*attempt{}
	for _, e := range []wire.PastEvent{
		{At: 1, Kind: wire.PastSubmitted}, // of the job
		{At: 5e9, Kind: wire.PastLaunched, Task: wire.MapTask, Index: 3, Try: 7, Node: "a", Locality: "rack", Number: 1, Second: true},
		{At: 9e9, Kind: wire.PastFailed, Task: wire.MapTask, Index: 3, Try: 7, Text: "bad day"},
		{At: 8e9, Kind: wire.PastDone, Task: wire.ReduceTask, Try: 8, Node: "b", Millis: 2000}, // its start was not written
	} {
		apply(by, &e)
	}
	if a := by[7]; len(by) != 2 || a.Begin != 5e9 || a.End != 9e9 || colour(a.PastAttempt) != lostBar ||
		a.title(0, 4) != "map 3 on a, 0.00 s to 4.00 s (4.00 s), try 2, a second attempt beside a slow one, failed bad day" {
		t.Errorf("%+v %s", by[7], by[7].title(0, 4))
	}
	if a := by[8]; a.Begin != 6e9 || a.End != 8e9 || a.Node != "b" || colour(a.PastAttempt) != reduceBar {
		t.Errorf("%+v", a)
	}
}

// TestSteps and addresses of files with names that mean something to a browser.
func TestSteps(t *testing.T) {
	if d := cmp.Diff([]step{{"/", "/"}, {"a", "/a"}, {"b", "/a/b"}}, stepsOf("/a/b")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]step{{"/", "/"}}, stepsOf("/")); d != "" {
		t.Error(d)
	}
	for path, want := range map[string]string{"/": "/files/", "dfs:/out": "/files/out", "/a?b#c%d": "/files/a%3Fb%23c%25d", "//evil.example/x": "/files/evil.example/x"} {
		if got := string(filesURL(path)); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
}

// TestLoadChart: a queue's line holds its own values at its own times, also where it had nothing at first; nobody's idle is a line of its own.
func TestLoadChart(t *testing.T) {
	load := wire.Load{Now: 400_000, Samples: []wire.LoadSample{
		{At: 100_000, Room: 9, Queues: []wire.LoadQueue{{Queue: "night", Tasks: 3}, {Tasks: 1}}},
		{At: 190_000, Room: 7, Queues: []wire.LoadQueue{{Queue: "day", Tasks: 2}, {Queue: "night", Tasks: 4}}},
		{At: 220_001, Room: 8},
	}}
	tasks := func(q wire.LoadQueue) int { return q.Tasks }
	a := loadChart(load, "", tasks)
	want := []chart.Layer{{Name: "day", Values: []float64{0, 2, 0}}, {Name: "night", Values: []float64{3, 4, 0}}, {Name: "other queues", Values: []float64{1, 0, 0}}}
	if d := cmp.Diff(want, a.Series); d != "" || a.X.Min != -3 || a.At[2] != 0 || math.Abs(a.At[0]+2) > 0.001 || math.Abs(a.At[1]+0.5) > 0.001 {
		t.Error(d, a.X.Min, a.At)
	}
	if m := withRoom(a, load).(chart.Area).Marks; len(m) != 1 || m[0].Value != 8 {
		t.Error("room", m)
	}
	load.Samples = load.Samples[2:]
	if a := loadChart(load, "", tasks); a.X.Min != -1 || len(a.Series) != 1 || a.Series[0].Name != "idle" || len(a.Series[0].Values) != 1 {
		t.Errorf("%+v", a)
	}
	if a := loadChart(wire.Load{Now: 5}, "", tasks); a.Series != nil || withRoom(a, wire.Load{}).(chart.Area).Marks != nil {
		t.Errorf("%+v", a)
	}
}

// TestWords: shares, moments, long texts and what is stored where.
func TestWords(t *testing.T) {
	for totals, want := range map[wire.TaskTotals]float64{{}: 0, {Total: 4, Done: 1, Progress: 0.5}: 0.375, {Total: 4, Done: 4, Progress: 0.5}: 1} {
		if got := share(totals); got != want {
			t.Errorf("%+v: %g, want %g", totals, got, want)
		}
	}
	if when(0) != "" || when(1) != "1970-01-01 00:00:00" {
		t.Error(when(0), when(1))
	}
	if s := strings.Repeat("ä", 200); short(s) != s || short(s+"b") != s+" ..." {
		t.Error(short(s), short(s+"b"))
	}
	for path, want := range map[string]bool{"dfs:/out": true, "/out": true, "out": false, "s3:/out": false} {
		if stored(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
	for a, want := range map[wire.PastAttempt]int{
		{Task: wire.MapTask}: mapHere, {Task: wire.MapTask, Locality: "node"}: mapHere, {Task: wire.MapTask, Locality: "rack"}: mapElsewhere, {Task: wire.MapTask, Locality: "remote"}: mapElsewhere,
		{Task: wire.DriverTask}: driverBar, {Task: wire.ReduceTask, How: wire.PastDone}: reduceBar, {Task: wire.MapTask, How: wire.PastLost}: lostBar,
	} {
		if got := colour(a); got != want {
			t.Errorf("%+v: %d, want %d", a, got, want)
		}
	}
}
