package sizebased

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

func make2[T any](p T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// policy makes one with the defaults of d, changed by change.
func policy(t *testing.T, d Discipline, change func(*Config)) *Policy {
	t.Helper()
	c := DefaultConfig(d)
	c.Predict.Noise = 0
	if change != nil {
		change(&c)
	}
	return make2(New(c))(t)
}
