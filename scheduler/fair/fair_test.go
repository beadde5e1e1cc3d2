package fair

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// rig is a one-node cluster under one policy.
type rig struct {
	*scheduler.Engine
	t *testing.T
}

func newRig(t *testing.T, p scheduler.Policy, c scheduler.Capacity) *rig {
	t.Helper()
	topo, err := topology.Uniform(1, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.NewState(topo, scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{scheduler.NewEngine(s, p, nil), t}
	r.feed(scheduler.NodeUp(0, c))
	return r
}

func (r *rig) feed(e scheduler.Event) {
	r.t.Helper()
	if err := r.Feed(0, e); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) submit(s *scheduler.JobSpec) {
	r.t.Helper()
	r.feed(scheduler.JobSubmitted(s))
	if _, err := r.Admit(0, nil); err != nil {
		r.t.Fatal(err)
	}
}

// offer returns the jobs served, in order.
func (r *rig) offer() (order []scheduler.JobID) {
	r.t.Helper()
	if _, err := r.Offer(0, 0, func(d scheduler.Decision) { order = append(order, d.Task.Job) }); err != nil {
		r.t.Fatal(err)
	}
	return order
}

func (r *rig) want(order []scheduler.JobID, want ...scheduler.JobID) {
	r.t.Helper()
	if fmt.Sprint(order) != fmt.Sprint(want) {
		r.t.Fatalf("served %v, want %v", order, want)
	}
}

func policy(t *testing.T, change func(*Config)) *Policy {
	t.Helper()
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// spec/nas 3.10: the job that holds fewest containers is next.
func TestEqualSharesByJob(t *testing.T) {
	r := newRig(t, policy(t, nil), scheduler.Capacity{Containers: 7})
	r.submit(&scheduler.JobSpec{ID: 1, Maps: 9})
	r.submit(&scheduler.JobSpec{ID: 2, Maps: 2})
	r.submit(&scheduler.JobSpec{ID: 3, Maps: 9})
	r.want(r.offer(), 1, 2, 3, 1, 2, 3, 1)
}

// spec/deadline 3.8: weights 1, 1.4 and 122 of the published experiment, on its
// 60 slots.
func TestWeightedPools(t *testing.T) {
	p := policy(t, func(c *Config) {
		c.Key, c.Weights = "pool", map[string]float64{"j1": 1, "j2": 1.4, "join": 122}
	})
	r := newRig(t, p, scheduler.Capacity{MapSlots: 60})
	for i, pool := range []string{"j1", "j2", "join"} {
		r.submit(&scheduler.JobSpec{ID: scheduler.JobID(i), Maps: 500, Pool: pool})
	}
	r.offer()
	if n := r.View().Group(scheduler.PoolGroup, "join").Usage().Tasks[scheduler.Map]; n < 55 {
		t.Errorf("the Joins hold %d of 60 slots, want at least 55", n)
	}
}

func TestMinimumShareComesFirst(t *testing.T) {
	p := policy(t, func(c *Config) { c.Key, c.MinMaps = "pool", map[string]float64{"b": 3} })
	r := newRig(t, p, scheduler.Capacity{MapSlots: 6})
	r.submit(&scheduler.JobSpec{ID: 1, Maps: 9, Pool: "a"})
	r.submit(&scheduler.JobSpec{ID: 2, Maps: 9, Pool: "b"})
	r.want(r.offer(), 2, 2, 2, 1, 1, 1)
}

func TestFifoInsideAPool(t *testing.T) {
	p := policy(t, func(c *Config) { c.Key, c.Inside = "pool", "fifo" })
	r := newRig(t, p, scheduler.Capacity{MapSlots: 5})
	r.submit(&scheduler.JobSpec{ID: 1, Maps: 2})
	r.submit(&scheduler.JobSpec{ID: 2, Maps: 9})
	r.submit(&scheduler.JobSpec{ID: 3, Maps: 2, Priority: scheduler.High})
	r.want(r.offer(), 3, 3, 1, 1, 2)
}

// spec/slowdown 3.7: among equals, the least recently served is next; jobs and
// groups alike.
func TestLeastRecentlyServed(t *testing.T) {
	for _, key := range keys {
		for ties, want := range map[string]scheduler.JobID{"submit": 1, "served": 2} {
			r := newRig(t, policy(t, func(c *Config) { c.Key, c.Ties = key, ties }), scheduler.Capacity{MapSlots: 1})
			r.submit(&scheduler.JobSpec{ID: 1, Maps: 9, User: "a", Pool: "a", Queue: "a"})
			r.submit(&scheduler.JobSpec{ID: 2, Maps: 9, User: "b", Pool: "b", Queue: "b"})
			r.want(r.offer(), 1)
			r.feed(scheduler.TaskFinished(scheduler.TaskID{Job: 1}, 0, time.Second, 0, 0))
			r.want(r.offer(), want)
		}
	}
}

// spec/marp 7.32: least memory first.
func TestByMemory(t *testing.T) {
	r := newRig(t, policy(t, func(c *Config) { c.Measure = "memory" }), scheduler.Capacity{MemoryMB: 7 * 1024})
	r.submit(&scheduler.JobSpec{ID: 1, Maps: 9, MapDemand: scheduler.Demand{MemoryMB: 2048}})
	r.submit(&scheduler.JobSpec{ID: 2, Maps: 9})
	r.want(r.offer(), 1, 2, 2, 1, 2)
}

// The worked example of dominant resource fairness: 9 cores and 18 GB, A wants
// <1 core, 4 GB>, B wants <3 cores, 1 GB>; A gets 3 tasks and B gets 2.
func TestDominantResource(t *testing.T) {
	r := newRig(t, policy(t, func(c *Config) { c.Measure = "dominant" }), scheduler.Capacity{VCores: 9, MemoryMB: 18 * 1024})
	r.submit(&scheduler.JobSpec{ID: 1, Maps: 9, MapDemand: scheduler.Demand{VCores: 1, MemoryMB: 4096}})
	r.submit(&scheduler.JobSpec{ID: 2, Maps: 9, MapDemand: scheduler.Demand{VCores: 3, MemoryMB: 1024}})
	r.offer()
	if a, b := r.View().Job(1).Running(scheduler.Map), r.View().Job(2).Running(scheduler.Map); a != 3 || b != 2 {
		t.Errorf("A runs %d and B %d tasks, want 3 and 2", a, b)
	}
}

// Where nodes have only slots, DRF has one resource to share: slots.
func TestDominantResourceOfSlots(t *testing.T) {
	r := newRig(t, policy(t, func(c *Config) { c.Measure = "dominant" }), scheduler.Capacity{MapSlots: 4})
	r.submit(&scheduler.JobSpec{ID: 1, Maps: 9})
	r.submit(&scheduler.JobSpec{ID: 2, Maps: 9})
	r.want(r.offer(), 1, 2, 1, 2)
}

func TestRefusedConfigs(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"unknown key":     func(c *Config) { c.Key = "colour" },
		"negative weight": func(c *Config) { c.Weights = map[string]float64{"a": -1} },
		"no weight":       func(c *Config) { c.Weights = map[string]float64{"a": 0} },
		"weight of NaN":   func(c *Config) { c.Weights = map[string]float64{"a": math.NaN()} },
		"job minimum":     func(c *Config) { c.MinMaps = map[string]float64{"a": 1} },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
