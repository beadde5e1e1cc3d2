package tracker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
)

// TestWhoWatchesIsTold: those who watch a job hear of all that changes its status.
func TestWhoWatchesIsTold(t *testing.T) {
	chain := func(t *testing.T) (*Tracker, wire.AttemptID) {
		c := newCore(t)
		c.Resume(0)
		report(t, c, 0)
		id, err := c.Submit(1, wire.JobSpec{Name: "j", User: "ann", Stages: 2, Program: wire.Program{Builtin: "sleep"}})
		if err != nil {
			t.Fatal(err)
		}
		return c, runningDriver(c, id)
	}
	c, driver := chain(t)
	told := func(what string, c *Tracker, job wire.JobID) {
		t.Helper()
		if changed := c.Take().Changed; !slices.Contains(changed, job) {
			t.Errorf("%s: told are those who watch %v", what, changed)
		}
	}
	c.Take()
	if _, err := c.Plan(2, driver, &wire.StagePlan{}); err != nil {
		t.Fatal(err)
	}
	told("planned, and nothing to do", c, driver.Job)
	if err := c.Commit(3, driver, ""); err != nil {
		t.Fatal(err)
	}
	told("the last stage begins", c, driver.Job)
	if err := c.Kill(4, driver.Job, "no more"); err != nil {
		t.Fatal(err)
	}
	told("killed", c, driver.Job)
	s := newScene(t, 4, 2)
	s.c.Take()
	for what, e := range map[string]wire.Ended{"a map is done": {OK: true}, "a map failed": {Error: "no"}, "a machine failed": {Lost: true, Error: "no disk"}} {
		s.say(s.n1)
		s.c.Take()
		e.ID = s.n1.mapsOf()[0]
		s.say(s.n1, e)
		told(what, s.c, s.job)
	}
	s.c.loseOutput(s.now, s.c.jobs[s.job].current(), s.n1.held[0].Index, "it is gone")
	told("output is lost", s.c, s.job)
	s.say(s.n0, wire.Ended{ID: runningDriver(s.c, s.job), Error: "no"})
	told("the driver failed", s.c, s.job)
}

// TestEndsAreTold: the history hears how each attempt ended whose result does not count: its kind, what was wrong, and how long it took.
func TestEndsAreTold(t *testing.T) {
	for what, x := range map[string]struct {
		end        wire.Ended
		kind       wire.PastKind
		text       string
		millis     int64
		ofTheJob   string // its last error
		alsoDriver bool
	}{
		"fails":        {wire.Ended{Error: "no", Millis: 700, InBytes: 5, OutBytes: 6}, wire.PastFailed, "no", 700, "no", true},
		"cannot run":   {wire.Ended{Error: "no disk", Lost: true, Millis: 70}, wire.PastLost, "no disk", 2010, "no disk", true},
		"fails finale": {wire.Ended{Error: "never", Final: true, Millis: 9}, wire.PastFailed, "never", 9, "never", true},
	} {
		for _, kind := range []wire.TaskKind{wire.MapTask, wire.DriverTask} {
			s := newScene(t, 2, 1)
			h, id := s.n0, runningDriver(s.c, s.job)
			if kind == wire.MapTask {
				h, id = s.n1, s.n1.mapsOf()[0]
			}
			var began time.Duration
			for _, a := range sortedAttempts(s.c.byName[h.name].want) {
				began = a.start
			}
			s.now = began + 2*time.Second
			s.c.Take()
			e := x.end
			e.ID = id
			s.say(h, e)
			var got []Event
			for _, told := range s.c.Take().Events {
				if told.ID == id {
					got = append(got, told)
				}
			}
			if len(got) != 1 || got[0].Kind != x.kind || got[0].Text != x.text || got[0].Millis != x.millis || got[0].Node != h.name || got[0].Index != id.Index || x.kind == wire.PastFailed && (got[0].In != e.InBytes || got[0].Out != e.OutBytes) {
				t.Errorf("a %s %s: told is %+v", kind, what, got)
			}
			if st := s.status(); st.LastError != x.ofTheJob {
				t.Errorf("a %s %s: the last error is %q", kind, what, st.LastError)
			}
		}
	}
}

