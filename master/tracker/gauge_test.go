package tracker

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fifo"
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

// noting is fifo that lacks something.
type noting struct {
	*fifo.Policy
	lacks []string
}

func (n *noting) Notes(*scheduler.View) []string { return n.lacks }

// TestLacksAreTold: what the policies lack is told when it has stayed so for a heartbeat, once, and so is that they lack nothing more. Who asks why a
// job waits is told at once.
func TestLacksAreTold(t *testing.T) {
	s := newScene(t, 4, 2)
	p := &noting{Policy: fifo.New(scheduler.DefaultReduceRule())}
	s.c.SetPolicy(s.now, p)
	for i, x := range []struct {
		lacks []string
		told  string
	}{
		{nil, ""},
		{nil, ""},
		{[]string{"a", "b"}, ""},
		{[]string{"a", "b"}, "a; b"},
		{[]string{"a", "b"}, ""},
		{[]string{"a"}, ""},
		{[]string{"a"}, "a"},
		{nil, ""},
		{[]string{"a"}, ""},
		{nil, ""},
		{nil, "nothing is amiss for the policies any more"},
		{nil, ""},
	} {
		p.lacks = x.lacks
		next := s.c.DecisionsFrom(wire.DecisionsRequest{}).Next
		s.c.Take()
		for range 3 { // in a heartbeat it is looked at once
			s.c.Tick(s.now)
		}
		var said strings.Builder
		for _, d := range s.c.DecisionsFrom(wire.DecisionsRequest{From: next}).Decisions {
			if d.Do == "note" {
				said.WriteString(d.Why)
			}
		}
		if got := strings.Join(s.c.Take().Notes, " and "); got != x.told || said.String() != x.told {
			t.Errorf("step %d, %q: the log is told %q, the decisions %q, want %q", i, x.lacks, got, said.String(), x.told)
		}
		if why, err := s.c.Why(s.now, s.job); err != nil || len(x.lacks) > 0 && !strings.HasSuffix(why, "; "+strings.Join(x.lacks, "; ")) {
			t.Errorf("step %d: it waits because %q, %v", i, why, err)
		}
		s.now += s.c.cfg.Heartbeat
	}
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
