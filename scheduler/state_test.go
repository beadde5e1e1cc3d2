package scheduler

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/topology"
)

func TestCapacityFits(t *testing.T) {
	one := Demand{Slots: 1, VCores: 1, MemoryMB: 1024}
	for _, tc := range []struct {
		name string
		c    Capacity
		used Usage
		k    Kind
		d    Demand
		want bool
	}{
		{"nothing set", Capacity{}, Usage{}, Map, one, false},
		{"map slot", Capacity{MapSlots: 1, ReduceSlots: 1}, Usage{Slots: [3]int32{0, 1}}, Map, one, true},
		{"map slots full", Capacity{MapSlots: 1, ReduceSlots: 1}, Usage{Slots: [3]int32{1, 0}}, Map, one, false},
		{"maps only", Capacity{MapSlots: 1}, Usage{}, Reduce, one, false},
		{"high memory takes slots", Capacity{MapSlots: 2}, Usage{}, Map, Demand{Slots: 3, VCores: 1, MemoryMB: 1}, false},
		{"pool is shared", Capacity{Containers: 2}, Usage{Slots: [3]int32{1, 1}}, Map, one, false},
		{"memory", Capacity{MemoryMB: 2048}, Usage{MemoryMB: 1024}, Reduce, one, true},
		{"memory full", Capacity{VCores: 9, MemoryMB: 2048}, Usage{MemoryMB: 1025}, Map, one, false},
		{"cores full", Capacity{VCores: 1, MemoryMB: 9999}, Usage{VCores: 1}, Map, one, false},
		{"slots and memory", Capacity{MapSlots: 4, MemoryMB: 1024}, Usage{MemoryMB: 1024}, Map, one, false},
		{"driver beside slots", Capacity{MapSlots: 1}, Usage{Slots: [3]int32{1}}, Driver, one, true},
	} {
		if got := tc.c.fits(&tc.used, tc.k, tc.d); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
	c := Capacity{VCores: 4, MemoryMB: 9 * 1024}
	if got := c.free(&Usage{VCores: 1, MemoryMB: 1024}, Map, one); got != 3 {
		t.Errorf("free %d, want 3 by vcores", got)
	}
}

// spec/slowdown 3, spec/capacity 2.2: a 16-map job needs 1 finished map at 5 %.
func TestSlowstartMaps(t *testing.T) {
	for _, tc := range []struct {
		fraction float64
		maps     int32
		want     int32
	}{{0.05, 16, 1}, {0.05, 21, 2}, {0.7, 10, 7}, {0.2, 15, 3}, {1, 7, 7}, {0, 5, 1}, {-1, 5, 0}, {0.5, 0, 0}} {
		if got := slowstartMaps(tc.fraction, tc.maps); got != tc.want {
			t.Errorf("%g of %d maps: %d, want %d", tc.fraction, tc.maps, got, tc.want)
		}
	}
}

func TestInvalidEvents(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 1}, nil)
	bad := &JobSpec{ID: 1, Maps: 2}
	bad.Splits.Add(1, 0)
	for name, e := range map[string]Event{
		"no spec":         {Kind: EvJobSubmitted},
		"negative id":     JobSubmitted(&JobSpec{ID: -1}),
		"too many maps":   JobSubmitted(&JobSpec{ID: 1, Maps: maxTasks + 1}),
		"reduces":         JobSubmitted(&JobSpec{ID: 1, Reduces: maxTasks + 1}),
		"input":           JobSubmitted(&JobSpec{ID: 1, Input: Bytes(-1)}),
		"shuffle":         JobSubmitted(&JobSpec{ID: 1, Shuffle: Bytes(-1)}),
		"output":          JobSubmitted(&JobSpec{ID: 1, Output: Bytes(-1)}),
		"split sizes":     JobSubmitted(&JobSpec{ID: 1, Maps: 1, Splits: Splits{Ends: []int32{0}}}),
		"split ends":      JobSubmitted(&JobSpec{ID: 1, Maps: 1, Splits: Splits{Bytes: []int64{1}}}),
		"falling ends":    JobSubmitted(&JobSpec{ID: 1, Maps: 2, Splits: Splits{Bytes: []int64{1, 1}, Ends: []int32{1, 0}, Replicas: []topology.NodeID{0}}}),
		"negative maps":   JobSubmitted(&JobSpec{ID: 1, Maps: -1}),
		"priority":        JobSubmitted(&JobSpec{ID: 1, Priority: 3}),
		"weight":          JobSubmitted(&JobSpec{ID: 1, Weight: -1}),
		"slow start":      JobSubmitted(&JobSpec{ID: 1, Slowstart: 1.5}),
		"splits":          JobSubmitted(bad),
		"negative splits": JobSubmitted(&JobSpec{ID: 1, Maps: 1, Splits: Splits{Bytes: []int64{-1}, Ends: []int32{0}}}),
		"torn splits":     JobSubmitted(&JobSpec{ID: 1, Maps: 1, Splits: Splits{Bytes: []int64{1}, Ends: []int32{9}}}),
		"kind":            {Kind: 99},
	} {
		if err := g.Feed(0, e); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want an invalid event", name, err)
		}
	}
	if err := (&JobSpec{Maps: maxTasks, Reduces: maxTasks, Slowstart: 1}).Validate(); err != nil {
		t.Errorf("as much as may be: %v", err)
	}
	for name, e := range map[string]Event{
		"node":      NodeUp(7, Capacity{}),
		"rack":      NetSample(7, 0, 0, false),
		"cpu":       CPUSample(7, 0),
		"job":       JobFinished(7),
		"heartbeat": Heartbeat(topology.NoNode),
	} {
		if err := g.Feed(0, e); !errors.Is(err, ErrStale) {
			t.Errorf("unknown %s: %v, want a stale event", name, err)
		}
	}
}

