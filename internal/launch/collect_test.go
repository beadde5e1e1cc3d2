package launch

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func percent() int {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}

// TestFirstCollectionIsLate: until memory has been collected once, and no longer.
func TestFirstCollectionIsLate(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(77))
	collectLater(32 << 20)
	if got := percent(); got != 77 {
		t.Fatalf("of a small budget, the first collection comes at %d %%, want 77", got)
	}
	collectLater(1 << 30)
	if got := percent(); got != 800 {
		t.Fatalf("the first collection comes at %d %%, want 800", got)
	}
	for percent() != 77 { // the runtime calls back when it has time
		runtime.GC()
		runtime.Gosched()
	}
}

// TestCollectionAsAsked: who sets GOGC has it.
func TestCollectionAsAsked(t *testing.T) {
	t.Setenv("GOGC", "50")
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	collectLater(1 << 30)
	if got := percent(); got != 50 {
		t.Errorf("collections come at %d %%, want 50", got)
	}
}
