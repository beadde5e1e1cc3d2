package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/topology"
)

// waitingDrivers has so many nodes and so many admitted jobs of a user who holds all containers that they may.
func waitingDrivers(tb testing.TB, nodes, jobs int) *Engine {
	tb.Helper()
	topo, err := topology.Uniform(nodes/20, 20, 0, 0)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := NewState(topo, DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	g := NewEngine(s, &greedy{}, nil)
	feed := func(e Event) {
		if err := g.Feed(0, e); err != nil {
			tb.Fatal(err)
		}
	}
	for n := range topology.NodeID(nodes) {
		feed(NodeUp(n, Capacity{Containers: 8}))
	}
	feed(UserLimit("ann", 4))
	for id := range JobID(jobs) {
		feed(JobSubmitted(&JobSpec{ID: id, User: "ann", Maps: 1, HasDriver: true}))
		feed(JobAdmitted(id))
	}
	if err := g.PlaceDrivers(0, func(topology.NodeID, Decision) {}); err != nil {
		tb.Fatal(err)
	}
	return g
}

// fastest is the least time that do takes in so many tries: the machine may have other work.
func fastest(tries int, do func()) time.Duration {
	least := time.Hour
	for range tries {
		begin := time.Now()
		do()
		least = min(least, time.Since(begin))
	}
	return least
}

// TestDriversAtALimit: who may hold no more is not looked at on every node, in every round.
func TestDriversAtALimit(t *testing.T) {
	g := waitingDrivers(t, 1000, 1000)
	if took := fastest(50, func() {
		if err := g.PlaceDrivers(time.Second, func(topology.NodeID, Decision) { t.Error("beyond the limit") }); err != nil {
			t.Fatal(err)
		}
	}); took > 10*time.Millisecond {
		t.Errorf("a round over 1000 drivers that may not start takes %v", took)
	}
}

// TestPlaceDriversAgainstReference: which drivers get a place, and where, is as if each were looked for on every node, whatever others
// before it asked for in vain: demands that differ in one thing, users at their limits, nodes that a job may not have.
func TestPlaceDriversAgainstReference(t *testing.T) {
	type placed struct {
		job  JobID
		node topology.NodeID
	}
	none, some := 0, 0
	for seed := range uint64(400) {
		var got [2][]placed
		for i := range got {
			g := demandingDrivers(t, rand.New(rand.NewPCG(7, seed)))
			if i == 0 {
				if err := g.PlaceDrivers(0, func(n topology.NodeID, d Decision) { got[0] = append(got[0], placed{d.Task.Job, n}) }); err != nil {
					t.Fatal(err)
				}
				continue
			}
			g.state.apart = true
			for _, j := range slices.Clone(g.state.drivers.list) {
				n := g.state.fewestDrivers(j)
				if n == topology.NoNode {
					none++
					continue
				}
				some++
				mustFeed(t, g, Launched(TaskID{Job: j.id, Kind: Driver}, n, Anywhere, false))
				got[1] = append(got[1], placed{j.id, n})
			}
		}
		if !slices.Equal(got[0], got[1]) {
			t.Fatalf("seed %d: jobs on nodes %v, each by itself %v", seed, got[0], got[1])
		}
	}
	if none < 1000 || some < 1000 {
		t.Errorf("%d drivers have no place and %d have one: the draw shows little", none, some)
	}
}

// demandingDrivers draws a few nodes, and admitted jobs whose demands come again and again, in any order.
func demandingDrivers(t *testing.T, r *rand.Rand) *Engine {
	t.Helper()
	nodes := 2 + r.IntN(5)
	topo, err := topology.Uniform(1, nodes, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewState(topo, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	g := NewEngine(s, &greedy{}, nil)
	for n := range topology.NodeID(nodes) {
		mustFeed(t, g, NodeUp(n, Capacity{VCores: 1 + r.Int32N(6), MemoryMB: 1024 * (1 + r.Int64N(6))}))
	}
	for _, user := range []string{"ann", "bob"} {
		mustFeed(t, g, UserLimit(user, r.Int32N(5)))
	}
	demand := func() Demand { return Demand{VCores: 1 + r.Int32N(3), MemoryMB: 1024 * (1 + r.Int64N(3))} }
	kinds := [2]Demand{demand(), demand()}
	for id := range JobID(20) {
		spec := &JobSpec{ID: id, User: pick(r, "ann", "bob", "eve"), Priority: pick[Priority](r, 0, 0, 1), Maps: 1, HasDriver: true}
		spec.DriverDemand, spec.MapDemand = pick(r, kinds[:]...), pick(r, kinds[:]...)
		mustFeed(t, g, JobSubmitted(spec))
		mustFeed(t, g, JobAdmitted(id))
		for r.IntN(4) == 0 {
			mustFeed(t, g, Ban(id, topology.NodeID(r.IntN(nodes))))
		}
	}
	return g
}

// TestDriversOfTwoDemands: nor is who asks for what another has found nowhere, also when two demands come in turn.
func TestDriversOfTwoDemands(t *testing.T) {
	g := waitingDrivers(t, 1000, 0)
	for n := range topology.NodeID(1000) {
		mustFeed(t, g, NodeUpdated(n, Capacity{VCores: 2, MemoryMB: 2048}))
	}
	for id := range JobID(1000) {
		mustFeed(t, g, JobSubmitted(&JobSpec{ID: id, Maps: 1, HasDriver: true, DriverDemand: Demand{VCores: 1, MemoryMB: 3072 + 1024*int64(id%2)}}))
		mustFeed(t, g, JobAdmitted(id))
	}
	if took := fastest(20, func() {
		if err := g.PlaceDrivers(0, func(topology.NodeID, Decision) { t.Error("more than a node has") }); err != nil {
			t.Fatal(err)
		}
	}); took > 10*time.Millisecond {
		t.Errorf("a round over 1000 drivers that find no room takes %v", took)
	}
}

func BenchmarkDriversAtALimit(b *testing.B) {
	g := waitingDrivers(b, 1000, 1000)
	for b.Loop() {
		_ = g.PlaceDrivers(time.Second, func(topology.NodeID, Decision) {})
	}
}
