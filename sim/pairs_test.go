package sim

import (
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// switched is two racks of one node, with an optical switch for transfers of more than 150 bytes.
func switched(t *testing.T) *topology.Topology {
	t.Helper()
	b := topology.NewBuilder()
	for range 2 {
		rack, err := b.AddRack(topology.Rack{Uplink: 10})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.AddNode(topology.Node{Rack: rack, NIC: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.SetOCS(topology.OCS{Rate: 20, Interval: time.Second, Threshold: 150}); err != nil {
		t.Fatal(err)
	}
	return b.Topology()
}

// Without pairs each transfer is an elephant or a mouse by its own bytes.
func TestElephantsTakeCircuits(t *testing.T) {
	topo := switched(t)
	for _, x := range []struct {
		bytes int64
		want  float64
	}{{150, 0}, {151, 1}} {
		spec := &scheduler.JobSpec{Maps: 1, Reduces: 1, Shuffle: scheduler.Bytes(x.bytes)}
		spec.Splits.Add(1, 0)
		res := mustRun(t, Config{
			Topology: topo, Capacities: []scheduler.Capacity{{MapSlots: 1}, {ReduceSlots: 1}}, Policy: policy(t, "fifo", nil),
			State: scheduler.DefaultConfig(), Model: netModel(t, topo, nil),
		}, &Job{Spec: spec, Maps: []time.Duration{time.Second}, Reduces: []time.Duration{time.Second}, MapOutput: []int64{x.bytes}})
		if got := res.Network.OpticalShare(); got != x.want {
			t.Errorf("%d bytes between racks: %.3f over circuits, want %g", x.bytes, got, x.want)
		}
	}
}

// A pair of racks that has begun on a circuit takes no mice along (spec/jobpacker 5, item 9): two maps end before the reduce is
// placed and are an elephant together, the third ends while that is under way and is a mouse, on the packet network.
func TestMiceStayOffCircuits(t *testing.T) {
	topo := switched(t)
	spec := &scheduler.JobSpec{Maps: 3, Reduces: 1, Slowstart: 0.5, Shuffle: scheduler.Bytes(300)}
	for range 3 {
		spec.Splits.Add(1, 0)
	}
	res := mustRun(t, Config{
		Topology: topo, Capacities: []scheduler.Capacity{{MapSlots: 3}, {ReduceSlots: 1}}, Policy: policy(t, "fifo", map[string]string{"slowstart": "0.6"}),
		State: scheduler.DefaultConfig(), Model: netModel(t, topo, func(c *NetworkConfig) { c.Pairs = true }),
	}, &Job{Spec: spec, Maps: []time.Duration{time.Second, time.Second, 3 * time.Second}, Reduces: []time.Duration{time.Second}, MapOutput: []int64{100}})
	if got := res.Network.OpticalShare(); math.Abs(got-2.0/3) > 1e-9 {
		t.Errorf("%.3f of the shuffle went over circuits, want 200 of 300 bytes", got)
	}
}
