package tracker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fifo"
)

// known is what policies know of a job from its outcomes: all that forecasts are made of.
type known struct {
	Submitted, MapsDoneAt, MapTime, ReduceTime, ReduceWork, Longest time.Duration
	Maps, Reduces                                                   int32
	In, Out                                                         int64
}

func knownOf(t *testing.T, c *Tracker, id wire.JobID) (k known) {
	t.Helper()
	j := c.View().Job(c.jobs[id].current().sid)
	if j == nil {
		t.Fatalf("the policies do not know %s", id)
	}
	k.Submitted = j.Submitted()
	k.MapsDoneAt, _ = j.MapsDoneAt()
	k.Maps, k.MapTime, _ = j.Samples(scheduler.Map)
	k.Reduces, k.ReduceTime, k.Longest = j.Samples(scheduler.Reduce)
	k.ReduceWork = j.WorkSum(scheduler.Reduce)
	k.In, k.Out = j.MapBytes()
	return k
}

// student is fifo that writes down its lessons.
type student struct {
	*fifo.Policy
	learnt []scheduler.Lesson
}

func (s *student) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	switch e.Kind {
	case scheduler.EvTaught:
		s.learnt = append(s.learnt, *e.Lesson)
	case scheduler.EvJobFinished:
		s.learnt = append(s.learnt, *v.Job(e.Job).Lesson())
	}
	s.Policy.Observe(now, e, v)
}

func newStudent() *student { return &student{Policy: fifo.New(scheduler.DefaultReduceRule())} }

// reborn is a new master with the records of one before.
func reborn(t *testing.T, records []Record, now time.Duration) (*Tracker, *student) {
	t.Helper()
	c, p := newCore(t), newStudent()
	c.SetPolicy(0, p)
	for i := range records {
		c.Replay(&records[i])
	}
	c.Resume(now)
	return c, p
}

// TestForecastsSurviveARestart: what the policies know of running jobs and have learnt from finished ones is the same
// before a restart and after it, from the journal and from a snapshot: times and means of maps and reduces, without what
// reduces waited for maps; when jobs came, in what order they taught what.
func TestForecastsSurviveARestart(t *testing.T) {
	s := newScene(t, 4, 3)
	first := newStudent()
	s.c.SetPolicy(s.now, first)
	end := func(h *hand, kind wire.TaskKind, millis int64) {
		t.Helper()
		for id := range h.running {
			if id.Kind == kind {
				s.now += time.Second
				s.say(h, wire.Ended{ID: id, OK: true, Millis: millis, InBytes: 100, OutBytes: millis})
				return
			}
		}
		t.Fatalf("no %v runs on %s", kind, h.name)
	}
	work := func(reduces int) {
		t.Helper()
		s.say(s.n1)
		for i := range 4 {
			end(s.n1, wire.MapTask, int64(1000+100*i))
		}
		s.say(s.n1)
		for range reduces {
			end(s.n1, wire.ReduceTask, 4000) // most of it spent waiting: it began before the last map was done
		}
	}
	work(2)
	if err := s.c.Commit(s.now, runningDriver(s.c, s.job), ""); err != nil {
		t.Fatal(err)
	}
	id, err := s.c.Submit(s.now, wire.JobSpec{Name: "k", User: "ann", Stages: 1, Slowstart: 1, Deadline: 100_000, Program: wire.Program{Builtin: "sleep"}})
	if err != nil {
		t.Fatal(err)
	}
	s.job = id
	s.say(s.n0)
	if _, err := s.c.Plan(s.now, runningDriver(s.c, id), &wire.StagePlan{Splits: splitsOf(4), Reducers: 2}); err != nil {
		t.Fatal(err)
	}
	work(1)
	before := knownOf(t, s.c, id)
	if before.ReduceWork >= before.ReduceTime || before.ReduceWork <= 0 || len(first.learnt) != 1 {
		t.Fatalf("the scene shows nothing: %+v, %+v", before, first.learnt)
	}
	snapshot := s.c.Snapshot(s.now)
	for name, records := range map[string][]Record{"journal": s.c.Take().Records, "snapshot": snapshot} {
		c, p := reborn(t, records, s.now+time.Minute)
		if diff := cmp.Diff(before, knownOf(t, c, id)); diff != "" {
			t.Errorf("%s: the running job (-before +after):\n%s", name, diff)
		}
		if diff := cmp.Diff(first.learnt, p.learnt); diff != "" {
			t.Errorf("%s: the lessons (-before +after):\n%s", name, diff)
		}
	}
}
