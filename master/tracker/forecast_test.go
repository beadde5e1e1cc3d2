package tracker

import (
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// TestRecurringJobsAreKnown: of a job that recurs the policies know, before it has run, what those of its name and user took:
// the shuffle in proportion to its input, the mean times of maps and reduces. What the job says itself stands, jobs of other
// users and names and those that do not recur are not spoken for, and a restart forgets nothing.
func TestRecurringJobsAreKnown(t *testing.T) {
	s := newScene(t, 4, 3)
	for range 3 {
		for id := range s.n1.running {
			millis, out := int64(2000), int64(50)
			if id.Kind == wire.ReduceTask {
				millis, out = 4000, 1
			}
			s.say(s.n1, wire.Ended{ID: id, OK: true, Millis: millis, InBytes: 100, OutBytes: out})
		}
		s.say(s.n1)
	}
	for s.c.jobs[s.job].current().doneCount != [2]int32{4, 2} {
		for id := range s.n1.running {
			s.say(s.n1, wire.Ended{ID: id, OK: true, Millis: 2000, InBytes: 100, OutBytes: 50})
		}
		s.say(s.n1)
	}
	if err := s.c.Commit(s.now, runningDriver(s.c, s.job), ""); err != nil {
		t.Fatal(err)
	}
	lesson := s.c.lessons()[0]
	again, _ := reborn(t, s.c.Snapshot(s.now), s.now)
	for name, c := range map[string]*Tracker{"before a restart": s.c, "after it": again} {
		expected := func(spec wire.JobSpec) wire.Expected {
			t.Helper()
			spec.Stages, spec.Program = 1, wire.Program{Builtin: "sleep"}
			id, err := c.Submit(s.now, spec)
			if err != nil {
				t.Fatal(err)
			}
			sees := c.View().Job(c.jobs[id].current().sid).Spec()
			e := c.jobs[id].spec.Expect
			if sees.Shuffle.Bytes != e.Shuffle || sees.MapTime.Milliseconds() != e.MapMillis || sees.Recurring != spec.Recurring {
				t.Errorf("%s: the policies see %+v, expected is %+v", name, sees, e)
			}
			return e
		}
		got := expected(wire.JobSpec{Name: "j", User: "ann", Recurring: true, Expect: wire.Expected{Input: 2 * lesson.Input}})
		if got.Shuffle != 2*lesson.Shuffle || got.MapMillis != lesson.MapTime.Milliseconds()/4 || got.ReduceMillis != lesson.ReduceWork.Milliseconds()/2 || got.Shuffle == 0 || got.MapMillis == 0 {
			t.Errorf("%s: expected %+v, the job before was %+v", name, got, lesson)
		}
		if got := expected(wire.JobSpec{Name: "j", User: "ann", Recurring: true, Expect: wire.Expected{MapMillis: 7}}); got.MapMillis != 7 || got.Input != lesson.Input {
			t.Errorf("%s: what the job says itself is %+v", name, got)
		}
		for _, spec := range []wire.JobSpec{{Name: "j", User: "ann"}, {Name: "j", User: "bob", Recurring: true}, {Name: "k", User: "ann", Recurring: true}} {
			if got := expected(spec); got.MapMillis != 0 || got.Shuffle != 0 {
				t.Errorf("%s: expected %+v of %s of %s", name, got, spec.Name, spec.User)
			}
		}
	}
}
