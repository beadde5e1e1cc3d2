package tracker

import (
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
)

// TestReduceIsCountedOnce: a reduce that runs again counts what it counted before, also for a master that was started from a snapshot
// meanwhile.
func TestReduceIsCountedOnce(t *testing.T) {
	for name, reborn := range map[string]bool{"": false, " after a restart": true} {
		s := newScene(t, 2, 2)
		s.endAll(wire.MapTask, func(i int32) uint64 { return uint64(11 + i) })
		s.say(s.n1)
		for id := range s.n1.running {
			if id.Index == 0 {
				s.say(s.n1, wire.Ended{ID: id, OK: true, Sum: read(11, 12), Counts: wire.Counts{"g": {"parts": 1}}})
			}
		}
		s.c.loseOutput(s.now, s.c.jobs[s.job].current(), 0, "it is gone")
		s.c.offerAll(s.now)
		s.endAll(wire.MapTask, func(int32) uint64 { return 99 })
		if got := s.status(); got.Reduces.Done != 0 || got.Counts["g"]["parts"] != 1 {
			t.Fatalf("%d reduces are done, counts %v", got.Reduces.Done, got.Counts)
		}
		if reborn {
			s.c = restarted(t, s.c.Snapshot(s.now))
			s.c.lastTry = 1000 // as that of a later epoch
			s.n0.restart()
			s.n1.restart()
		}
		for range 5 {
			for _, h := range []*hand{s.n0, s.n1} {
				s.say(h)
				for id := range h.running {
					if id.Kind == wire.ReduceTask && id.Index == 0 {
						s.say(h, wire.Ended{ID: id, OK: true, Sum: read(99, 12), Counts: wire.Counts{"g": {"parts": 1}}})
					}
				}
			}
		}
		if got := s.status(); got.Reduces.Done != 1 || got.Counts["g"]["parts"] != 1 {
			t.Errorf("%d reduces are done%s, and %d parts are counted, want 1 and 1", got.Reduces.Done, name, got.Counts["g"]["parts"])
		}
	}
}

// TestWaitingJobKeepsItsTime: for the policies of the next master, too, a job that waits for admission has come when it came.
func TestWaitingJobKeepsItsTime(t *testing.T) {
	c := newCore(t)
	c.Resume(0)
	id, err := c.Submit(10*time.Second, wire.JobSpec{Name: "j", User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}})
	if err != nil {
		t.Fatal(err)
	}
	records := c.Take().Records
	c = newCore(t)
	for i := range records {
		c.Replay(&records[i])
	}
	c.Resume(time.Hour)
	if got := c.engine.View().Job(c.jobs[id].current().sid).Submitted(); got != 10*time.Second {
		t.Errorf("after a restart of the master the job has come at %s, want 10s", got)
	}
}

// TestSnapshotStays: a snapshot is written beside the tracker, which goes on.
func TestSnapshotStays(t *testing.T) {
	c := newCore(t)
	c.Resume(0)
	announce := func(input int64) {
		t.Helper()
		spec := wire.JobSpec{Name: "nightly", User: "ann", Stages: 1, Recurring: true, Program: wire.Program{Builtin: "sleep"}, Expect: wire.Expected{Input: input}}
		if err := c.Expect(1, []wire.JobSpec{spec}); err != nil {
			t.Fatal(err)
		}
	}
	announce(1000)
	records := c.Snapshot(2)
	announce(2000)
	for i := range records {
		if r := &records[i]; r.Kind == Expected && r.Spec.Expect.Input != 1000 {
			t.Errorf("the snapshot has become one of %d bytes", r.Spec.Expect.Input)
		}
	}
}

// TestSpecsAreForgotten: of a stage that a worker has dropped the master does not remember that it was there.
func TestSpecsAreForgotten(t *testing.T) {
	s := newScene(t, 2, 2)
	s.say(s.n1)
	n := s.c.byName[s.n1.name]
	if len(n.knows) != 1 {
		t.Fatalf("the worker knows %d stages", len(n.knows))
	}
	if err := s.c.Kill(s.now, s.job, "no more"); err != nil {
		t.Fatal(err)
	}
	for range 3 { // it stops, says what it has still, and is told to drop it
		s.say(s.n1)
		s.n1.seq++
		s.now += 10 * time.Millisecond
		r := &wire.Report{
			Node: s.n1.name, Rack: s.n1.rack, Session: s.n1.addr(), Seq: s.n1.seq, Addr: s.n1.addr(), Idle: -1,
			Capacity: wire.Capacity{Containers: s.n1.room}, Stages: []wire.StageRef{{Job: s.job}},
		}
		if _, err := s.c.Report(s.now, r, 1<<62); err != nil {
			t.Fatal(err)
		}
	}
	if len(n.knows) != 0 {
		t.Errorf("the master remembers %d stages that the worker has dropped", len(n.knows))
	}
}

