package sim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// TestDefaultNetwork: up to 100 nodes bandwidth is shared exactly; above, on a grid of time (spec/nas 2.6).
func TestDefaultNetwork(t *testing.T) {
	for nodes, exact := range map[int]bool{1: true, 100: true, 101: false} {
		topo, err := topology.Uniform(1, nodes, topology.Gbps(1), topology.Gbps(1))
		if err != nil {
			t.Fatal(err)
		}
		if got := DefaultNetwork(topo); (got.Tick == 0 && got.Parts == 0 && got.Instant == 0) != exact {
			t.Errorf("%d nodes: %+v", nodes, got)
		}
	}
}

// TestCostOfBytes: a job's ratios are those of its bytes, and zero where there are none to compare with.
func TestCostOfBytes(t *testing.T) {
	for _, tc := range []struct {
		in, mid, out int64
		want         Cost
	}{
		{100, 50, 200, Cost{MapCycles: 3, ReduceCycles: 4, ShuffleRatio: 0.5, OutputRatio: 4}},
		{100, 0, 0, Cost{MapCycles: 3, ReduceCycles: 4}},
		{0, 0, 7, Cost{MapCycles: 3, ReduceCycles: 4}},
		{0, 0, 0, Cost{MapCycles: 3, ReduceCycles: 4}},
	} {
		spec := &scheduler.JobSpec{Input: scheduler.Bytes(tc.in), Shuffle: scheduler.Bytes(tc.mid), Output: scheduler.Bytes(tc.out)}
		if got := CostOf(&Job{Spec: spec}, 3, 4); got != tc.want {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
}

// TestEndsInOrder: tasks on a machine end in the order of their times, those of one time as they came, whatever was taken out between.
func TestEndsInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	var q floatQueue
	var want []floatItem
	for i := range int32(2000) {
		switch n := len(want); {
		case n == 0 || rng.IntN(3) > 0:
			it := floatItem{float64(rng.IntN(20)), Attempt{Task: scheduler.TaskID{Index: i}}}
			q.add(it.at, it.what)
			want = append(want, it)
			slices.SortStableFunc(want, func(a, b floatItem) int { return int(a.at - b.at) })
		case rng.IntN(2) == 0:
			if got := q.take(); got != want[0].what {
				t.Fatalf("step %d: %v ends, want %v", i, got.Task, want[0].what.Task)
			}
			want = want[1:]
		default:
			k := rng.IntN(n)
			q.remove(want[k].what)
			want = slices.Delete(want, k, k+1)
		}
		if q.len() != len(want) {
			t.Fatalf("step %d: %d tasks run, want %d", i, q.len(), len(want))
		}
	}
}
