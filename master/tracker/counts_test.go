package tracker

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// TestAttemptsAfterARestart: a job has had as many attempts after a restart of the master as before, from records and from a snapshot,
// with what runs still, and with what was begun after the last record.
func TestAttemptsAfterARestart(t *testing.T) {
	s := newScene(t, 6, 2)
	var records []Record
	s.c.Take()
	records = append(records, s.c.Snapshot(s.now)...)
	s.finish(s.n1, 3)
	s.say(s.n1)                                                                                                 // hears of the next map
	failed := slices.MinFunc(s.n1.mapsOf(), func(a, b wire.AttemptID) int { return cmp.Compare(a.Try, b.Try) }) // begun before the last record
	s.say(s.n1, wire.Ended{ID: failed, Error: "no"})
	s.say(s.n1)
	records = append(records, s.c.Take().Records...)
	want := s.status().Attempts
	if want < 7 {
		t.Fatalf("%d attempts", want)
	}
	for name, list := range map[string][]Record{
		"records": records, "a snapshot": s.c.Snapshot(s.now), "records, and what runs ends without a master": records, "a snapshot, and what runs ends without a master": s.c.Snapshot(s.now),
	} {
		c := newCore(t)
		c.cfg.Epoch, c.lastTry, c.cfg.Grace = 2, 2<<32, 0
		for i := range list {
			c.Replay(&list[i])
		}
		c.Resume(3)
		after, begun := &scene{t: t, c: c, now: s.now, job: s.job}, 0 // by the new master
		for _, old := range []*hand{s.n0, s.n1} {
			h := *old
			h.seq, h.full = 0, true
			h.life++
			h.running = maps.Clone(old.running)
			h.held = slices.Clone(old.held)
			var ended []wire.Ended
			if strings.HasSuffix(name, "ends without a master") {
				for _, id := range h.mapsOf() {
					ended = append(ended, wire.Ended{ID: id, OK: true})
				}
			}
			after.say(&h, ended...)
			if len(ended) > 0 {
				after.say(&h, ended...) // the answer was lost
			}
			for id := range h.running {
				if id.Try > 2<<32 {
					begun++
				}
			}
		}
		got := after.status().Attempts - begun
		if got != want {
			t.Errorf("from %s: %d attempts, before %d", name, got, want)
		}
	}
}

// TestRetriesAreCounted: an attempt that failed is one, whatever failed; one that its machine could not run, or that ends the job, is none.
func TestRetriesAreCounted(t *testing.T) {
	s := newScene(t, 6, 2)
	want := func(when string, n int) {
		t.Helper()
		if got := s.status().Retries; got != n {
			t.Errorf("%s: %d retries, want %d", when, got, n)
		}
	}
	s.finish(s.n1, 1)
	want("nothing failed", 0)
	s.say(s.n1)
	s.say(s.n1, wire.Ended{ID: s.n1.mapsOf()[0], Error: "no"})
	want("a map failed", 1)
	s.say(s.n1)
	s.say(s.n1, wire.Ended{ID: s.n1.mapsOf()[0], Error: "no disk", Lost: true})
	want("a machine failed", 1)
	s.say(s.n0)
	s.say(s.n0, wire.Ended{ID: runningDriver(s.c, s.job), Error: "no"})
	want("the driver failed", 2)
	s.say(s.n1)
	s.say(s.n1, wire.Ended{ID: s.n1.mapsOf()[0], Error: "never", Final: true})
	if s.status().State != wire.Failed {
		t.Errorf("the job is %s", s.status().State)
	}
	want("the job failed", 2)
}