// TestTrafficOfAMasterBefore: what a worker has sent before this master was there is no traffic of its first seconds.
func TestTrafficOfAMasterBefore(t *testing.T) {
	const before = 1 << 40
	c := newCore(t)
	c.Resume(0)
	now := time.Second
	tell := func(node wire.NodeName, seq uint64, fresh bool, sent int64) {
		t.Helper()
		now += 600 * time.Millisecond
		r := &wire.Report{
			Node: node, Session: "s", Seq: seq, Rack: string(node), Addr: string(node), Idle: -1, Capacity: wire.Capacity{Containers: 1},
			Fresh: fresh, Net: []wire.NetBytes{{Peer: "w1", What: "shuffle", Sent: sent}},
		}
		if _, err := c.Report(now, r, 1<<62); err != nil {
			t.Fatal(err)
		}
		c.Tick(now)
	}
	tell("w1", 7, false, 0)
	tell("old", 8, false, before)
	tell("old", 9, false, before+500)
	tell("new", 1, true, 70)
	want := map[wire.NodeName]int64{"w1": 0, "old": 500, "new": 70}
	for _, n := range c.Net(now).Nodes {
		if n.Sent["shuffle"] != want[n.Node] {
			t.Errorf("%s has sent %d bytes, want %d", n.Node, n.Sent["shuffle"], want[n.Node])
		}
	}
	if got := c.Net(now).CrossRack; got != 570 {
		t.Errorf("%d bytes went between racks, want 570", got)
	}
	r := &wire.Report{
		Node: "new", Session: "s", Seq: 2, Rack: "new", Addr: "new", Idle: -1, Capacity: wire.Capacity{Containers: 1},
		Net: []wire.NetBytes{{Peer: "w1", What: "shuffle", Sent: 70}, {Peer: "w1", What: wire.CircuitTraffic, Sent: 30}},
	}
	if _, err := c.Report(now, r, 1<<62); err != nil {
		t.Fatal(err)
	}
	if net := c.Net(now); net.CrossRack != 600 || net.Nodes[2].Sent[wire.CircuitTraffic] != 30 || net.Nodes[2].Sent["shuffle"] != 70 {
		t.Errorf("with 30 bytes over a circuit: %d between racks, sent %v", net.CrossRack, net.Nodes[2].Sent)
	}
}

// TestMachineAfterARestart: of what machine a worker is that the journal names, its next report says; so is the log of decisions, which
// replays.
func TestMachineAfterARestart(t *testing.T) {
	s := newScene(t, 2, 2)
	s.finish(s.n1, 1)
	c := newCore(t)
	c.cfg.Grace = 0
	for _, r := range s.c.Snapshot(s.now) {
		c.Replay(&r)
	}
	c.Resume(s.now)
	r := &wire.Report{Node: "n1", Session: "s", Seq: 1, Rack: "r1", Addr: "n1", Idle: -1, Machine: "fast", Capacity: wire.Capacity{Containers: 2}, Full: true}
	if _, err := c.Report(s.now, r, 1<<62); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes(s.now) {
		if n.Node == "n1" && n.Machine != "fast" {
			t.Errorf("n1 is a machine %q, want fast", n.Machine)
		}
	}
	if n := c.View().Topology().Node(c.byName["n1"].id); n.Class != "fast" {
		t.Errorf("for the policies it is a machine %q, want fast", n.Class)
	}
	p, err := policies.Policy("fifo", nil)
	if err == nil {
		err = drive.Replay(c.cfg.Scheduler, c.cfg.drive(nil, nil), p, nil, c.Lines(0).Lines)
	}
	if err != nil {
		t.Errorf("the log of decisions: %v", err)
	}
}

