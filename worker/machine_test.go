package worker

import (
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestIdleOfAnEmulatedMachine: two of four processors compute for half of a second, then six attempts share all four.
func TestIdleOfAnEmulatedMachine(t *testing.T) {
	at := time.Unix(0, 0)
	m := newMachine(0.5, wire.Capacity{Containers: 4}, at)
	step := func(d time.Duration, change int) {
		at = at.Add(d)
		m.note(at, change)
	}
	want := func(percent float64) {
		t.Helper()
		if got, ok := m.idle(at); !ok || math.Abs(got-percent) > 1e-9 {
			t.Errorf("at %s idle %v, %v; want %v", at, got, ok, percent)
		}
	}
	step(500*time.Millisecond, 2)
	step(500*time.Millisecond, 0)
	want(75)
	step(0, 4)
	step(time.Second, 0)
	want(0)
	step(time.Second, -6)
	step(3*time.Second, 0)
	want(75)
	if _, ok := m.idle(at); ok {
		t.Error("nothing has passed, and it says how idle it was")
	}
	if newMachine(0, wire.Capacity{Containers: 4}, at).paceOf() != nil {
		t.Error("attempts are paced on a machine that is not emulated")
	}
	if m := newMachine(1, wire.Capacity{VCores: 2, MemoryMB: 4096}, at); m.processors != 2 {
		t.Errorf("%d processors, want its 2 vcores", m.processors)
	}
}
