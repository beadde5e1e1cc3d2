package scheduler

import (
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

// TestDriversAtALimit: who may hold no more is not looked at on every node, in every round.
func TestDriversAtALimit(t *testing.T) {
	g, begin := waitingDrivers(t, 1000, 1000), time.Now()
	for range 50 {
		if err := g.PlaceDrivers(time.Second, func(topology.NodeID, Decision) { t.Error("beyond the limit") }); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin) / 50; took > 10*time.Millisecond {
		t.Errorf("a round over 1000 drivers that may not start takes %v", took)
	}
}

func BenchmarkDriversAtALimit(b *testing.B) {
	g := waitingDrivers(b, 1000, 1000)
	for b.Loop() {
		_ = g.PlaceDrivers(time.Second, func(topology.NodeID, Decision) {})
	}
}
