package tracker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A hand is a worker that a test plays: what it runs and what it holds.
type hand struct {
	rack     string
	name     wire.NodeName
	life     int
	seq      uint64
	room     int32
	machine  wire.Capacity // what it has instead of room
	running  map[wire.AttemptID]bool
	held     []wire.AttemptID
	full     bool
	killed   []wire.AttemptID
	idle     float64 // one above what it says of its processors
	progress float64 // what it says of all that it runs
	ran      time.Duration
}

func (h *hand) addr() string { return fmt.Sprint(h.name, ":", h.life) }

// restart is a new life; the disk is the old one.
func (h *hand) restart() {
	h.life, h.seq, h.full = h.life+1, 0, true
	h.running = map[wire.AttemptID]bool{}
}

// A stage set is a master, a job and two workers: n0 runs the driver, and n1 maps.
type scene struct {
	t      *testing.T
	c      *Tracker
	now    time.Duration
	n0, n1 *hand
	job    wire.JobID
}

// newScene has a job of so many maps and two reduces, which wait for the last map.
func newScene(t *testing.T, maps int, room int32) *scene {
	t.Helper()
	return newSceneOf(t, maps, 2, room)
}

func newSceneOf(t *testing.T, maps int, reduces, room int32) *scene {
	t.Helper()
	s := &scene{t: t, c: newCore(t), n0: &hand{name: "n0", rack: "r0", room: 1}, n1: &hand{name: "n1", rack: "r1", room: room}}
	s.c.Resume(0)
	for _, h := range []*hand{s.n0, s.n1} {
		h.restart()
		s.say(h)
	}
	id, err := s.c.Submit(s.now, wire.JobSpec{Name: "j", User: "ann", Stages: 1, Slowstart: 1, Program: wire.Program{Builtin: "sleep"}})
	if err != nil {
		t.Fatal(err)
	}
	s.job = id
	s.say(s.n0) // it hears of the driver
	if _, err := s.c.Plan(s.now, runningDriver(s.c, id), &wire.StagePlan{Splits: splitsOf(maps), Reducers: reduces}); err != nil {
		t.Fatal(err)
	}
	s.say(s.n1)
	return s
}

// say lets a worker report, and do what it is told.
func (s *scene) say(h *hand, ended ...wire.Ended) {
	s.t.Helper()
	s.now += 10 * time.Millisecond
	if h.seq++; h.seq == 1 {
		s.c.Loose(h.name, fmt.Sprint(h.name, ":", h.life-1)) // the connection of its life before broke
	}
	has := h.machine
	if h.room > 0 {
		has = wire.Capacity{Containers: h.room}
	}
	r := &wire.Report{
		Node: h.name, Rack: h.rack, Session: h.addr(), Seq: h.seq, Addr: h.addr(), Idle: h.idle - 1, Capacity: has,
		Full: h.full, Fresh: h.seq == 1, Ended: ended,
	}
	for _, e := range ended {
		delete(h.running, e.ID)
		if e.OK && e.ID.Kind == wire.MapTask {
			h.held = append(h.held, e.ID)
		}
	}
	if h.full {
		r.Held = wire.PackHeld(slices.Clone(h.held))
	}
	for id := range h.running {
		r.Running = append(r.Running, wire.Progress{ID: id, Done: h.progress, Millis: h.ran.Milliseconds()})
	}
	a, err := s.c.Report(s.now, r, 1<<62)
	if err != nil {
		s.t.Fatal(err)
	}
	h.full = a.Full
	for _, l := range a.Launch {
		h.running[l.ID] = true
	}
	for _, k := range a.Kill {
		h.killed = append(h.killed, k.ID)
		delete(h.running, k.ID)
	}
}

// mapsOf lists the maps that a worker runs.
func (h *hand) mapsOf() (out []wire.AttemptID) {
	for id := range h.running {
		if id.Kind == wire.MapTask {
			out = append(out, id)
		}
	}
	return out
}

// finish ends so many maps on a worker, well.
func (s *scene) finish(h *hand, n int) {
	s.t.Helper()
	for range n {
		if len(h.mapsOf()) == 0 {
			s.say(h)
		}
		list := h.mapsOf()
		if len(list) == 0 {
			s.t.Fatalf("%s runs nothing", h.name)
		}
		s.say(h, wire.Ended{ID: list[0], OK: true, Millis: 5, OutBytes: 1000, Counts: wire.Counts{"g": {"n": 1}}})
	}
}

// pass lets time go by while n0 speaks.
func (s *scene) pass(d time.Duration) {
	s.t.Helper()
	for end := s.now + d; s.now < end; s.now += 90 * time.Millisecond {
		s.say(s.n0)
		s.c.Tick(s.now)
	}
}

