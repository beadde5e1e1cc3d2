package compare

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

const second = time.Second

// TestPastAsRun: what a history tells is counted as a run is: time by kind, attempts that were lost, how near maps ran.
func TestPastAsRun(t *testing.T) {
	h := &trace.History{
		Origin: trace.Origin{Nodes: 1, Racks: 1, Room: 2},
		Jobs: []trace.PastJob{
			{ID: "a", Submit: 1 * second, Start: 2 * second, End: 20 * second, State: trace.JobDone, Maps: 2, Reduces: 1},
			{ID: "b", Submit: 3 * second, Start: 1 * second, End: 9 * second, State: trace.JobDone, Maps: 1},
		},
		Attempts: []trace.PastAttempt{
			{Job: "a", Kind: "map", Index: 0, Start: 2 * second, End: 5 * second, Locality: "node"},
			{Job: "a", Kind: "map", Index: 1, Start: 2 * second, End: 4 * second, Locality: "remote", Lost: true},
			{Job: "a", Kind: "map", Index: 1, Start: 4 * second, End: 10 * second, Locality: "remote"},
			{Job: "a", Kind: "reduce", Index: 0, Start: 6 * second, End: 20 * second},
			{Job: "b", Kind: "map", Index: 0, Start: 4 * second, End: 9 * second, Locality: "rack"},
		},
	}
	topo, _, err := OriginCluster(h.Origin)
	if err != nil {
		t.Fatal(err)
	}
	past, err := NewPast(h, sim.DefaultWorkload(topo, 2), 1)
	if err != nil {
		t.Fatal(err)
	}
	r := past.Real
	if want := [3]time.Duration{16 * second, 14 * second}; r.Busy != want || r.Killed != 1 || r.Makespan != 20*second {
		t.Errorf("busy %v, %d stopped, %v long", r.Busy, r.Killed, r.Makespan)
	}
	a, b := r.Jobs[0], r.Jobs[1]
	if a.Occupied != 25*second || a.Attempts != 4 || a.Local != [3]int{1, 0, 1} || b.Occupied != 5*second || b.Attempts != 1 || b.Local != [3]int{0, 1, 0} {
		t.Errorf("a %+v, b %+v", a, b)
	}
	if a.FirstStart != 2*second || b.FirstStart != 3*second {
		t.Errorf("started at %v and %v: not before they came", a.FirstStart, b.FirstStart)
	}
	if jobs := past.Workload(); jobs[0].Spec.Work != 19*second || jobs[0].Reduces[0] != 10*second || jobs[1].Spec.Work != 5*second {
		t.Errorf("replayed with work of %v and %v, the reduce with %v", jobs[0].Spec.Work, jobs[1].Spec.Work, jobs[0].Reduces[0])
	}
	replay := &sim.Result{Makespan: 30 * second, Jobs: []sim.JobResult{{Finished: 38 * second}, {Finished: 3 * second}}}
	m := past.Miss(replay) // completions were 19 s and 6 s, and are 38 s and 3 s
	near(t, "mean completion", m.Completion, 41.0/25-1, 1e-9)
	near(t, "makespan", m.Makespan, 0.5, 1e-9)
	near(t, "typical job", m.Typical, 0.75, 1e-9)
	near(t, "bad job", m.Bad, 0.95, 1e-9)
}

// TestTakeOff: of each task's time goes what the slowest link of its way took at the least.
func TestTakeOff(t *testing.T) {
	o := trace.Origin{Nodes: 2, Racks: 2, Room: 2}
	for i, rack := range []string{"r1", "r2"} {
		o.Machines = append(o.Machines, trace.Machine{Name: rack, Rack: rack, Room: 1, NIC: []float64{50e6, 20e6}[i]})
		o.Links = append(o.Links, trace.Link{Rack: rack, Up: 10e6, Down: []float64{0, 5e6}[i]})
	}
	topo, _, err := OriginCluster(o)
	if err != nil {
		t.Fatal(err)
	}
	h := &trace.History{Origin: o, Jobs: []trace.PastJob{{ID: "j", State: trace.JobDone, Maps: 4, Reduces: 2, InputBytes: 80e6, ShuffleBytes: 80e6, End: 60 * second}}}
	for i, near := range []string{"node", "rack", "remote", "remote"} {
		h.Attempts = append(h.Attempts, trace.PastAttempt{Job: "j", Kind: "map", Index: int32(i), Node: "r1", End: 10 * second, Locality: near})
	}
	h.Attempts = append(h.Attempts,
		trace.PastAttempt{Job: "j", Kind: "map", Index: 0, Node: "r2", End: 30 * second, Locality: "remote", Lost: true},
		trace.PastAttempt{Job: "j", Kind: "reduce", Index: 0, Node: "r1", Start: 9 * second, End: 30 * second},
		trace.PastAttempt{Job: "j", Kind: "reduce", Index: 1, Node: "r2", Start: 10 * second, End: 30 * second})
	jobs := Replay(h, sim.DefaultWorkload(topo, 2), rand.New(rand.NewPCG(1, 1)))
	takeOff(h, jobs, topo)
	j := jobs[0]
	// A map reads 20 MB: at 20 MB/s from its rack, at 5 MB/s from another. A reduce fetches half of 40 MB, or, if it began
	// while maps ran, of the last map's 10 MB.
	want := []time.Duration{10 * second, 9 * second, 6 * second, 6 * second, 19 * second, 16 * second}
	for i, got := range append(append([]time.Duration{}, j.Maps...), j.Reduces...) {
		if got != want[i] {
			t.Errorf("task %d takes %v, want %v", i, got, want[i])
		}
	}
	for _, c := range []struct {
		up, down, nic     []float64
		wantUp, wantWidth topology.Rate
	}{
		{[]float64{9, 7}, []float64{0, 0}, []float64{0, 0}, 7, 0},
		{[]float64{0, 7}, []float64{0, 0}, []float64{30, 0}, 7, 30},
		{[]float64{9, 7}, []float64{4, 8}, []float64{20, 10}, 4, 10},
		{[]float64{9, 7}, []float64{0, 0}, []float64{3, 5}, 3, 3}, // the card is on the way, too
		{[]float64{0, 0}, []float64{0, 0}, []float64{3, 5}, 3, 3},
	} {
		for i := range o.Machines {
			o.Machines[i].NIC, o.Links[i].Up, o.Links[i].Down = c.nic[i], c.up[i], c.down[i]
		}
		topo, _, err := OriginCluster(o)
		if err != nil {
			t.Fatal(err)
		}
		if up, nic := slowest(topo); up != c.wantUp || nic != c.wantWidth {
			t.Errorf("%+v: the slowest are %v and %v", c, up, nic)
		}
	}
	for _, bad := range []trace.Origin{{}, {Nodes: 2, Racks: 2, Machines: o.Machines}, {Nodes: 2, Racks: 2, Links: o.Links}, {Nodes: 3, Racks: 2, Links: o.Links, Machines: o.Machines}} {
		if HasLinks(bad) {
			t.Errorf("%+v: it does not say how fast every link was", bad)
		}
	}
	o.Machines[0].Room = 0
	if _, _, err := OriginCluster(o); err == nil {
		t.Error("a machine without room was taken")
	}
}
