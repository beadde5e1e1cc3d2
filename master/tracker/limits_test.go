package tracker

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// manyCounts are n counters from the first on, with names of so many bytes.
func manyCounts(first, n, bytes int) wire.Counts {
	names := map[string]int64{}
	for i := first; i < first+n; i++ {
		name := fmt.Sprint(i)
		names[name+strings.Repeat("x", max(0, bytes-len(name)))] = 1
	}
	return wire.Counts{"g": names}
}

func (s *scene) status() wire.JobStatus {
	s.t.Helper()
	st, err := s.c.Status(s.job)
	if err != nil {
		s.t.Fatal(err)
	}
	return st
}

// TestLongIdsAreNotQuotedInFull: whoever asks for a job by megabytes is answered in a line; the master has one loop for all.
func TestLongIdsAreNotQuotedInFull(t *testing.T) {
	s := newScene(t, 2, 2)
	for _, id := range []string{"", "job-"} {
		if _, err := s.c.Status(wire.JobID(id + strings.Repeat("x", 3<<20))); err == nil || len(err.Error()) > 1000 {
			t.Errorf("a job called %s...: %.100v", id, err)
		}
	}
}

// TestLongCounterNamesFailTheJob: what an attempt counts under names of kilobytes never reaches the journal; the attempt has
// failed for good, and the job says why.
func TestLongCounterNamesFailTheJob(t *testing.T) {
	s := newScene(t, 2, 2)
	s.c.Take()
	s.say(s.n1, wire.Ended{ID: s.n1.mapsOf()[0], OK: true, Counts: manyCounts(0, 900, 2000)})
	if st := s.status(); st.State != "FAILED" || !strings.Contains(st.Error, "counters: ") {
		t.Errorf("%s: %s", st.State, st.Error)
	}
	for _, r := range s.c.Take().Records {
		if n := len(r.Counts["g"]); n > 0 || r.Task != nil && len(r.Task.Counts) > 0 {
			t.Errorf("a record keeps %d counters: %s", n, r.Kind)
		}
	}
}

// TestJobsCountersAreLimited: each attempt is within the limit, all together are not.
func TestJobsCountersAreLimited(t *testing.T) {
	s := newScene(t, 3, 3)
	for i, id := range s.n1.mapsOf() {
		s.say(s.n1, wire.Ended{ID: id, OK: true, Counts: manyCounts(i*400, 400, 20)})
		if st := s.status(); (i == 2) != (st.State == "FAILED") {
			t.Errorf("after %d maps: %s: %s", i+1, st.State, st.Error)
		}
	}
	if st := s.status(); !strings.Contains(st.Error, "1200 different counters") {
		t.Error(st.Error)
	}
}

// TestTextsAreCut: errors and reasons of megabytes are kept short.
func TestTextsAreCut(t *testing.T) {
	s := newScene(t, 1, 1)
	long := strings.Repeat("e", 5<<20)
	bad := wire.BadRecord{File: long, Reason: long}
	s.say(s.n1, wire.Ended{ID: s.n1.mapsOf()[0], Error: long, Final: true, Bad: []wire.BadRecord{bad}})
	if st := s.status(); st.State != "FAILED" || len(st.Error) > wire.MaxText+100 || len(st.LastError) > wire.MaxText {
		t.Errorf("%s with %d and %d bytes of text", st.State, len(st.Error), len(st.LastError))
	}
}

// TestComplaintsOfStrangers: only a reduce that runs on the worker that reports may complain, and of maps of its own stage.
func TestComplaintsOfStrangers(t *testing.T) {
	s := newScene(t, 2, 3)
	s.finish(s.n1, 2)
	s.now += s.c.cfg.Grace
	s.say(s.n1)
	var reduce, done wire.AttemptID
	for id := range s.n1.running {
		if id.Kind == wire.ReduceTask {
			reduce = id
		}
	}
	done = s.n1.held[0]
	if reduce.Kind == "" {
		t.Fatal("no reduce runs")
	}
	driver := reduce
	driver.Kind = wire.DriverTask
	other := reduce
	other.Job = "job-7"
	for what, b := range map[string]struct {
		from *hand
		wire.BadFetch
	}{
		"another worker": {s.n0, wire.BadFetch{Map: done, By: reduce}},
		"a driver":       {s.n1, wire.BadFetch{Map: done, By: driver}},
		"another job":    {s.n1, wire.BadFetch{Map: done, By: other}},
		"not a map":      {s.n1, wire.BadFetch{Map: reduce, By: reduce}},
	} {
		s.complain(b.from, b.BadFetch)
		if got := s.status().Maps.Done; got != 2 {
			t.Errorf("%s makes a map run again: %d of 2 are done", what, got)
			return
		}
	}
	s.complain(s.n1, wire.BadFetch{Map: done, By: reduce})
	if got := s.status().Maps.Done; got != 1 {
		t.Errorf("the reduce itself is not heard: %d of 2 are done", got)
	}
}

// TestEndsOfTasksThatAreNone: a worker that reports the end of a task that no plan has changes nothing.
func TestEndsOfTasksThatAreNone(t *testing.T) {
	s := newScene(t, 2, 3)
	s.finish(s.n1, 1)
	was := s.status()
	for _, kind := range []wire.TaskKind{wire.MapTask, wire.ReduceTask} {
		for _, index := range []int32{-1, 9, math.MaxInt32, math.MinInt32} {
			for _, ok := range []bool{true, false} {
				id := wire.AttemptID{Job: s.n1.held[0].Job, Kind: kind, Index: index, Try: 1}
				s.say(s.n1, wire.Ended{ID: id, OK: ok, Error: "none"})
				if now := s.status(); now.State != was.State || now.Maps.Done != 1 || now.Reduces.Done != 0 || now.Error != "" {
					t.Errorf("%v, well: %v: %+v", id, ok, now)
				}
			}
		}
	}
}

func (s *scene) complain(h *hand, b wire.BadFetch) {
	s.t.Helper()
	h.seq++
	r := &wire.Report{
		Node: h.name, Session: h.addr(), Seq: h.seq, Addr: h.addr(), Idle: -1, Capacity: wire.Capacity{Containers: h.room}, BadFetch: []wire.BadFetch{b},
	}
	for id := range h.running {
		r.Running = append(r.Running, wire.Progress{ID: id})
	}
	if _, err := s.c.Report(s.now, r, 1<<62); err != nil {
		s.t.Fatal(err)
	}
}