func (s *scene) done(when string, want int) {
	s.t.Helper()
	got, err := s.c.Status(s.job)
	if err != nil || got.Maps.Done != want {
		s.t.Errorf("%s: %d maps are done, want %d: %v", when, got.Maps.Done, want, err)
	}
	if n := got.Counts["g"]["n"]; n > int64(got.Maps.Total) {
		s.t.Errorf("%s: %d maps are counted", when, n)
	}
}

// die is the end of n1 that the master sees.
func (s *scene) die() {
	s.c.NodeGone(s.now, s.n1.name, s.n1.addr(), "its connection broke")
}

// TestRestartedWorkerKeepsItsOutput: a worker that is started again has what it had done; what it was doing runs again.
// Reduces hear where it is now.
func TestRestartedWorkerKeepsItsOutput(t *testing.T) {
	for name, seen := range map[string]bool{"at once": false, "after its death was seen": true} {
		s := newScene(t, 6, 2)
		s.finish(s.n1, 3)
		from := s.c.Outputs(wire.OutputsRequest{StageRef: wire.StageRef{Job: s.job}}).Next
		if seen {
			s.die()
			s.pass(5 * time.Second) // maps wait for room, so there is no hurry
		}
		s.done(name+": before it is back", 3)
		s.n1.restart()
		s.say(s.n1)
		s.done(name, 3)
		resp := s.c.Outputs(wire.OutputsRequest{StageRef: wire.StageRef{Job: s.job}, From: from})
		if len(resp.Changes) != 3 || resp.Changes[0].Addr != s.n1.addr() || resp.Changes[0].Lost {
			t.Errorf("%s: reduces hear %+v", name, resp)
		}
		s.finish(s.n1, 3)
		s.done(name+": at the end", 6)
		if again := restarted(t, s.c.Take().Records); len(again.jobs[s.job].stages[0].changes) != from+3+3 {
			t.Errorf("%s: the next master lists %d changes", name, len(again.jobs[s.job].stages[0].changes))
		}
	}
}

// TestRestartedWorkerWithoutItsDisk: what is not there any more runs again.
func TestRestartedWorkerWithoutItsDisk(t *testing.T) {
	s := newScene(t, 6, 2)
	s.finish(s.n1, 4)
	s.n1.held = s.n1.held[:1]
	s.n1.restart()
	s.say(s.n1)
	s.done("with one output left", 1)
}

// TestOutputOfTheDeadIsGivenUp: soon if no other map waits, else when the worker would be taken for dead. If it comes back
// with it, it counts again, and who does the work again is stopped.
func TestOutputOfTheDeadIsGivenUp(t *testing.T) {
	s := newScene(t, 3, 4)
	s.finish(s.n1, 3)
	s.die()
	s.done("at its death", 3)
	s.pass(200 * time.Millisecond)
	s.done("while it may be back at once", 3)
	s.pass(time.Second)
	s.done("after a second", 0)
	s.n1.restart()
	s.n1.room = 4
	s.say(s.n1)
	s.done("when it is back", 3)
	if n := len(s.n1.mapsOf()); n != 0 {
		t.Errorf("%d maps run again", n)
	}

	s = newScene(t, 9, 1)
	s.finish(s.n1, 3)
	s.die()
	s.pass(8 * time.Second)
	s.done("8 s after its death, others wait", 3)
	s.pass(3 * time.Second)
	s.done("11 s after it", 0)
	third := &hand{name: "n2", room: 9}
	third.restart()
	s.say(third)
	s.say(third)
	if n := len(third.mapsOf()); n != 9 {
		t.Fatalf("another worker runs %d maps", n)
	}
	s.say(s.n1) // it was only cut off: the same life
	s.say(s.n1) // asked what it has, it says
	s.say(third)
	s.done("when it is back", 3)
	if len(third.killed) != 3 {
		t.Errorf("%d of the maps that run again are stopped", len(third.killed))
	}
}

