package web

import (
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// TestFoundRunning: an attempt of which a master tells once more when it comes back began before.
func TestFoundRunning(t *testing.T) {
	by := map[uint64]*attempt{}
	for _, e := range []wire.PastEvent{{At: 10, Kind: wire.PastLaunched}, {At: 50, Kind: wire.PastLaunched}, {At: 100, Kind: wire.PastDone, Millis: 1}} {
		e.Task, e.Try = wire.ReduceTask, 1
		apply(by, &e)
	}
	if a := by[1]; len(by) != 1 || a.Begin != 10 || a.End != 100 {
		t.Errorf("%+v", a)
	}
}
