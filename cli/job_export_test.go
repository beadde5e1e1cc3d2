package cli

import (
	"testing"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/trace"
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

// TestExportOfExpected: an export says what the policies were told of each stage: of a later one only times, of an input that lies
// somewhere its size, and nothing where the history does not say.
func TestExportOfExpected(t *testing.T) {
	expect := &wire.Expected{Maps: 3, Input: 1 << 40, Shuffle: 5, Output: 6, MapMillis: 7, ReduceMillis: 8}
	all := trace.Expected{InputBytes: 1 << 40, ShuffleBytes: 5, OutputBytes: 6, MapTime: 7e6, ReduceTime: 8e6}
	placed := all
	placed.InputBytes = 48
	for name, c := range map[string]struct {
		job      wire.PastJob
		stage    int
		locality string
		want     *trace.Expected
	}{
		"makes its input": {wire.PastJob{Expect: expect}, 0, "", &all},
		"reads it":        {wire.PastJob{Expect: expect}, 0, "node", &placed},
		"second stage":    {wire.PastJob{Expect: expect, Stages: 2}, 1, "rack", &trace.Expected{InputBytes: 48, MapTime: 7e6, ReduceTime: 8e6}},
		"recurring":       {wire.PastJob{Expect: expect, Recurring: true}, 0, "", &all},
		"recurring chain": {wire.PastJob{Expect: expect, Recurring: true, Stages: 2}, 0, "", nil},
		"older master":    {wire.PastJob{}, 0, "", nil},
	} {
		c.job.Stages = max(c.job.Stages, 1)
		c.job.Slowstart, c.job.ReduceCost = 0.5, 2
		x := &exporter{job: &c.job, began: map[uint64]*wire.PastEvent{}}
		for _, e := range []wire.PastEvent{{Kind: wire.PastLaunched, Locality: c.locality}, {At: 1e9, Kind: wire.PastDone, In: 48}} {
			e.Stage, e.Task, e.Try = c.stage, wire.MapTask, 1
			x.event(&e)
		}
		st := x.stages[c.stage]
		if got := x.told(c.stage, st); (got == nil) != (c.want == nil) || got != nil && *got != *c.want || st.Slowstart != 0.5 || st.ReduceCost != 2 {
			t.Errorf("%s: %+v, want %+v; job %+v", name, got, c.want, st)
		}
	}
}