func TestServiceAndSamples(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 2, ReduceSlots: 1}, nil)
	j := mustSubmit(t, g, &JobSpec{ID: 1, Maps: 2, Reduces: 1, Slowstart: -1})
	mustOffer(t, g, 0) // two maps and the reduce, at 0
	at := func(s int, e Event) {
		t.Helper()
		if err := g.Feed(time.Duration(s)*time.Second, e); err != nil {
			t.Fatal(err)
		}
	}
	at(10, TaskFinished(TaskID{Job: 1}, 0, 0, 0, 0))
	if got := j.Service(20 * time.Second); got != 50*time.Second {
		t.Errorf("service %v, want 10 s done and 2 x 20 s running", got)
	}
	at(30, TaskFinished(TaskID{Job: 1, Index: 1}, 0, 0, 0, 0))
	at(40, TaskFinished(TaskID{Job: 1, Kind: Reduce}, 0, 0, 0, 0))
	n, sum, longest := j.Samples(Map)
	if n != 2 || sum != 40*time.Second || longest != 30*time.Second {
		t.Errorf("maps: %d, %v, %v", n, sum, longest)
	}
	if _, sum, _ := j.Samples(Reduce); sum != 40*time.Second || j.WorkSum(Reduce) != 10*time.Second {
		t.Errorf("reduce took %v, of which %v after the last map; want 40 s and 10 s", sum, j.WorkSum(Reduce))
	}
	if !j.Complete() || j.Progress() != 100 {
		t.Errorf("complete %v at %g %%", j.Complete(), j.Progress())
	}
}

func TestSamplesAndBans(t *testing.T) {
	g := newTestEngine(t, 2, 1, Capacity{MapSlots: 1}, nil)
	j := mustSubmit(t, g, &JobSpec{ID: 1, Maps: 2})
	if _, ok := g.View().CPUIdle(); ok {
		t.Error("idle before any sample")
	}
	mustFeed(t, g, CPUSample(topology.NoNode, 40))
	mustFeed(t, g, CPUSample(1, 70))
	mustFeed(t, g, NetSample(1, 0.3, 0.9, true))
	mustFeed(t, g, Progress(1, 120))
	mustFeed(t, g, Ban(1, 0))
	v := g.View()
	idle, _ := v.CPUIdle()
	node, _ := v.NodeIdle(1)
	if idle != 40 || node != 70 || v.Net(1).Utilisation() != 0.9 || !v.Net(1).Congested || j.Progress() != 100 {
		t.Errorf("samples %g %g %+v %g", idle, node, v.Net(1), j.Progress())
	}
	if got := mustOffer(t, g, 0); len(got) != 0 {
		t.Errorf("banned node got %v", got)
	}
	mustFeed(t, g, Unban(1, 0))
	if got := mustOffer(t, g, 0); len(got) != 1 {
		t.Errorf("node got %v after the ban", got)
	}
}

func TestConfigValidate(t *testing.T) {
	topo, err := topology.Uniform(1, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{
		"no unit":    {Slowstart: 0.1},
		"slow start": {Unit: DefaultConfig().Unit, Slowstart: math.Inf(1)},
	} {
		if _, err := NewState(topo, cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := NewState(nil, DefaultConfig()); err == nil {
		t.Error("no topology: accepted")
	}
}

// Jobs are found by their ids while they live, also where ids share a place in the table of recent ones.
func TestJobsAreFoundWhileTheyLive(t *testing.T) {
	topo, err := topology.Uniform(1, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewState(topo, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	apply := func(e Event) {
		t.Helper()
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	one, other := JobID(1), JobID(1+len(s.recent))
	apply(JobSubmitted(&JobSpec{ID: one}))
	apply(JobSubmitted(&JobSpec{ID: other}))
	v := s.View()
	for range 2 {
		for _, id := range []JobID{one, other} {
			if j := v.Job(id); j == nil || j.ID() != id {
				t.Fatalf("job %v is %v", id, j)
			}
		}
	}
	apply(JobVanished(other))
	if j := v.Job(other); j == nil || j.Phase() != Ended {
		t.Errorf("the job that ends is %v while its end is observed", j)
	}
	apply(NodeUp(0, Capacity{Containers: 1}))
	if j := v.Job(other); j != nil {
		t.Errorf("%v is still found after its end", j.ID())
	}
	if j := v.Job(NoJob); j != nil {
		t.Errorf("no job is %v", j.ID())
	}
}
