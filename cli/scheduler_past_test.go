package cli

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// TestUnremembered: of what the history has, that is shown which the master has forgotten, in the middle of a round as well.
func TestUnremembered(t *testing.T) {
	launch := func(at int64, index int32) wire.Decision {
		return wire.Decision{At: at, Do: "launch", Job: "job-1", Task: wire.MapTask, Index: index, Node: "w1"}
	}
	past := []wire.Decision{launch(1, 0), launch(2, 1), launch(2, 2), launch(3, 3)}
	for _, c := range []struct{ from, want int }{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}} {
		remembered := slices.Clone(past[c.from:])
		for i := range remembered {
			remembered[i].Seq, remembered[i].Others = uint64(i), []wire.JobID{"job-2"}
		}
		got := unremembered(slices.Clone(past), remembered)
		if len(got) != c.want || !slices.EqualFunc(got, past[:c.want], func(a, b wire.Decision) bool { return a.Index == b.Index }) {
			t.Errorf("the master has those from %d on: %v", c.from, got)
		}
	}
}
