package fifo

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

func engine(t *testing.T, c scheduler.Capacity, nodes int) *scheduler.Engine {
	t.Helper()
	topo, err := topology.Uniform(1, nodes, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.NewState(topo, scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	g := scheduler.NewEngine(s, New(scheduler.DefaultReduceRule()), nil)
	for n := range topo.NumNodes() {
		feed(t, g, scheduler.NodeUp(topology.NodeID(n), c))
	}
	return g
}

func feed(t *testing.T, g *scheduler.Engine, e scheduler.Event) {
	t.Helper()
	if err := g.Feed(0, e); err != nil {
		t.Fatal(err)
	}
}

func submit(t *testing.T, g *scheduler.Engine, s *scheduler.JobSpec) {
	t.Helper()
	feed(t, g, scheduler.JobSubmitted(s))
	if _, err := g.Admit(0, nil); err != nil {
		t.Fatal(err)
	}
}

func offer(t *testing.T, g *scheduler.Engine, n topology.NodeID) []string {
	t.Helper()
	var got []string
	if _, err := g.Offer(0, n, func(d scheduler.Decision) { got = append(got, d.Task.String()) }); err != nil {
		t.Fatal(err)
	}
	return got
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// spec/capacity 3.1: priority descending, then submission; what the first job
// cannot use goes to the next.
func TestPriorityThenSubmission(t *testing.T) {
	g := engine(t, scheduler.Capacity{MapSlots: 4, ReduceSlots: 1}, 1)
	submit(t, g, &scheduler.JobSpec{ID: 1, Maps: 1, Priority: scheduler.VeryLow})
	submit(t, g, &scheduler.JobSpec{ID: 2, Maps: 1})
	submit(t, g, &scheduler.JobSpec{ID: 3, Maps: 1, Priority: scheduler.VeryHigh})
	submit(t, g, &scheduler.JobSpec{ID: 4, Maps: 9})
	equal(t, offer(t, g, 0), "j3/map/0", "j2/map/0", "j4/map/0", "j4/map/1")
	if got := g.Explain(0, 1).Text(g.View()); got != "j1 waits: 1 job is before it for map slots, the first is j4" {
		t.Error(got)
	}
}

// spec/slowdown 3: a reduce starts once max(1, ceil(0.05*maps)) maps are done.
func TestSlowstart(t *testing.T) {
	g := engine(t, scheduler.Capacity{MapSlots: 2, ReduceSlots: 2}, 1)
	submit(t, g, &scheduler.JobSpec{ID: 1, Maps: 21, Reduces: 1})
	equal(t, offer(t, g, 0), "j1/map/0", "j1/map/1")
	feed(t, g, scheduler.TaskFinished(scheduler.TaskID{Job: 1}, 0, 1, 0, 0))
	equal(t, offer(t, g, 0), "j1/map/2")
	feed(t, g, scheduler.TaskFinished(scheduler.TaskID{Job: 1, Index: 1}, 0, 1, 0, 0))
	equal(t, offer(t, g, 0), "j1/map/3", "j1/reduce/0")
}

// With rampup a reduce that waits gives way to the map of a job before its own, by priority or age, and to no other.
func TestReducesGiveWayInOrder(t *testing.T) {
	for _, tc := range []struct {
		name         string
		holds, wants scheduler.Priority
		older        bool // the job that wants a map's place
		gives        bool
	}{
		{"the older goes first", scheduler.Normal, scheduler.Normal, true, true},
		{"the newer waits", scheduler.Normal, scheduler.Normal, false, false},
		{"the newer has priority", scheduler.Normal, scheduler.High, false, true},
		{"the older has less priority", scheduler.Normal, scheduler.Low, true, false},
	} {
		g := engine(t, scheduler.Capacity{Containers: 3}, 1)
		rule := scheduler.DefaultReduceRule()
		rule.Ramp = 0.5
		g.SetPolicy(0, New(rule))
		holds := &scheduler.JobSpec{ID: 1, Maps: 2, Reduces: 1, Slowstart: -1, Priority: tc.holds}
		wants := &scheduler.JobSpec{ID: 2, Maps: 1, Priority: tc.wants}
		if tc.older {
			submit(t, g, wants)
		}
		submit(t, g, holds)
		for i := range int32(2) {
			feed(t, g, scheduler.Launched(scheduler.TaskID{Job: 1, Index: i}, 0, scheduler.Anywhere, false))
		}
		feed(t, g, scheduler.Launched(scheduler.TaskID{Job: 1, Kind: scheduler.Reduce}, 0, scheduler.Anywhere, false))
		if !tc.older {
			submit(t, g, wants)
		}
		var got []string
		if err := g.Kill(time.Minute, func(v scheduler.Victim) { got = append(got, v.Task.String()) }); err != nil {
			t.Fatal(err)
		}
		if (len(got) == 1) != tc.gives || tc.gives && got[0] != "j1/reduce/0" {
			t.Errorf("%s: %v gave way", tc.name, got)
		}
	}
}

// Who gets a place although others are before it is told so.
func TestNextInLine(t *testing.T) {
	g := engine(t, scheduler.Capacity{Containers: 3}, 1)
	submit(t, g, &scheduler.JobSpec{ID: 1, Maps: 2, MapDemand: scheduler.Demand{Slots: 2}})
	submit(t, g, &scheduler.JobSpec{ID: 2, Maps: 1})
	var got []string
	if _, err := g.Offer(0, 0, func(d scheduler.Decision) { got = append(got, d.Reason.Text(g.View())) }); err != nil {
		t.Fatal(err)
	}
	equal(t, got, "j1 is first in line", "j2 is next in line: 1 jobs before it have nothing that fits n0")
}

func TestLocality(t *testing.T) {
	g := engine(t, scheduler.Capacity{MapSlots: 1}, 2)
	spec := &scheduler.JobSpec{ID: 1, Maps: 2}
	spec.Splits.Add(1, 0)
	spec.Splits.Add(1, 1)
	submit(t, g, spec)
	equal(t, offer(t, g, 1), "j1/map/1")
	equal(t, offer(t, g, 0), "j1/map/0")
}
