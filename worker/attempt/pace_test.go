package attempt

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestSlowSourceIsTold: a reduce complains of a source that is slow, once, and far slower than others; not where all are
// slow, or too few are known, or little has come, or the source is its own node.
func TestSlowSourceIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		got    int64
		others []float64
		node   wire.NodeName
		want   int
	}{
		"slow":          {100 << 10, []float64{5e6, 6e6}, "w2", 2},
		"all are slow":  {100 << 10, []float64{50e3, 60e3, 9e6}, "w2", 0},
		"fast":          {50 << 20, []float64{1e9, 1e9}, "w2", 0},
		"one other":     {100 << 10, []float64{5e6}, "w2", 0},
		"hardly begun":  {1 << 10, []float64{5e6, 6e6}, "w2", 0},
		"its own node":  {100 << 10, []float64{5e6, 6e6}, "w1", 0},
		"others mostly": {100 << 10, []float64{5e6, 20e3, 6e6}, "w2", 2},
	} {
		var told []wire.BadFetch
		r := &runner{
			Setting: Setting{Node: "w1", BadFetch: func(b wire.BadFetch) { told = append(told, b) }},
			l:       &wire.Launch{ID: wire.AttemptID{Job: "job-1", Kind: wire.ReduceTask, Index: 3, Try: 9}},
		}
		f := newFetcher(r, 4)
		for i, pace := range tt.others {
			f.pace[string(rune('a'+i))] = pace
		}
		for i := range int32(3) {
			f.found(wire.MapOutput{Map: i, Try: uint64(i) + 1, Node: tt.node, Addr: "there"})
		}
		f.found(wire.MapOutput{Map: 3, Try: 7, Node: "w3", Addr: "elsewhere"})
		f.have[1] = wire.MapOutput{Map: 1}
		s := &stall{got: tt.got, waited: slowAfter + time.Second}
		for range 2 {
			f.judge(s, f.hosts["there"])
		}
		if len(told) != tt.want {
			t.Errorf("%s: %d complaints, want %d: %+v", name, len(told), tt.want, told)
		}
		for _, b := range told {
			if !b.Slow || b.Unreached || b.Addr != "there" || b.Map.Index == 1 || b.By != r.l.ID {
				t.Errorf("%s: %+v", name, b)
			}
		}
	}
}
