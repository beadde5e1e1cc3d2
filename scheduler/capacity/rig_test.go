package capacity

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

const second = time.Second

// rig is a small cluster with what the tests of this package add to it.
type rig struct{ *schedulertest.Rig }

func newRig(t *testing.T, p scheduler.Policy, nodes int, c scheduler.Capacity) *rig {
	t.Helper()
	return &rig{schedulertest.NewRig(t, p, nodes, c)}
}

// policy makes one with defaults, changed by change.
func policy(t *testing.T, change func(*Config)) *Policy {
	t.Helper()
	c := DefaultConfig()
	if change != nil {
		change(&c)
	}
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// queues returns queues of these capacities, named a, b, c and so on.
func queues(change func(*Queue), capacities ...float64) []Queue {
	var out []Queue
	for i, c := range capacities {
		q := DefaultQueue(string(rune('a'+i)), c)
		if change != nil {
			change(&q)
		}
		out = append(out, q)
	}
	return out
}
