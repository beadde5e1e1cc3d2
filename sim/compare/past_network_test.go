package compare

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/trace"
)

// TestReplayOverNetwork: two maps took three seconds, one of which went by reading 10 MB over a link of 10 MB/s; two reduces
// took five, half a second of which went by fetching. Replayed with their data beside them the maps take two, and the reduces
// as long as their links take: a replay of fixed times would not see that those are slower.
func TestReplayOverNetwork(t *testing.T) {
	for rate, want := range map[float64]time.Duration{10e6: 7 * time.Second, 1e6: 11500 * time.Millisecond} {
		h := &trace.History{Origin: trace.Origin{
			Source: "cluster", Policy: "fifo", Nodes: 2, Racks: 2, Room: 2,
			Machines: []trace.Machine{{Name: "w1", Rack: "r1", Room: 1}, {Name: "w2", Rack: "r2", Room: 1}},
			Links:    []trace.Link{{Rack: "r1", Up: 10e6}, {Rack: "r2", Up: 10e6}},
		}, Jobs: []trace.PastJob{{ID: "j", End: 8 * time.Second, State: trace.JobDone, Maps: 2, Reduces: 2, InputBytes: 20e6, ShuffleBytes: 20e6}}}
		for i := range int32(2) {
			h.Attempts = append(h.Attempts,
				trace.PastAttempt{Job: "j", Kind: "map", Index: i, Node: "w1", End: 3 * time.Second, Locality: "remote"},
				trace.PastAttempt{Job: "j", Kind: "reduce", Index: i, Node: "w2", Start: 3 * time.Second, End: 8 * time.Second})
		}
		if !HasLinks(h.Origin) {
			t.Fatal("the links are not seen")
		}
		topo, _, err := OriginCluster(h.Origin)
		if err != nil {
			t.Fatal(err)
		}
		past, err := NewPast(h, sim.DefaultWorkload(topo, 2), 1)
		if err != nil {
			t.Fatal(err)
		}
		past.OverNetwork(topo)
		j := past.Workload()[0]
		if j.Maps[0] != 2*time.Second || j.Reduces[0] != 4500*time.Millisecond {
			t.Errorf("without the network the map takes %v and the reduce %v, want 2s and 4.5s", j.Maps[0], j.Reduces[0])
		}
		for i := range h.Origin.Links {
			h.Origin.Links[i].Up = rate
		}
		topo, room, err := OriginCluster(h.Origin)
		if err != nil {
			t.Fatal(err)
		}
		model, err := sim.NewNetwork(sim.DefaultNetwork(topo))
		if err != nil {
			t.Fatal(err)
		}
		p, err := policies.Policy("fifo", nil)
		if err != nil {
			t.Fatal(err)
		}
		jobs := past.Workload()
		jobs[0].Spec.HasDriver = false // room for tasks is all there is
		res, err := sim.Run(sim.Config{Topology: topo, Capacities: room, Policy: p, Model: model, State: scheduler.DefaultConfig(), Reports: sim.Reports{AskAgain: 100 * time.Millisecond}}, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if end := res.Jobs[0].Finished; (end - want).Abs() > 300*time.Millisecond {
			t.Errorf("at %g bytes a second the job ends at %v, want %v", rate, end, want)
		}
		if res.Network == nil || res.Network.Shuffle != 10e6 {
			t.Errorf("10 MB should go from rack to rack: %+v", res.Network)
		}
	}
}
