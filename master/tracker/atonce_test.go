package tracker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/fifo"
	"github.com/millrace/millrace/scheduler/policies"
)

// wanted lists the attempts that should run on a worker, by kind.
func (s *scene) wanted(h *hand, kind wire.TaskKind) (out []wire.AttemptID) {
	for _, a := range sortedAttempts(s.c.byName[h.name].want) {
		if a.id.Kind == kind {
			out = append(out, a.id)
		}
	}
	return out
}

// TestNothingWaitsForATick: what makes room, or work, gives it at once to a worker that has reported before: nobody waits for the next report or Tick.
func TestNothingWaitsForATick(t *testing.T) {
	third := func(s *scene, room int32) *hand {
		h := &hand{name: "n2", rack: "r0", room: room}
		h.restart()
		s.say(h)
		s.say(h)
		return h
	}
	end := func(s *scene, h *hand, e wire.Ended) { // and the worker takes nothing new
		s.tell(h, func(r *wire.Report) {
			r.Running = slices.DeleteFunc(r.Running, func(p wire.Progress) bool { return p.ID == e.ID })
			r.Ended, r.Sick = []wire.Ended{e}, "its disk is full"
		})
	}
	for what, happens := range map[string]func(s *scene) (h *hand, kind wire.TaskKind){
		"a plan comes": func(s *scene) (*hand, wire.TaskKind) {
			h := third(s, 4)
			s.finish(s.n1, 2)
			id := mustSleep(s.t, s.c, s.now, "bob")
			if _, err := s.c.Plan(s.now, runningDriver(s.c, id), &wire.StagePlan{Splits: splitsOf(9)}); err != nil {
				s.t.Fatal(err)
			}
			return h, wire.MapTask
		},
		"its worker dies": func(s *scene) (*hand, wire.TaskKind) {
			h := third(s, 4)
			s.die()
			return h, wire.MapTask
		},
		"an attempt fails": func(s *scene) (*hand, wire.TaskKind) {
			h := third(s, 4)
			end(s, s.n1, wire.Ended{ID: s.n1.mapsOf()[0], Error: "no"})
			return h, wire.MapTask
		},
		"its driver fails": func(s *scene) (*hand, wire.TaskKind) {
			h := third(s, 4)
			end(s, s.n0, wire.Ended{ID: runningDriver(s.c, s.job), Error: "no"})
			return h, wire.DriverTask
		},
		"output is lost": func(s *scene) (*hand, wire.TaskKind) {
			h := third(s, 4)
			s.finish(s.n1, 2)
			s.say(s.n1)
			for i := range int32(2) {
				s.c.badFetch(s.now, wire.BadFetch{Map: s.n1.held[0], By: wire.AttemptID{Job: s.job, Kind: wire.ReduceTask, Index: i, Try: uint64(i) + 1}, Why: "damaged"})
			}
			return h, wire.MapTask
		},
		"another job ends": func(s *scene) (*hand, wire.TaskKind) {
			third(s, 0)
			oneDriver(s.t, s.c)
			mustSleep(s.t, s.c, s.now, "bob")
			s.kill(s.job)
			return s.n0, wire.DriverTask
		},
		"more containers are allowed": func(s *scene) (*hand, wire.TaskKind) {
			for _, n := range []int{2, wire.NoLimit} {
				if err := s.c.SetLimits(s.now, wire.LimitRequest{User: "ann", Changes: map[string]int64{"containers": int64(n)}}); err != nil {
					s.t.Fatal(err)
				}
				if got := len(s.wanted(s.n1, wire.MapTask)); n == wire.NoLimit && got != 2 {
					s.t.Errorf("more containers are allowed: %d maps run", got)
				}
				for _, id := range s.n1.mapsOf() {
					s.say(s.n1, wire.Ended{ID: id, Error: "no"})
				}
				if got := len(s.wanted(s.n1, wire.MapTask)); n == 2 && got != 1 {
					s.t.Errorf("beside the driver one container is allowed: %d maps run", got)
				}
			}
			return s.n1, wire.MapTask
		},
		"a limit is lifted": func(s *scene) (*hand, wire.TaskKind) {
			h := third(s, 4)
			for _, n := range []int64{1, wire.NoLimit} {
				if err := s.c.SetLimits(s.now, wire.LimitRequest{User: "ann", Changes: map[string]int64{"running": n}}); err != nil {
					s.t.Fatal(err)
				}
				if n == 1 {
					mustSleep(s.t, s.c, s.now, "ann")
				}
			}
			return h, wire.DriverTask
		},
	} {
		s := newScene(t, 2, 2)
		if h, kind := happens(s); len(s.wanted(h, kind)) == 0 {
			t.Errorf("%s: no %s begins on %s", what, kind, h.name)
		}
	}
}