// TestAdoptedAttemptKeepsItsAge: an attempt that a restarted master finds running began when its worker says, though not before its
// job came: a second one starts as soon as it would have, and its slot time counts.
func TestAdoptedAttemptKeepsItsAge(t *testing.T) {
	for _, x := range []struct {
		ran, want time.Duration
		second    bool
	}{
		{0, 0, false}, // a worker that does not say: it may have begun just now
		{3 * time.Second, 3 * time.Second, false},
		{time.Minute, time.Minute, true},
		{-time.Hour, 0, false},
		{1 << 62, 2*time.Minute + 10*time.Millisecond, true},
	} {
		s := newScene(t, 2, 1)
		submitted := s.c.jobs[s.job].submitted
		s.say(s.n1, wire.Ended{ID: s.n1.mapsOf()[0], OK: true, Millis: 4000, OutBytes: 10})
		s.now = submitted + 2*time.Minute
		s.c = restartedAt(t, s.c.Snapshot(s.now), s.now)
		s.c.lastTry = 1000 // as that of a later epoch
		s.n0.room, s.n1.progress, s.n1.ran = 2, 0.9, x.ran
		s.n0.restart()
		s.n1.full, s.n1.seq = true, 10
		s.say(s.n1)
		st := s.c.jobs[s.job].current()
		if got := s.c.engine.View().Job(st.sid).Elapsed(s.now, scheduler.Map); got != x.want {
			t.Errorf("an attempt that has run for %v is %v old, want %v", x.ran, got, x.want)
		}
		for range 10 {
			s.say(s.n0)
			s.c.Tick(s.now)
		}
		if got := len(s.n0.mapsOf()) > 0; got != x.second {
			t.Errorf("an attempt that has run for %v of which %v would be left at its pace: a second one: %v, want %v", x.ran, x.ran/9, got, x.second)
		}
	}
}

// TestWorkerMovesToAnotherRack: where a worker is when it comes back, with another rack and class, is where it is from then on: at once when no job
// goes by the old rack, else when there is none any more. The next master and the log of decisions say the same.
func TestWorkerMovesToAnotherRack(t *testing.T) {
	for _, busy := range []bool{false, true} {
		s := newScene(t, 2, 2)
		in := func(c *Tracker, when, want string) {
			t.Helper()
			topo := c.View().Topology()
			if got := topo.Rack(topo.RackOf(c.byName["n1"].id)).Name; got != want {
				t.Errorf("busy %v: %s the policies have the worker in rack %s, want %s", busy, when, got, want)
			}
			for _, n := range c.Nodes(s.now) {
				if n.Node == "n1" && n.Rack != want {
					t.Errorf("busy %v: %s the worker is listed in rack %s, want %s", busy, when, n.Rack, want)
				}
			}
			for _, r := range []string{"r1", "r2"} {
				id, known := topo.RackByName(r)
				if !known {
					continue
				}
				room, size := c.View().RackTotal(id), 0
				if r == want {
					size = 1
				}
				if int(room.Nodes) != size || topo.RackSize(id) != size {
					t.Errorf("busy %v: %s rack %s has room of %d nodes and %d members, want %d", busy, when, r, room.Nodes, topo.RackSize(id), size)
				}
			}
		}
		if !busy {
			s.kill(s.job)
			s.say(s.n0)
			s.say(s.n1)
		}
		in(s.c, "at first", "r1")
		s.n1.restart()
		s.n1.rack = "r2"
		s.say(s.n1)
		if busy {
			in(s.c, "while a job runs", "r1")
			if notes := s.c.Take().Notes; !slices.Contains(notes, "worker n1 has come back in rack r2: it counts as one of r1 while there are jobs") {
				t.Errorf("busy: the log is told %q", notes)
			}
			s.say(s.n1)
			if notes := s.c.Take().Notes; len(notes) != 0 {
				t.Errorf("busy, and it says so again: the log is told %q", notes)
			}
			s.kill(s.job)
			s.say(s.n1)
		}
		in(s.c, "at last", "r2")
		if notes := s.c.Take().Notes; !slices.Equal(notes, []string{"worker n1 is in rack r2 now, no longer in r1"}) {
			t.Errorf("busy %v: the log is told %q", busy, notes)
		}
		if n := len(s.c.byName["n1"].deaths); n != 1 {
			t.Errorf("busy %v: %d deaths of a worker that was restarted once", busy, n)
		}
		id, driver := s.outputTo("dfs:/out", 1)
		if _, err := s.c.Plan(s.now, driver, &wire.StagePlan{Splits: splitsOf(2), Reducers: 1}); err != nil {
			t.Fatal(err)
		}
		s.job = id
		s.say(s.n1)
		s.finish(s.n1, 1)
		s.verify()
		next := restartedAt(t, s.c.Snapshot(s.now), s.now)
		topo := next.View().Topology()
		if n := next.byName["n1"]; n.rack != "r2" || topo.Rack(topo.RackOf(n.id)).Name != "r2" {
			t.Errorf("busy %v: for the next master it is in rack %s", busy, n.rack)
		}
	}
}