// TestPoliciesHearHowJobsEnd: whether a job succeeded, failed or is no longer wanted.
func TestPoliciesHearHowJobsEnd(t *testing.T) {
	for want, end := range map[scheduler.EventKind]func(c *Tracker, d wire.AttemptID) error{
		scheduler.EvJobFinished: func(c *Tracker, d wire.AttemptID) error { return c.Commit(3, d, "") },
		scheduler.EvJobFailed:   func(c *Tracker, d wire.AttemptID) error { return c.Commit(3, d, "the disk is full") },
		scheduler.EvJobVanished: func(c *Tracker, d wire.AttemptID) error {
			c.jobs[d.Job].current().committing = false
			return c.Kill(3, d.Job, "")
		},
	} {
		c, driver := planned(t)
		if _, err := c.Plan(2, driver, &wire.StagePlan{}); err != nil {
			t.Fatal(err)
		}
		sid := c.jobs[driver.Job].current().sid
		if err := end(c, driver); err != nil {
			t.Fatal(err)
		}
		var got []scheduler.EventKind
		for _, l := range c.Lines(0).Lines {
			if k := l.Event.Kind; l.Event.Job == sid && (k == scheduler.EvJobFinished || k == scheduler.EvJobFailed || k == scheduler.EvJobVanished) {
				got = append(got, k)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("told are %v, want %v", got, want)
		}
		if c.View().Job(sid) != nil && !c.jobs[driver.Job].state.Ended() {
			t.Error("the policies know the job still")
		}
	}
}

// TestLateReports: a report that comes twice, or after a later one, or of a life before, changes nothing and asks for nothing. A new life is told
// again what its jobs are.
func TestLateReports(t *testing.T) {
	s := newScene(t, 4, 2)
	s.say(s.n1)
	report := func(session string, seq uint64, addr string) wire.Answer {
		t.Helper()
		a, err := s.c.Report(s.now, &wire.Report{Node: "n1", Rack: "r1", Session: session, Seq: seq, Addr: addr, Idle: -1, Capacity: wire.Capacity{Containers: 2}}, 1<<62)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	old := s.n1.addr()
	for _, seq := range []uint64{1, s.n1.seq} {
		if a := report(old, seq, old); a.Seq != seq || a.Full || len(a.Launch)+len(a.Kill)+len(a.Ended) > 0 || len(s.wanted(s.n1, wire.MapTask)) != 2 {
			t.Errorf("report %d again: %+v, and %v run", seq, a, s.wanted(s.n1, wire.MapTask))
		}
	}
	s.n1.restart()
	s.n1.seq++
	s.c.Loose("n1", old)
	a := report(s.n1.addr(), 1, s.n1.addr())
	if len(a.Launch) != 2 || a.Launch[0].Spec == nil || a.Launch[0].Split == nil || !a.Full {
		t.Errorf("a new life is told %+v", a)
	}
	if a := report(old, 99, "elsewhere"); len(a.Launch)+len(a.Kill) > 0 || a.Seq != 99 || s.c.byName["n1"].addr != s.n1.addr() {
		t.Errorf("the life before is told %+v; the worker is at %s", a, s.c.byName["n1"].addr)
	}
	if got := s.c.Nodes(s.now)[1]; got.Addr != s.n1.addr() || got.State != "up" {
		t.Errorf("%+v", got)
	}
}

// TestIdleIsKnown: the policies know how idle a worker is that says so.
func TestIdleIsKnown(t *testing.T) {
	s := newScene(t, 1, 1)
	id := s.c.byName["n1"].id
	if p, known := s.c.View().NodeIdle(id); known {
		t.Errorf("of one that does not say: %g", p)
	}
	for _, idle := range []float64{0, 37.5, 100} {
		s.n1.idle = 1 + idle
		s.say(s.n1)
		if p, known := s.c.View().NodeIdle(id); p != idle || !known {
			t.Errorf("%g %%, %v, want %g", p, known, idle)
		}
	}
}

// TestBadRecordsAreShown: of records that were skipped a job names the first hundred, also after a restart, and a job that may skip fewer ends.
func TestBadRecordsAreShown(t *testing.T) {
	s := newScene(t, 4, 2)
	s.c.jobs[s.job].spec.Bad = 200
	bad := func(n int) (out []wire.BadRecord) {
		for i := range n {
			out = append(out, wire.BadRecord{File: "f", Offset: int64(i), Reason: "bad"})
		}
		return out
	}
	s.c.Take()
	for i, n := range []int{1, wire.MaxBad + 5} {
		s.say(s.n1)
		id := s.n1.mapsOf()[0]
		s.say(s.n1, wire.Ended{ID: id, OK: true, Skipped: 100 * i, Bad: bad(n)})
	}
	want := 1 + wire.MaxBad
	for what, c := range map[string]*Tracker{"now": s.c, "after a restart": restarted(t, s.c.Snapshot(s.now))} {
		if st, err := c.Status(s.job); err != nil || len(st.Bad) != want || st.Bad[0].File != "f" || st.State != wire.Running {
			t.Errorf("%s: %d bad records are named, want %d: %+v, %v", what, len(st.Bad), want, st.State, err)
		}
	}
	for range 2 {
		s.say(s.n1)
		if list := s.n1.mapsOf(); len(list) > 0 {
			s.say(s.n1, wire.Ended{ID: list[0], OK: true, Skipped: 51, Bad: bad(wire.MaxBad)})
		}
	}
	if st := s.status(); st.State != wire.Failed || st.Error != "202 bad records, more than the 200 that may be skipped" || len(st.Bad) > wire.MaxBadJob {
		t.Errorf("%+v", st)
	}
}

// TestPlansOutliveThePolicy: a job that runs where it was planned goes on there when the policy is put in place anew.
func TestPlansOutliveThePolicy(t *testing.T) {
	c := planner(t, "corral", 2)
	if err := c.Expect(0, []wire.JobSpec{foreknown("j", "ann")}); err != nil {
		t.Fatal(err)
	}
	id, err := c.Submit(1, foreknown("j", "ann"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Plan(2, runningDriver(c, id), &wire.StagePlan{Splits: splitsOf(4), Reducers: 1}); err != nil {
		t.Fatal(err)
	}
	sid := c.jobs[id].current().sid
	before, follows := c.engine.Follows(sid)
	if !follows || len(before.MapRacks) == 0 {
		t.Fatalf("the job follows %+v", before)
	}
	again, err := policies.Policy("corral", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.SetPolicy(3, again)
	if after, follows := c.engine.Follows(sid); !follows || !slices.Equal(after.MapRacks, before.MapRacks) || !slices.Equal(after.ReduceRacks, before.ReduceRacks) {
		t.Errorf("it followed %+v and follows %+v", before, after)
	}
}

// TestSnapshotsAreShort: a snapshot has what is needed to go on, and no record that says nothing.
func TestSnapshotsAreShort(t *testing.T) {
	kinds := func(c *Tracker) string {
		var out []string
		for _, r := range c.Snapshot(9) {
			out = append(out, string(r.Kind))
		}
		return strings.Join(out, " ")
	}
	want := func(c *Tracker, want string) {
		t.Helper()
		if got := kinds(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	c := newCore(t)
	c.Resume(0)
	want(c, "numbered")
	report(t, c, 0)
	id := mustSleep(t, c, 1, "ann")
	want(c, "numbered submitted")
	driver := runningDriver(c, id)
	if _, err := c.PlanPart(2, driver, &wire.PlanPart{Total: 4, Splits: splitsOf(2)}); err != nil {
		t.Fatal(err)
	}
	want(c, "numbered submitted plan-part plan-part") // names, then splits
	if _, err := c.Plan(2, driver, &wire.StagePlan{Splits: splitsOf(2)}); err != nil {
		t.Fatal(err)
	}
	want(c, "numbered submitted plan-part plan-part planned")
	for i := range int32(2) {
		c.takeEnd(3, c.nodes[0], &wire.Ended{ID: wire.AttemptID{Job: id, Kind: wire.MapTask, Index: i, Try: uint64(i) + 50}, OK: true})
	}
	want(c, "numbered submitted begun plan-part plan-part planned tasks-done committing")
	if err := c.Commit(4, driver, ""); err != nil {
		t.Fatal(err)
	}
	want(c, "numbered submitted stage-summary committing stage-done job-ended")
	if err := c.SetLimits(5, wire.LimitRequest{User: "bob", Changes: map[string]int64{"running": 3}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Drain(5, "n0", false); err != nil {
		t.Fatal(err)
	}
	want(c, "numbered limited drained submitted stage-summary committing stage-done job-ended")
	if next := restarted(t, c.Snapshot(9)); next.Jobs()[0].State != wire.Succeeded || next.Jobs()[0].Attempts != c.Jobs()[0].Attempts || !next.byName["n0"].drain {
		t.Errorf("the next master has %+v, this one %+v", next.Jobs(), c.Jobs())
	}
}

// TestDropsAreToldOnce: which stages' output nobody needs is told with the answer to the report that listed them, and not again.
func TestDropsAreToldOnce(t *testing.T) {
	s := newScene(t, 1, 1)
	s.c.byName["n1"].drops = []wire.StageRef{{Job: "job-7", Stage: 1}}
	for i, want := range []int{1, 0} {
		if got := s.c.AnswerTo("n1", 1<<62).Drop; len(got) != want {
			t.Errorf("answer %d says to drop %v, want %d", i+1, got, want)
		}
	}
}
