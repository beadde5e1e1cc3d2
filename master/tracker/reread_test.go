package tracker

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// endAll lets both workers report, and end what they run of a kind with the sums that sum gives.
func (s *scene) endAll(kind wire.TaskKind, sum func(index int32) uint64) {
	s.t.Helper()
	for _, h := range []*hand{s.n0, s.n1} {
		s.say(h)
		var ended []wire.Ended
		for id := range h.running {
			if id.Kind == kind {
				ended = append(ended, wire.Ended{ID: id, OK: true, Millis: 5, Sum: sum(id.Index)})
			}
		}
		s.say(h, ended...)
	}
}

// read is the sum of what a reduce has read if maps put out these.
func read(sums ...uint64) (sum uint64) {
	for i, v := range sums {
		o := wire.MapOutput{Map: int32(i), Sum: v}
		sum += o.Part()
	}
	return sum
}

// lostMap is a scene with two maps that put out 11 and 12, of which the first is lost after reduce 0 was done; reduce 1
// runs on n0.
func lostMap(t *testing.T) *scene {
	s := newScene(t, 2, 2)
	s.endAll(wire.MapTask, func(i int32) uint64 { return uint64(11 + i) })
	s.say(s.n1)
	for id := range s.n1.running {
		if id.Index == 0 {
			s.say(s.n1, wire.Ended{ID: id, OK: true, Sum: read(11, 12)})
		}
	}
	if got := s.status().Reduces.Done; got != 1 {
		t.Fatalf("%d reduces are done", got)
	}
	s.c.loseOutput(s.now, s.c.jobs[s.job].current(), 0, "it is gone")
	s.c.offerAll(s.now)
	return s
}

// TestMapWithAnotherOutput: reduces count that have read the outputs that count, also for a master that was started again.
func TestMapWithAnotherOutput(t *testing.T) {
	for name, reborn := range map[string]bool{"": false, " after a restart": true} {
		for again, want := range map[uint64]int{11: 1, 99: 0} {
			s := lostMap(t)
			if reborn {
				s.c = restarted(t, s.c.Snapshot(s.now))
				s.c.lastTry = 1000 // as that of a later epoch
				s.n0.restart()
				s.n1.restart()
				s.n1.held = slices.DeleteFunc(s.n1.held, func(id wire.AttemptID) bool { return id.Index == 0 })
			}
			for range 5 {
				s.endAll(wire.MapTask, func(int32) uint64 { return again })
			}
			got := s.status()
			if got.Maps.Done != 2 || got.Reduces.Done != want {
				t.Errorf("map 0 puts out %d%s: %d maps and %d reduces are done, want 2 and %d", again, name, got.Maps.Done, got.Reduces.Done, want)
			}
			// What has read the old output counts only if it is the new one, too.
			s.endAll(wire.ReduceTask, func(int32) uint64 { return read(11, 12) })
			if got := s.status(); got.Reduces.Done > 2*want {
				t.Errorf("map 0 puts out %d%s: a reduce counts that has read another output", again, name)
			}
			for range 5 {
				s.endAll(wire.ReduceTask, func(int32) uint64 { return read(again, 12) })
			}
			if got := s.status(); got.Reduces.Done != 2 {
				t.Errorf("map 0 puts out %d%s: %d reduces are done at the end", again, name, got.Reduces.Done)
			}
		}
	}
}

// TestReducesThatNeverAgree: a reduce that has read something else each time ends the job, with the reason.
func TestReducesThatNeverAgree(t *testing.T) {
	s := lostMap(t)
	for i := range 200 {
		s.endAll(wire.MapTask, func(int32) uint64 { return 11 })
		s.endAll(wire.ReduceTask, func(int32) uint64 { return uint64(i) })
	}
	got := s.status()
	if got.State != "FAILED" || got.Error == "" {
		t.Fatalf("%+v", got)
	}
	const want = "reduce 1 was run 16 times: a map that it has read has run again with another output. The mapper must give the same output for the same input"
	if got.Error != want {
		t.Errorf("%q", got.Error)
	}
}
