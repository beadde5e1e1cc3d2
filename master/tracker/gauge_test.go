package tracker

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// TestPoliciesHearOfLoadAndProgress: the idle of the whole cluster is the mean of the workers that are up and can say, and
// a job's progress counts what its running attempts report.
func TestPoliciesHearOfLoadAndProgress(t *testing.T) {
	s := newScene(t, 4, 2) // two maps run on n1; two reduces wait
	see := func(what string, idle, progress float64) {
		t.Helper()
		s.now += time.Second
		s.c.Tick(s.now)
		got, _ := s.c.View().CPUIdle()
		if p := s.c.View().Job(s.c.jobs[s.job].current().sid).Progress(); got != idle || p != progress {
			t.Errorf("%s: %g %% idle and %g %% done, want %g and %g", what, got, p, idle, progress)
		}
	}
	see("nobody can say", -1, 5)
	s.n0.idle = 1 + 10
	s.say(s.n0)
	see("one can say", 10, 5)
	s.n1.idle, s.n1.progress = 1+70, 0.5
	s.say(s.n1)
	see("both, half of two maps of four", 40, 5+45*0.25)
	s.finish(s.n1, 2)
	s.say(s.n1)
	see("two maps done", 40, 5+45*0.5+45*0.25)
	s.die()
	see("n1 is gone and its maps with it", 10, 5+45*0.5)
}

// TestImpossibleEvents: an event that cannot be is counted and told to the log; old news is neither.
func TestImpossibleEvents(t *testing.T) {
	s := newScene(t, 4, 2)
	s.c.Take()
	if s.c.feed(s.now, scheduler.JobVanished(4711)) || len(s.c.Take().Broken) != 0 {
		t.Error("old news is told")
	}
	if s.c.feed(s.now, scheduler.Event{Kind: scheduler.EvJobSubmitted}) {
		t.Error("a job without a spec is taken")
	}
	if out := s.c.Take(); len(out.Broken) != 1 || s.c.tally.Broken != 1 || s.c.tally.LastBroken == "" {
		t.Errorf("broken: %v, %+v", out.Broken, s.c.tally)
	}
}

// TestProgressOfASecondAttempt: a second attempt counts where the first has gone, and not beside it.
func TestProgressOfASecondAttempt(t *testing.T) {
	st := &stage{plan: &plan{}, total: [2]int32{2, 0}, maps: make([]task, 2), running: map[*attempt]bool{}}
	second := &attempt{id: wire.AttemptID{Kind: wire.MapTask}, st: st, done: 0.5, second: true}
	first := &attempt{id: wire.AttemptID{Kind: wire.MapTask}, st: st, done: 0.2}
	for want, list := range map[float64][]*attempt{5 + 45*0.2: {first, second}, 5 + 45*0.5: {second}} {
		clear(st.running)
		for _, a := range list {
			st.running[a] = true
		}
		st.maps[0].live = uint8(len(list))
		if got := st.percent(); got != want {
			t.Errorf("%d attempts: %g %%, want %g", len(list), got, want)
		}
	}
}
