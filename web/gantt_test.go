package web

import (
	"context"
	"testing"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/wire"
)

// TestWhatIsNoAttempt: of a job's events only those of an attempt make a bar: with a task and a number.
func TestWhatIsNoAttempt(t *testing.T) {
	for _, e := range []wire.PastEvent{{Kind: wire.PastAdmitted}, {Kind: wire.PastHeld, Task: wire.MapTask}, {Kind: wire.PastLaunched, Try: 3}} {
		if by := map[uint64]*attempt{}; apply(by, &e) != nil || len(by) != 0 {
			t.Errorf("%+v is an attempt", e)
		}
	}
}

// TestWindowOfTheChart: the chart has the seconds that were asked for, and the attempts that ran in them; without any all.
func TestWindowOfTheChart(t *testing.T) {
	events := []wire.PastEvent{}
	for try := range uint64(4) { // from 0, 10, 20 and 30 s on, of 5 s each
		at := int64(try) * 10e9
		events = append(events, wire.PastEvent{At: at, Kind: wire.PastLaunched, Task: wire.MapTask, Try: try + 1, Node: "n"}, wire.PastEvent{At: at + 5e9, Kind: wire.PastDone, Task: wire.MapTask, Try: try + 1, Node: "n"})
	}
	s := &site{cfg: Config{Call: func(_ context.Context, _ string, _, resp any) error {
		*resp.(*wire.PastEvents) = wire.PastEvents{Events: events}
		return nil
	}}}
	for _, x := range []struct {
		from, to float64
		want     int
		low, up  float64
	}{{0, 0, 4, 0, 0}, {10, 20, 2, 10, 20}, {16, 19, 0, 16, 19}, {12, 13, 1, 12, 13}, {30, 10, 4, 0, 0}, {5, 10, 2, 5, 10}} {
		c, cut, err := s.gantt(t.Context(), &jobData{Past: &wire.PastSummary{}, From: x.from, To: x.to}, 60_000)
		g, ok := c.(chart.Gantt)
		if err != nil || cut || !ok || len(g.Spans) != x.want || g.X.Min != x.low || g.X.Max != x.up {
			t.Errorf("%g to %g s: %d attempts, from %g to %g, %v, %v", x.from, x.to, len(g.Spans), g.X.Min, g.X.Max, cut, err)
		}
	}
}

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
