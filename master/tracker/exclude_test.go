package tracker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// state is what the master says of a node.
func (h *hall) state(n int) string {
	h.t.Helper()
	list := h.c.Nodes(h.now)
	i := slices.IndexFunc(list, func(s wire.NodeStatus) bool { return s.Node == wire.NodeName(fmt.Sprint("n", n)) })
	return list[i].State
}

// running is how many attempts the master wants on a node.
func (h *hall) running(n int) int { return h.c.Nodes(h.now)[n].Running }

// TestFlappingWorkerRests is FAULTS row 5: a worker that comes and goes gets nothing for a while, and then is as
// good as the others. A second one is not excluded: that would be too many of three.
func TestFlappingWorkerRests(t *testing.T) {
	h := newHall(t)
	for range 3 {
		h.pass(12*time.Second, 0, 1)
		h.down("silent", "n2")
		h.pass(3*time.Second, 0, 1, 2)
		h.down("back")
	}
	if got := h.state(2); got != "excluded" {
		t.Fatalf("after three deaths in a minute it is %s", got)
	}
	if why := h.c.Nodes(h.now)[2].Sick; why != "was taken for dead 3 times in 2m0s; gets nothing for another 1m55s" {
		t.Errorf("it is said of it: %q", why)
	}
	for i := range 5 { // their drivers are the work
		if _, err := h.c.Submit(h.now, wire.JobSpec{Name: fmt.Sprint("j", i), User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}}); err != nil {
			t.Fatal(err)
		}
	}
	h.pass(3*time.Second, 0, 1, 2)
	if h.running(0)+h.running(1) != 3 || h.running(2) != 0 { // drivers leave room for a task, on a node that takes work
		t.Errorf("%d, %d and %d attempts run on n0, n1 and n2", h.running(0), h.running(1), h.running(2))
	}
	for range 4 {
		h.pass(12*time.Second, 0, 2)
		h.pass(3*time.Second, 0, 1, 2)
	}
	if one, two := h.state(1), h.state(2); one != "up" || two != "excluded" {
		t.Errorf("n1 has flapped too: it is %s, n2 %s", one, two)
	}
	h.pass(2*time.Minute, 0, 1, 2)
	if h.state(2) != "up" || h.running(2) == 0 {
		t.Errorf("two minutes later it is %s and runs %d attempts", h.state(2), h.running(2))
	}
}

// TestRestingNodesHaveNoRoom: the room of a node that is sick, excluded or draining counts nowhere; when it takes work
// again it does. Who asks why a job waits is told.
func TestRestingNodesHaveNoRoom(t *testing.T) {
	h := newHall(t)
	room := func(what string, want int32) {
		t.Helper()
		if v := h.c.View(); v.Total().Slots[scheduler.Map] != want {
			t.Errorf("%s: room for %d tasks, want %d", what, v.Total().Slots[scheduler.Map], want)
		}
	}
	room("all well", 6)
	h.sick = map[int]string{1: "its disk is gone"}
	h.pass(2*time.Second, 0, 1, 2)
	room("one is sick", 4)
	id, err := h.c.Submit(h.now, wire.JobSpec{Name: "j", User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}})
	if err != nil {
		t.Fatal(err)
	}
	if why, err := h.c.Why(h.now, id); err != nil || !strings.Contains(why, "n1 (sick: its disk is gone)") {
		t.Errorf("%q, %v", why, err)
	}
	h.sick = nil
	h.pass(2*time.Second, 0, 1, 2)
	room("well again", 6)
	for range 3 {
		h.pass(12*time.Second, 0, 1)
		h.pass(3*time.Second, 0, 1, 2)
	}
	room("one is excluded", 4)
	h.pass(2*time.Minute, 0, 1, 2)
	room("not any more", 6)
	if err := h.c.Drain(h.now, "n0", false); err != nil {
		t.Fatal(err)
	}
	h.pass(2*time.Second, 0, 1, 2)
	room("one drains", 4)
}

// TestBanEnds: a job leaves a node on which its attempts fail, and comes back to it after a while.
func TestBanEnds(t *testing.T) {
	s := newScene(t, 20, 2)
	others := []*hand{{name: "n2"}, {name: "n3"}}
	for _, h := range others { // without room
		h.restart()
		s.say(h)
	}
	for i := range 3 {
		list := s.n1.mapsOf()
		if len(list) == 0 {
			t.Fatalf("after %d failures n1 runs nothing", i)
		}
		s.say(s.n1, wire.Ended{ID: list[0], Error: "this disk is bad"})
	}
	for _, id := range s.n1.mapsOf() { // what ran there already ends
		s.say(s.n1, wire.Ended{ID: id, OK: true, Counts: wire.Counts{}})
	}
	minute := func() {
		for end := s.now + time.Minute; s.now < end; s.now += time.Second {
			for _, h := range append(others, s.n0, s.n1) {
				s.say(h)
			}
			s.c.Tick(s.now)
		}
	}
	minute()
	if list := s.n1.mapsOf(); len(list) > 0 {
		t.Errorf("three attempts have failed on n1, and it runs %v", list)
	}
	for range 10 {
		minute()
	}
	if len(s.n1.mapsOf()) != 2 {
		t.Errorf("ten minutes later n1 runs %v", s.n1.mapsOf())
	}
}

// TestSlowNodesAreLeft: a job leaves a node from which its reduces fetch too slowly, at once and however many say so; but not one of two nodes, and not one
// whose output is damaged.
func TestSlowNodesAreLeft(t *testing.T) {
	for _, x := range []struct{ third, slow, leaves bool }{{true, true, true}, {true, false, false}, {false, true, false}} {
		s := newScene(t, 20, 2)
		if x.third {
			h := &hand{name: "n2"} // without room
			h.restart()
			s.say(h)
		}
		s.finish(s.n1, 2)
		n1 := s.c.byName["n1"]
		st := s.c.stageOf(s.n1.held[0])
		for i, held := range s.n1.held {
			s.c.badFetch(s.now, wire.BadFetch{Map: held, By: wire.AttemptID{Job: s.job, Kind: wire.ReduceTask, Try: 1}, Slow: x.slow, Why: "bad"})
			if got := s.c.engine.View().Job(st.sid).Banned(n1.id); got != x.leaves {
				t.Errorf("%+v: complaint %d: it has left: %v", x, i+1, got)
			}
		}
	}
}

// TestLiftedBansAreOver: where too many nodes are avoided none is; when these bans would have ended, a job may avoid one again.
func TestLiftedBansAreOver(t *testing.T) {
	s := newScene(t, 20, 2)
	for _, h := range []*hand{{name: "n2"}, {name: "n3"}} { // without room
		h.restart()
		s.say(h)
	}
	n1, n2 := s.c.byName["n1"], s.c.byName["n2"]
	st := s.c.stageOf(s.n1.mapsOf()[0])
	fail := func(n *node) {
		for range s.c.cfg.NodeFailures {
			s.c.avoid(s.now, st, n, 3)
		}
	}
	avoids := func(n *node) bool { return s.c.engine.View().Job(st.sid).Banned(n.id) }
	fail(n1)
	if !avoids(n1) {
		t.Error("n1 is not avoided")
	}
	fail(n2) // two of four are more than a third
	if avoids(n1) || avoids(n2) {
		t.Error("two of four nodes are avoided")
	}
	s.now += s.c.cfg.Avoid
	s.c.unban(s.now)
	for _, n := range []*node{n2, n1} {
		fail(n)
		if !avoids(n) {
			t.Errorf("later %s is not avoided", n.name)
		}
		s.now += s.c.cfg.Avoid
		s.c.unban(s.now)
	}
}
