package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// spec/nas 4.1: a map for each block of 128 MiB, at least one; a reduce for each GiB of
// shuffle and output, none without shuffle, a fifth of the containers at most.
func TestFromTrace(t *testing.T) {
	topo := cluster(t, 4, 5)
	const gib = 1 << 30
	jobs := FromTrace([]trace.Job{
		{ID: "tiny", InputBytes: 10},
		{ID: "two blocks and a bit", Submit: time.Minute, InputBytes: 2*(128<<20) + 1, ShuffleBytes: 1},
		{ID: "heavy", InputBytes: gib, ShuffleBytes: 2 * gib, OutputBytes: gib},
		{ID: "huge", InputBytes: gib, ShuffleBytes: 1000 * gib},
	}, DefaultWorkload(topo, 100), rand.New(rand.NewPCG(1, 2)))
	for i, want := range [][2]int32{{1, 0}, {3, 1}, {8, 3}, {8, 20}} {
		s := jobs[i].Spec
		if s.Maps != want[0] || s.Reduces != want[1] {
			t.Errorf("%s: %d maps and %d reduces, want %v", s.Name, s.Maps, s.Reduces, want)
		}
		var bytes int64
		for m := range s.Maps {
			bytes += s.Splits.Bytes[m]
			nodes := s.Splits.Of(m)
			if len(nodes) != 3 || topo.RackOf(nodes[1]) != topo.RackOf(nodes[2]) || topo.RackOf(nodes[0]) == topo.RackOf(nodes[1]) || nodes[1] == nodes[2] {
				t.Errorf("%s: replicas on %v, want one rack with one and another with two nodes", s.Name, nodes)
			}
		}
		if bytes != s.Input.Bytes {
			t.Errorf("%s: splits have %d bytes of %d", s.Name, bytes, s.Input.Bytes)
		}
	}
	if jobs[1].Spec.Submit != time.Minute || jobs[0].Spec.Work <= 0 || jobs[2].Alone(100) <= 0 {
		t.Error("times are lost")
	}
}

// Maps and reduces compute at rates of their own (spec/nas 4.1), and a job has the reduces of SWIM's rule.
func TestFromTraceAsSWIM(t *testing.T) {
	w := DefaultWorkload(cluster(t, 8, 5), 640)
	w.Shape, w.Rates, w.Noise = trace.SWIMShape(40), NamedRates["slow"], 0
	jobs := FromTrace([]trace.Job{{ID: "a", InputBytes: 300_000_000, ShuffleBytes: 8 << 30}}, w, rand.New(rand.NewPCG(1, 2)))
	j := jobs[0]
	if j.Spec.Maps != 3 || j.Spec.Reduces != 8 || j.Spec.Output.Bytes != 1<<10 {
		t.Errorf("%d maps, %d reduces, %d bytes of output, want 3, 8 and 1024", j.Spec.Maps, j.Spec.Reduces, j.Spec.Output.Bytes)
	}
	bytes := float64(8<<30 + 1<<10)
	reduce := time.Second + time.Duration(bytes/8/8e6*1e9)
	if m, r := j.Maps[0].Round(time.Millisecond), j.Reduces[0].Round(time.Millisecond); m != 67_667*time.Millisecond || r != reduce.Round(time.Millisecond) {
		t.Errorf("a map takes %v and a reduce %v, want 67.667 s and %v", m, r, reduce)
	}
}

// TestAlone: maps in waves, then reduces in waves; no wave is shorter than the longest task of it.
func TestAlone(t *testing.T) {
	for _, c := range []struct {
		maps, reduces int32
		m, r          []time.Duration
		want          time.Duration
	}{
		{8, 0, []time.Duration{3}, nil, 6},
		{9, 0, []time.Duration{3}, nil, 9},
		{4, 5, []time.Duration{3}, []time.Duration{2}, 3 + 4},
		{4, 0, []time.Duration{1, 1, 1, 9}, nil, 9},
		{8, 1, []time.Duration{2, 4}, []time.Duration{5}, 6 + 5},
		{0, 1, nil, []time.Duration{5}, 5},
		{4, 1, nil, []time.Duration{5}, 5},
		{0, 1, []time.Duration{9}, []time.Duration{5}, 5},
		{0, 0, nil, nil, 0},
	} {
		j := Job{Spec: &scheduler.JobSpec{Maps: c.maps, Reduces: c.reduces}, Maps: c.m, Reduces: c.r}
		if got := j.Alone(4); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestWhereBlocksLie: a replica on any node and two on nodes of any other rack, as far as the cluster has them.
func TestWhereBlocksLie(t *testing.T) {
	for _, c := range []struct{ racks, nodes, copies int }{{1, 1, 1}, {1, 4, 1}, {2, 1, 2}, {2, 3, 3}, {3, 2, 3}} {
		topo := cluster(t, c.racks, c.nodes)
		w := DefaultWorkload(topo, 10)
		rng, first, second := rand.New(rand.NewPCG(1, 1)), map[topology.NodeID]bool{}, map[topology.NodeID]bool{}
		for range 400 {
			at := w.place(nil, rng)
			if len(at) != c.copies {
				t.Fatalf("%+v: replicas on %v", c, at)
			}
			first[at[0]] = true
			for _, n := range at[1:] {
				second[n] = true
				if topo.RackOf(n) == topo.RackOf(at[0]) || topo.RackOf(n) != topo.RackOf(at[1]) {
					t.Fatalf("%+v: replicas on %v", c, at)
				}
			}
			if c.copies == 3 && at[1] == at[2] {
				t.Fatalf("%+v: replicas on %v", c, at)
			}
		}
		if all := c.racks * c.nodes; len(first) != all || c.copies > 1 && len(second) != all {
			t.Errorf("%+v: first replicas lie on %d nodes, others on %d", c, len(first), len(second))
		}
	}
}