// TestWhoseWordOutputIsLost: of so many reduces that run so many have to complain until a map runs again, each counted once; those who speak of another try, or of where the worker
// was before, do not count.
func TestWhoseWordOutputIsLost(t *testing.T) {
	for running, most := range map[int32]int{1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 6: 3, 7: 3, 50: 3} {
		s := newScene(t, 1, 2)
		s.finish(s.n1, 1)
		s.c.jobs[s.job].current().busy[1] = running
		bad := wire.BadFetch{Map: s.n1.held[0], By: wire.AttemptID{Job: s.job, Kind: wire.ReduceTask, Try: 1}, Why: "damaged", Addr: s.n1.addr()}
		other, before := bad, bad
		other.Map.Try++
		before.Addr = "n1:0"
		for i := range most {
			s.done("before", 1)
			bad.By.Try = uint64(i) + 1
			for range 3 {
				s.c.badFetch(s.now, other)
				s.c.badFetch(s.now, before)
			}
			if s.done("others complain", 1); i < most-1 {
				s.c.badFetch(s.now, bad)
			}
			s.c.badFetch(s.now, bad)
		}
		if s.done("all complain", 0); !strings.HasSuffix(s.status().LastError, "reduces could not fetch it: damaged") {
			t.Errorf("%d reduces run: %q", running, s.status().LastError)
		}
	}
}

// TestGraceWaitsForTheWholeStory: after a restart of the master a worker has reported when it has told all that it has, stretch by stretch.
func TestGraceWaitsForTheWholeStory(t *testing.T) {
	s := newScene(t, 4, 4)
	s.finish(s.n1, 4)
	s.say(s.n1)
	c := newCore(t)
	for _, r := range s.c.Snapshot(s.now) {
		c.Replay(&r)
	}
	c.Resume(s.now)
	place := wire.PlaceOf(s.n1.held[0])
	for i, x := range []struct {
		full     bool
		from, to *wire.HeldPlace
		over     bool
	}{{false, nil, nil, false}, {true, nil, &place, false}, {true, &place, nil, true}} {
		held := []wire.AttemptID{s.n1.held[0]}
		if x.from != nil {
			held = slices.Clone(s.n1.held[1:])
		}
		r := &wire.Report{Node: "n1", Rack: "r1", Session: "s", Seq: uint64(i) + 1, Addr: "n1", Idle: -1, Capacity: wire.Capacity{Containers: 4}}
		if r.Full = x.full; x.full {
			r.Held, r.HeldFrom, r.HeldTo = wire.PackHeld(held), x.from, x.to
		}
		if _, err := c.Report(s.now+c.cfg.Grace/2, r, 1<<62); err != nil {
			t.Fatal(err)
		}
		if got := c.graceEnd == 0; got != x.over {
			t.Errorf("after report %d the grace is over: %v", i, got)
		}
	}
}

// TestPagesOfLines: a page of the log has as many lines as fit into two mebibytes, and one at least; it says where the next begins.
func TestPagesOfLines(t *testing.T) {
	for _, x := range []struct {
		bytes, lines, want int
		more, next         bool
	}{{1000, 9, 9, false, false}, {1000, 9, 9, true, true}, {300_000, 9, 6, false, true}, {3 << 20, 2, 1, false, true}, {3 << 20, 1, 1, false, false}, {0, 0, 0, false, false}} {
		p := Page{First: 70, More: x.more}
		for range x.lines {
			p.Lines = append(p.Lines, drive.Line{Kind: drive.LineEvent, Event: scheduler.JobSubmitted(&scheduler.JobSpec{Name: strings.Repeat("n", x.bytes)})})
		}
		out, err := p.Encode()
		if err != nil || len(out.Lines) != x.want || out.Next != uint64(70+x.want) || out.More != x.next {
			t.Errorf("%+v: %d lines, the next is %d, more: %v; %v", x, len(out.Lines), out.Next, out.More, err)
		}
	}
}

// TestOutputsComeByPages: who asks where map output is gets ten thousand places at a time, and hears when that is all; who has spoken to another master begins anew.
func TestOutputsComeByPages(t *testing.T) {
	const page, most = 10_000, 10_001
	c, driver := planned(t)
	c.cfg.Epoch = 7
	if _, err := c.Plan(2, driver, &wire.StagePlan{Splits: splitsOf(most), Reducers: 1}); err != nil {
		t.Fatal(err)
	}
	end := func(from, to int32) {
		for i := from; i < to; i++ {
			c.takeEnd(3, c.nodes[0], &wire.Ended{ID: wire.AttemptID{Job: driver.Job, Kind: wire.MapTask, Index: i, Try: uint64(i) + 50}, OK: true})
		}
	}
	ask := func(from int, epoch uint64, want, next int, all bool) {
		t.Helper()
		got := c.Outputs(wire.OutputsRequest{StageRef: wire.StageRef{Job: driver.Job}, From: from, Epoch: epoch})
		if len(got.Changes) != want || got.Next != next || got.All != all || got.Epoch != 7 || got.Gone {
			t.Errorf("from %d, of master %d: %d places, the next is %d, all: %v", from, epoch, len(got.Changes), got.Next, got.All)
		}
	}
	end(0, page)
	ask(0, 7, page, page, false)
	ask(page, 7, 0, page, false)
	end(page, most)
	ask(0, 7, page, page, false)
	ask(page, 7, 1, most, true)
	ask(page, 6, page, page, false)
	ask(page, 0, 1, most, true)
	ask(-5, 7, page, page, false)
	ask(most+5, 7, 0, most, true)
	for _, ref := range []wire.StageRef{{Job: "job-9"}, {Job: driver.Job, Stage: 1}} {
		if got := c.Outputs(wire.OutputsRequest{StageRef: ref}); !got.Gone || len(got.Changes) > 0 {
			t.Errorf("%v: %+v", ref, got)
		}
	}
}

