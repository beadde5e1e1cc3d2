package history

import (
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// TestFoundRunning: a master that came back tells once more of attempts that run, and of those that it had given up. They count once and
// began when they began.
func TestFoundRunning(t *testing.T) {
	m := newSummary()
	say := func(at int64, kind wire.PastKind, try uint64, locality string) {
		m.event(&wire.PastEvent{At: at, Kind: kind, Task: wire.MapTask, Index: int32(try), Try: try, Locality: locality})
	}
	say(10, wire.PastLaunched, 1, "node")
	say(20, wire.PastLaunched, 2, "rack")
	say(30, wire.PastLost, 2, "")
	for try, at := range []int64{0, 50, 51, 52} { // of the third nobody had heard
		if try > 0 {
			say(at, wire.PastLaunched, uint64(try), "node")
		}
	}
	for try := range uint64(3) {
		say(100, wire.PastDone, try+1, "")
	}
	got := m.finish(&wire.PastJob{})
	if got.Attempts != 3 || got.Failures != 1 || got.Local["node"] != 2 || got.Local["rack"] != 1 {
		t.Errorf("%d attempts, %d failed or lost, %v", got.Attempts, got.Failures, got.Local)
	}
	if first := got.Slowest[0]; first.Try != 1 || first.Begin != 10 || first.End != 100 {
		t.Errorf("%+v", first)
	}
}