// TestOutputOfOthersStays: with a worker only its own map output is given up, and it is told again only where it is.
func TestOutputOfOthersStays(t *testing.T) {
	s := newScene(t, 4, 2)
	other := &hand{name: "n2", rack: "r0", room: 2}
	other.restart()
	s.say(other)
	s.say(other)
	s.finish(s.n1, 2)
	s.finish(other, 2)
	from := s.c.Outputs(wire.OutputsRequest{StageRef: wire.StageRef{Job: s.job}}).Next
	moved := func(when string, want int) {
		t.Helper()
		n := 0
		for _, r := range s.c.Take().Records {
			if r.Kind == Moved {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d times it is written down that output has moved, want %d", when, n, want)
		}
	}
	s.n0.restart() // it has none
	s.say(s.n0)
	moved("n0 was started again", 0)
	s.n1.restart()
	s.say(s.n1)
	moved("n1 was started again", 1)
	s.n1.full = true
	s.say(s.n1)
	moved("it has told once more what it has", 0)
	for _, o := range s.c.Outputs(wire.OutputsRequest{StageRef: wire.StageRef{Job: s.job}, From: from}).Changes {
		if o.Node != "n1" || o.Lost {
			t.Errorf("told again is %+v", o)
		}
	}
	s.done("when n1 was started again", 4)
	s.die()
	s.pass(time.Second)
	s.done("when n1 is gone", 2)
	for _, o := range s.c.Outputs(wire.OutputsRequest{StageRef: wire.StageRef{Job: s.job}}).Changes[4:] {
		if lost := slices.ContainsFunc(s.n1.held, func(id wire.AttemptID) bool { return id.Index == o.Map }); o.Lost != lost {
			t.Errorf("%+v, of n1: %v", o, lost)
		}
	}
}

// TestDamagedOutputDoesNotComeBack: what was given up because it is damaged does not count again.
func TestDamagedOutputDoesNotComeBack(t *testing.T) {
	s := newScene(t, 2, 4)
	s.finish(s.n1, 2)
	s.die()
	s.pass(time.Second)
	s.n1.restart()
	s.say(s.n1)
	s.done("back", 2)
	bad := s.n1.held[0]
	s.say(s.n1)
	for i := range int32(3) {
		s.c.badFetch(s.now, wire.BadFetch{Map: bad, By: wire.AttemptID{Job: s.job, Kind: wire.ReduceTask, Index: i, Try: uint64(i) + 1}, Why: "damaged"})
	}
	s.done("damaged", 1)
	s.n1.full = true
	s.say(s.n1)
	s.done("told again", 1)
}

// TestUnreachedWorker: that reduces cannot reach a worker is believed when it is alive and says so itself; when it has just
// died, it may come back with its output.
func TestUnreachedWorker(t *testing.T) {
	s := newScene(t, 2, 4)
	s.finish(s.n1, 2)
	complain := func(addr string) {
		for i, id := range s.n1.held {
			s.c.complaint(s.now, wire.BadFetch{
				Map: id, By: wire.AttemptID{Job: s.job, Kind: wire.ReduceTask, Try: uint64(i)}, Why: "refused", Addr: addr, Unreached: true,
			})
		}
	}
	complain(s.n1.addr())
	s.done("when reduces complain", 2)
	s.die()
	complain(s.n1.addr())
	s.done("when it has died", 2)
	old := s.n1.addr()
	s.n1.restart()
	s.say(s.n1)
	complain(old)
	s.say(s.n1)
	s.done("complaints about where it was", 2)
	complain(s.n1.addr())
	s.say(s.n1)
	s.done("it is alive, and cannot be reached", 0)
}

// TestMuchIsHeldByOne: what a worker has comes in stretches. What lies between two of them is not taken for lost, what is
// missing from its stretch is, and a master that hears the second first asks for all.
func TestMuchIsHeldByOne(t *testing.T) {
	s := newScene(t, 6, 6)
	s.finish(s.n1, 6)
	ids := wire.PackHeld(slices.Clone(s.n1.held)) // sorts nothing of ours
	var all []wire.AttemptID
	if err := ids[0].Each(func(id wire.AttemptID) { all = append(all, id) }); err != nil {
		t.Fatal(err)
	}
	place := wire.PlaceOf(all[2])
	send := func(from, to *wire.HeldPlace, held ...wire.AttemptID) wire.Answer {
		s.c.Loose("n1", fmt.Sprint("n1:", s.n1.life-1))
		s.n1.seq++
		s.now += time.Millisecond
		a, err := s.c.Report(s.now, &wire.Report{
			Node: "n1", Session: s.n1.addr(), Seq: s.n1.seq, Addr: s.n1.addr(), Idle: -1, Capacity: wire.Capacity{Containers: 6},
			Full: true, Held: wire.PackHeld(held), HeldFrom: from, HeldTo: to,
		}, 1<<62)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	send(nil, &place, all[:3]...)
	send(nil, &place, all[:3]...)
	s.done("after the first stretch", 6)
	if a := send(&place, nil, all[3:]...); a.Full {
		t.Error("it is asked again")
	}
	if a := send(&place, nil, all[3:]...); a.Full {
		t.Error("it is asked again after a stretch that came twice")
	}
	s.done("after both", 6)
	later := wire.PlaceOf(all[4])
	send(nil, &place, all[:3]...)
	if a := send(&later, nil, all[5:]...); !a.Full {
		t.Error("a stretch is missing between two, and it is not asked for all")
	}
	s.done("with a stretch missing", 6)
	send(nil, &place, all[:3]...)
	send(&place, nil, all[4:]...)
	s.done("with one missing", 5)
	s.n1.life, s.n1.seq = s.n1.life+1, 0
	if a := send(&place, nil, all[4:]...); !a.Full {
		t.Error("a new life that begins in the middle is not asked for all")
	}
	s.done("nothing more is lost", 5)
}

// TestDrainLasts: a node that was drained is so after a restart of the master, from its journal or from a snapshot.
func TestDrainLasts(t *testing.T) {
	s := newScene(t, 2, 4)
	if err := s.c.Drain(s.now, "n1", false); err != nil {
		t.Fatal(err)
	}
	records := s.c.Take().Records
	draining := func(c *Tracker) bool { n := c.byName["n1"]; return n != nil && n.drain }
	if !draining(restarted(t, records)) || !draining(restarted(t, s.c.Snapshot(s.now))) {
		t.Error("after a restart nobody knows")
	}
	if err := s.c.Drain(s.now, "n1", true); err != nil {
		t.Fatal(err)
	}
	if draining(restarted(t, append(records, s.c.Take().Records...))) || draining(restarted(t, s.c.Snapshot(s.now))) {
		t.Error("it is drained for ever")
	}
}

// TestANameBelongsToOne: while a worker is heard of another with its name is refused, by an error that says where the
// holder is. It is taken in when the holder's connection broke, when it is down, and when it was not heard of for
// three seconds.
func TestANameBelongsToOne(t *testing.T) {
	for name, free := range map[string]func(s *scene){
		"its connection broke": func(s *scene) { s.c.Loose("n1", s.n1.addr()) },
		"it is down":           func(s *scene) { s.die() },
		"it is silent":         func(s *scene) { s.now += 3 * time.Second },
	} {
		s := newScene(t, 2, 2)
		other := func() error {
			s.now += 10 * time.Millisecond
			_, err := s.c.Report(s.now, &wire.Report{Node: "n1", Session: "other", Seq: 1, Addr: "elsewhere:1", Idle: -1, Capacity: wire.Capacity{Containers: 2}}, 1<<62)
			return err
		}
		if err := other(); wire.KindOf(err) != wire.Exists || err == nil || !strings.Contains(err.Error(), "n1:1") {
			t.Errorf("%s: before, the other is told %v", name, err)
		}
		s.say(s.n1) // it did not suffer
		free(s)
		if err := other(); err != nil {
			t.Errorf("%s: the other is told %v", name, err)
		}
	}
	s := newScene(t, 2, 2)
	for i, want := range []wire.Kind{wire.Exists, wire.Exists, wire.Invalid} { // it is known to live when it is heard a second after the other came
		_, err := s.c.Report(s.now, &wire.Report{Node: "n1", Session: "other", Seq: 1, Addr: "elsewhere:1", Idle: -1, Capacity: wire.Capacity{Containers: 2}}, 1<<62)
		if wire.KindOf(err) != want || !strings.Contains(err.Error(), "there is a worker n1 already, at n1:1, heard of ") {
			t.Errorf("try %d: %v is %v, want %v", i, err, wire.KindOf(err), want)
		}
		s.now += 900 * time.Millisecond
		s.say(s.n1)
	}
	_, err := s.c.Report(s.now, &wire.Report{Node: "n1", Session: "third", Seq: 1, Addr: "elsewhere:1", Idle: -1, Capacity: wire.Capacity{Containers: 2}}, 1<<62)
	if wire.KindOf(err) != wire.Exists {
		t.Errorf("a third, which has just come, is told %v", err)
	}
}

// TestStoppedForNoReason: a worker is told why it stops an attempt also where nobody has given a reason: without one it takes the end for a failure.
func TestStoppedForNoReason(t *testing.T) {
	s := newScene(t, 2, 2)
	if err := s.c.Kill(s.now, s.job, ""); err != nil {
		t.Fatal(err)
	}
	kills := s.c.AnswerTo("n1", 1<<62).Kill
	for _, k := range kills {
		if k.Why == "" {
			t.Errorf("%s is stopped without a reason", k.ID)
		}
	}
	if len(kills) != 2 {
		t.Errorf("%+v", kills)
	}
}
