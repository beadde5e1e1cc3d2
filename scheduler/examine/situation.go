package examine

import (
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Situation is a cluster of equal nodes, a workload, and how much goes wrong. The same situation gives the same run.
type Situation struct {
	Seed    uint64
	Racks   int
	PerRack int
	Node    scheduler.Capacity // of each node
	Jobs    []*scheduler.JobSpec
	Faults  Faults
	Replace bool  // a fresh policy takes over half-way
	Limit   int32 // containers that alice and bob may each hold; 0 means any number
}

// Faults are probabilities per event of their kind.
type Faults struct {
	Fail   float64 // an attempt fails
	Refuse float64 // an attempt is killed as soon as it was launched
	Vanish float64 // the oldest job vanishes when another is submitted
	Lose   float64 // a node dies at its heartbeat
	Drain  float64 // a node drains at its heartbeat
	Stale  float64 // a report is sent twice, or about something gone
}

// settle lets only as many jobs have drivers as the cluster has room for: drivers alone could fill it.
func (s *Situation) settle() {
	room := s.nodes() * int(max(s.Node.Containers, s.Node.ReduceSlots, s.Node.VCores)) / 4
	for i, j := range s.Jobs {
		j.HasDriver = j.HasDriver && i < room
	}
}

func (s *Situation) nodes() int { return s.Racks * s.PerRack }

var capacities = []scheduler.Capacity{
	{MapSlots: 1, ReduceSlots: 1},
	{MapSlots: 6, ReduceSlots: 2},
	{Containers: 1},
	{Containers: 6},
	{VCores: 8, MemoryMB: 8 << 10},
	{MapSlots: 2, ReduceSlots: 2, MemoryMB: 4 << 10},
}

// Draw draws a small situation from a seed. Everything that a policy might
// stumble over has a fair chance: no maps, no reduces, unknown sizes, no
// replicas, replicas on unknown nodes, one node, big tasks, drivers.
func Draw(seed uint64, troubled bool) *Situation {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &Situation{Seed: seed, Racks: 1 + r.IntN(4), PerRack: 1 + r.IntN(5), Replace: r.IntN(4) == 0}
	c := capacities[r.IntN(len(capacities))]
	p.Node = c
	at := time.Duration(0)
	for i := range 1 + r.IntN(12) {
		p.Jobs = append(p.Jobs, drawJob(r, scheduler.JobID(i), at, p.nodes(), c))
		if r.IntN(3) > 0 {
			at += time.Duration(r.IntN(30_000)) * time.Millisecond
		}
	}
	p.settle()
	if troubled {
		p.Faults = Faults{Fail: 0.05, Refuse: 0.03, Vanish: 0.05, Lose: 0.01, Drain: 0.01, Stale: 0.1}
	}
	return p
}

// somePriority draws one of the five priorities; Normal is twice as likely as each other.
func somePriority(r *rand.Rand) scheduler.Priority {
	if n := r.IntN(6); n > 0 {
		return scheduler.VeryLow + scheduler.Priority(n-1)
	}
	return scheduler.Normal
}

func drawJob(r *rand.Rand, id scheduler.JobID, at time.Duration, nodes int, c scheduler.Capacity) *scheduler.JobSpec {
	users, names := []string{"", "alice", "bob", "carol"}, []string{"", "a", "b"}
	s := &scheduler.JobSpec{
		ID: id, User: users[r.IntN(len(users))], Queue: names[r.IntN(len(names))], Pool: names[r.IntN(len(names))],
		Name: names[r.IntN(len(names))], Priority: somePriority(r), Submit: at, Weight: float64(r.IntN(3)),
		Maps: int32(r.IntN(20)), Reduces: int32(r.IntN(5)), Recurring: r.IntN(2) == 0, Slowstart: []float64{0, 0, -1, 0.5, 1}[r.IntN(5)],
	}
	if r.IntN(2) == 0 {
		s.Deadline = at + time.Duration(1+r.IntN(600))*time.Second
	}
	if r.IntN(2) == 0 {
		s.Input = scheduler.Bytes(int64(s.Maps) << (10 + r.IntN(20)))
		s.Shuffle = scheduler.Bytes(r.Int64N(1 << 31))
		s.Output = scheduler.Bytes(r.Int64N(1 << 30))
		s.MapTime, s.ReduceTime, s.Work = 5*time.Second, 9*time.Second, time.Duration(s.Maps)*5*time.Second
	}
	if r.IntN(4) > 0 {
		for range s.Maps {
			var on []topology.NodeID
			for range r.IntN(4) {
				on = append(on, topology.NodeID(r.IntN(nodes+1)))
			}
			s.Splits.Add(int64(1)<<(10+r.IntN(18)), on...)
		}
	}
	s.HasDriver = r.IntN(4) == 0
	if c.MemoryMB > 0 && r.IntN(3) == 0 {
		s.MapDemand.MemoryMB = 2 << 10
	}
	if c.MapSlots >= 6 && r.IntN(4) == 0 {
		s.MapDemand.Slots = 3
	}
	return s
}

// length is how long an attempt takes: a function of task and try, so that the
// order of launches does not change it.
func (s *Situation) length(t scheduler.TaskID, try int) time.Duration {
	r := rand.New(rand.NewPCG(s.Seed^uint64(t.Job)<<32^uint64(t.Index)<<8^uint64(t.Kind), uint64(try)))
	return time.Duration(500+r.IntN(20_000)) * time.Millisecond
}