// TestPoliciesStopAttempts: what a policy stops is told to its worker, with the reason, and to the history; its task waits again.
func TestPoliciesStopAttempts(t *testing.T) {
	s := newScene(t, 2, 2)
	p := &killer{Policy: fifo.New(scheduler.DefaultReduceRule())}
	s.c.SetPolicy(s.now, p)
	s.say(s.n1)
	id := s.n1.mapsOf()[0]
	node := s.c.byName["n1"]
	p.doomed = []scheduler.Victim{{Task: node.want[id].task(), Node: node.id, Reason: scheduler.Reason{Say: "others need it more"}}}
	s.c.Take()
	s.c.Tick(s.now)
	out := s.c.Take()
	if !slices.ContainsFunc(out.Events, func(e Event) bool { return e.Kind == wire.PastStopped && e.ID == id && e.Text == "others need it more" }) {
		t.Errorf("the history is told %+v", out.Events)
	}
	if !slices.Contains(out.Wake, "n1") {
		t.Errorf("woken are %v", out.Wake)
	}
	if kills := s.c.AnswerTo("n1", 1<<62).Kill; len(kills) != 1 || kills[0] != (wire.Kill{ID: id, Why: "others need it more"}) {
		t.Errorf("the worker is told to stop %+v", kills)
	}
	if node.want[id] != nil || s.c.Tally().Stopped != 1 {
		t.Errorf("it should run still; %+v", s.c.Tally())
	}
}

// TestWhereJobsAvoidNodes: a job avoids up to one in so many of the nodes that are up, and never all.
func TestWhereJobsAvoidNodes(t *testing.T) {
	for _, x := range []struct{ up, oneIn, fail, avoided int }{{3, 3, 1, 1}, {2, 3, 1, 0}, {4, 3, 1, 1}, {6, 3, 2, 2}, {5, 3, 2, 0}, {2, 1, 1, 1}, {2, 1, 2, 0}, {1, 1, 1, 0}} {
		s := newScene(t, 9, 1)
		for i := range x.up - 2 {
			h := &hand{name: wire.NodeName(rune('a' + i)), rack: "r0", room: 1}
			h.restart()
			s.say(h)
		}
		if x.up == 1 {
			s.c.NodeGone(s.now, "n0", s.n0.addr(), "it broke")
		}
		st, list := s.c.jobs[s.job].current(), s.c.nodes[1:]
		list = append(slices.Clone(list), s.c.nodes[0])
		for _, n := range list[:x.fail] {
			for range s.c.cfg.NodeFailures {
				s.c.avoid(s.now, st, n, x.oneIn)
			}
		}
		avoided := 0
		for _, n := range s.c.nodes {
			if s.c.engine.View().Job(st.sid).Banned(n.id) {
				avoided++
			}
		}
		if avoided != x.avoided {
			t.Errorf("%+v: %d are avoided", x, avoided)
		}
	}
}

// TestPlansOfWhomNobodyAnnounced: where the policy has planned a job when it came is written down, so that it goes on there after a restart; a new policy
// plans what was announced at once.
func TestPlansOfWhomNobodyAnnounced(t *testing.T) {
	c := planner(t, "corral", 2)
	id, err := c.Submit(1, foreknown("j", "ann"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Plan(2, runningDriver(c, id), &wire.StagePlan{Splits: splitsOf(4), Reducers: 1}); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]*Tracker{"now": c, "after a restart": restarted(t, c.Snapshot(3))} {
		if list := c.Plans().Plans; len(list) != 1 || list[0].Job != id || len(list[0].MapRacks) == 0 || len(list[0].ReduceRacks) == 0 {
			t.Errorf("%s: %+v", what, list)
		}
	}
	c = planner(t, "fifo", 2)
	if err := c.Expect(0, []wire.JobSpec{foreknown("j", "ann")}); err != nil {
		t.Fatal(err)
	}
	corral, err := policies.Policy("corral", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.SetPolicy(time.Minute, corral)
	if p := c.Plans(); !p.Planner || len(p.Plans[0].MapRacks) == 0 {
		t.Errorf("a policy that plans has come: %+v", p)
	}
}
