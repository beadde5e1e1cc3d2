package sim

import (
	"math/rand/v2"
	"testing"
	"time"

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
