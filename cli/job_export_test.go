package cli

import (
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// TestExportOfFoundRunning: an attempt of which a master tells once more when it comes back is exported once, from its begin.
func TestExportOfFoundRunning(t *testing.T) {
	x := &exporter{job: &wire.PastJob{Job: "job-1", Stages: 1}, began: map[uint64]*wire.PastEvent{}}
	for _, e := range []wire.PastEvent{{At: 10e9, Kind: wire.PastLaunched, Locality: "rack"}, {At: 50e9, Kind: wire.PastLaunched}, {At: 100e9, Kind: wire.PastDone, Millis: 1}} {
		e.Task, e.Try = wire.MapTask, 1
		x.event(&e)
	}
	if len(x.attempts) != 1 || x.attempts[0].End-x.attempts[0].Start != x.at(90e9)-x.at(0) || x.attempts[0].Locality != "rack" {
		t.Errorf("%+v", x.attempts)
	}
}
