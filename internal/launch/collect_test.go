package launch

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func percent() int {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}

// settle collects memory until what runs of other tests wanted done after a collection is done.
func settle() {
	for range 3 {
		done := make(chan struct{})
		runtime.AddCleanup(new(*int), func(done chan struct{}) { close(done) }, done)
		for open := true; open; {
			runtime.GC()
			select {
			case <-done:
				open = false
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// TestFirstCollectionIsLate: until memory has been collected once, and no longer.
func TestFirstCollectionIsLate(t *testing.T) {
	t.Setenv("GOGC", "")
	settle()
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
