package tracker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// shuffling is a job of four maps, all done on n1, and four reduces: one runs on n1, the others on a worker each.
func shuffling(t *testing.T) (s *scene, readers []*hand) {
	t.Helper()
	s = newSceneOf(t, 4, 4, 1)
	s.finish(s.n1, 4)
	for i := range 3 {
		readers = append(readers, s.join(wire.NodeName(fmt.Sprint("n", i+2)), 1))
	}
	for _, h := range append(readers, s.n1) {
		if len(s.wanted(h, wire.ReduceTask)) != 1 {
			t.Fatalf("on %s run %v", h.name, s.wanted(h, wire.ReduceTask))
		}
	}
	return s, readers
}

// join adds a worker.
func (s *scene) join(name wire.NodeName, room int32) *hand {
	s.t.Helper()
	h := &hand{name: name, rack: "r1", room: room}
	h.restart()
	s.say(h)
	s.say(h)
	return h
}

// cannotFetch is what a worker's reduce says of a map whose output is on n1.
func (s *scene) cannotFetch(h *hand, index int, why string) wire.BadFetch {
	s.t.Helper()
	reduces := s.wanted(h, wire.ReduceTask)
	if len(reduces) == 0 {
		s.t.Fatalf("no reduce runs on %s", h.name)
	}
	i := slices.IndexFunc(s.n1.held, func(id wire.AttemptID) bool { return id.Index == int32(index) })
	return wire.BadFetch{Map: s.n1.held[i], By: reduces[0], Why: why, Addr: s.n1.addr()}
}

// complain lets workers say once what they cannot fetch; every worker reports meanwhile.
func (s *scene) complainAll(readers []*hand, unreached bool, maps ...int) {
	s.t.Helper()
	for i, h := range readers {
		b := s.cannotFetch(h, maps[i], "connection refused")
		b.Unreached = unreached
		s.complain(h, b)
	}
	s.say(s.n0)
	s.say(s.n1)
	for _, h := range readers {
		s.say(h)
	}
	s.c.Tick(s.now)
}

// TestDamageIsProof: a map whose output has arrived with a wrong checksum twice runs again at the word of one reduce of many, also if each reduce waits for another map.
func TestDamageIsProof(t *testing.T) {
	s, readers := shuffling(t)
	for i, h := range readers {
		b := s.cannotFetch(h, i, "checksum")
		s.complain(h, b)
		s.done("not said to be damaged", 4-i)
		b.Damaged = true
		s.complain(h, b)
		s.done("damaged", 3-i)
	}
}

// TestDamageThatFollowsAReduce: a reduce that finds a map's output damaged again after the map has run again for its sake is itself to blame, and moves; the map does not run a third time.
func TestDamageThatFollowsAReduce(t *testing.T) {
	s, readers := shuffling(t)
	reader := readers[0]
	b := s.cannotFetch(reader, 0, "checksum")
	b.Damaged = true
	s.complain(reader, b)
	s.done("damaged", 3)
	other := s.join("n9", 1)
	ran := other.mapsOf()
	if len(ran) != 1 {
		t.Fatalf("on %s run %v", other.name, ran)
	}
	s.say(other, wire.Ended{ID: ran[0], OK: true, Millis: 5})
	s.done("it has run again", 4)
	b.Map, b.Addr = ran[0], other.addr()
	s.complain(reader, b)
	s.done("damaged again", 4)
	if s.say(reader); !slices.Contains(reader.killed, b.By) {
		t.Errorf("the reduce still runs; stopped are %v", reader.killed)
	}
}

// TestEachWaitsForAnotherMap: where a source cannot be reached and each reduce waits for another of its maps, the maps run again once that has lasted, and not before.
func TestEachWaitsForAnotherMap(t *testing.T) {
	s, readers := shuffling(t)
	begin := s.now
	for s.status().Maps.Done == 4 && s.now-begin < time.Hour {
		s.now += 5 * time.Second
		s.complainAll(readers, true, 0, 1, 2)
	}
	if took := s.now - begin; took < s.c.cfg.FetchPatience || took > 2*s.c.cfg.FetchPatience {
		t.Errorf("after %s %d maps of 4 are done", took, s.status().Maps.Done)
	}
	s.done("all have waited as long", 1)
}

// TestOneReduceCannotReachASource that others reach: the reduce moves, and no map runs again, unless the same happens elsewhere.
func TestOneReduceCannotReachASource(t *testing.T) {
	s, readers := shuffling(t)
	spare := s.join("n8", 0)
	by := s.cannotFetch(readers[0], 0, "").By
	for range 8 {
		if s.now += 5 * time.Second; !slices.Contains(readers[0].killed, by) {
			s.say(spare)
			s.complainAll(readers[:1], true, 0)
		}
	}
	s.done("one cannot reach it", 4)
	if !slices.Contains(readers[0].killed, by) {
		t.Fatal("the reduce does not move")
	}
	spare.room = 1
	s.say(spare)
	s.say(spare)
	for range 8 {
		if s.now += 5 * time.Second; s.status().Maps.Done == 4 && len(s.wanted(spare, wire.ReduceTask)) > 0 {
			s.complainAll([]*hand{spare}, true, 0)
		}
	}
	s.done("nor elsewhere", 3)
}

// TestTroubleThatIsOver: complaints with long pauses between them are each a trouble of its own.
func TestTroubleThatIsOver(t *testing.T) {
	s, readers := shuffling(t)
	for range 10 {
		s.now += 3 * s.c.cfg.FetchPatience
		s.say(s.n1)
		s.complainAll(readers[:1], true, 0)
	}
	s.done("now and then", 4)
	s.now += 3 * s.c.cfg.FetchPatience
	if why, err := s.c.Why(s.now, s.job); err != nil || strings.Contains(why, "cannot fetch") {
		t.Errorf("long after the last: %q, %v", why, err)
	}
}

// TestWaitsAreSaid: the reduce, the map and the workers between which nothing comes are named in why, in the status and once in the log.
func TestWaitsAreSaid(t *testing.T) {
	s, readers := shuffling(t)
	s.c.Take()
	const want = " on node n2 cannot fetch the output of map 1 from node n1: connection refused"
	var notes []string
	for range 3 {
		s.now += 4 * time.Second
		s.complainAll(readers[:2], true, 1, 3)
		notes = append(notes, s.c.Take().Notes...)
	}
	why, err := s.c.Why(s.now, s.job)
	if err != nil || !strings.Contains(why, want) || !strings.Contains(why, "(for 8s; so it is with 1 other outputs)") {
		t.Errorf("why: %q, %v", why, err)
	}
	if got := s.status().LastError; !strings.Contains(got, "cannot fetch the output of map") {
		t.Errorf("status: %q", got)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], want) || !strings.HasPrefix(notes[0], string(s.job)) {
		t.Errorf("log: %q", notes)
	}
}
