package tracker

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
)

// TestJobsAreShown: a job's status counts what runs, with how far it is, and what is done; lists have the newest first.
func TestJobsAreShown(t *testing.T) {
	s := newScene(t, 3, 4)
	s.n1.progress = 0.25
	s.finish(s.n1, 1)
	s.say(s.n1)
	s.say(s.n1)
	got := s.status()
	if got.Maps != (wire.TaskTotals{Total: 3, Done: 1, Running: 2, Progress: 0.5}) || got.Reduces != (wire.TaskTotals{Total: 2}) || got.Driver != "n0" || got.Stage != 1 {
		t.Errorf("while maps run: %+v", got)
	}
	queue := wire.QueueStatus{Queue: "default", Running: 1, Tasks: 3, Pending: 4}
	if q := s.c.Queues(); len(q) != 1 || !reflect.DeepEqual(q[0], queue) {
		t.Errorf("while maps run: %+v, want %+v", q, queue)
	}
	s.finish(s.n1, 2)
	s.say(s.n1)
	s.say(s.n1)
	got = s.status()
	if got.Maps != (wire.TaskTotals{Total: 3, Done: 3}) || got.Reduces != (wire.TaskTotals{Total: 2, Running: 2, Progress: 0.5}) || got.Deadline != 0 || got.Committing {
		t.Errorf("while reduces run: %+v", got)
	}
	s.now = 3 * time.Second
	late, err := s.c.Submit(s.now, wire.JobSpec{Name: "late", User: "bob", Queue: "q", Stages: 2, Deadline: 100_000, Program: wire.Program{Builtin: "sleep"}})
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.c.Status(late)
	if err != nil || st.Deadline != 103_000 || st.Submitted != 3000 || st.State != wire.Queued || st.Stages != 2 || st.Queue != "q" {
		t.Errorf("%+v, %v", st, err)
	}
	if err := s.c.Kill(4*time.Second, s.job, "no more"); err != nil {
		t.Fatal(err)
	}
	if got := s.status(); got.Driver != "" || got.Reduces.Running != 0 || got.State != wire.Cancelled {
		t.Errorf("a job that was cancelled: %+v", got)
	}
	for id, want := range map[wire.JobID]bool{late: false, s.job: true, "job-9": true} {
		if s.c.HasEnded(id) != want {
			t.Errorf("%s has ended: %v", id, !want)
		}
	}
	for _, x := range []struct {
		r    wire.JobsRequest
		want string
	}{{wire.JobsRequest{}, "[job-2 job-1]"}, {wire.JobsRequest{Active: true}, "[job-2]"}, {wire.JobsRequest{Limit: 1}, "[job-2]"}, {wire.JobsRequest{Limit: 5}, "[job-2 job-1]"}} {
		var got []wire.JobID
		for _, st := range s.c.List(x.r) {
			got = append(got, st.Job)
		}
		if fmt.Sprint(got) != x.want {
			t.Errorf("%+v: %v, want %s", x.r, got, x.want)
		}
	}
}

// TestNodesAreShown: a worker is listed with its state and how long it has been silent, and with why it takes no work.
func TestNodesAreShown(t *testing.T) {
	h := newHall(t)
	h.sick = map[int]string{0: "its disk is gone"}
	h.speak(0)
	if err := h.c.Drain(h.now, "n1", false); err != nil {
		t.Fatal(err)
	}
	h.speak(2)
	h.c.NodeGone(h.now, "n2", "s", "it broke")
	heard := h.c.byName["n0"].heard
	list := h.c.Nodes(heard + 1500*time.Millisecond)
	for i, want := range []string{"sick", "draining", "down"} {
		if n := list[i]; n.Node != wire.NodeName(fmt.Sprint("n", i)) || n.State != want || n.Capacity.Containers != 2 {
			t.Errorf("%+v, want %s", n, want)
		}
	}
	if n := list[0]; n.Silent != 1500 || n.Sick != "its disk is gone" {
		t.Errorf("%+v", n)
	}
	for name, want := range map[wire.NodeName]bool{"n1": true, "n9": false} {
		if err := h.c.Drain(h.now, name, true); (err == nil) != want || !want && (wire.KindOf(err) != wire.NotFound || !strings.Contains(err.Error(), "did you mean")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := h.c.Nodes(h.now)[1].State; got != "up" {
		t.Errorf("n1 is back, and %s", got)
	}
	for after, want := range map[time.Duration]int{1500*time.Millisecond - 1: 1, 1500 * time.Millisecond: 0} {
		var late []wire.NodeName
		for _, l := range h.c.Overdue(heard+1500*time.Millisecond, after) {
			if late = append(late, l.Node); l.Session != "s" || l.Addr == "" {
				t.Errorf("%+v", l)
			}
		}
		if got := slices.Contains(late, "n0"); got != (want == 1) || slices.Contains(late, "n2") {
			t.Errorf("not heard for more than %v: %v", after, late)
		}
	}
}

// TestManyNodesRest: who asks why a job waits is told of five workers that take no work by name, and of more by number.
func TestManyNodesRest(t *testing.T) {
	c := newCore(t)
	c.Resume(0)
	for n, want := range map[int]string{1: "w0 (sick: bad)", 5: "w4 (sick: bad)", 6: "w4 (sick: bad) and 1 more", 8: "w4 (sick: bad) and 3 more"} {
		c := newCore(t)
		c.Resume(0)
		for i := range n {
			r := &wire.Report{Node: wire.NodeName(fmt.Sprint("w", i)), Session: "s", Seq: 1, Addr: fmt.Sprint("w", i), Idle: -1, Sick: "bad", Capacity: wire.Capacity{Containers: 1}}
			if _, err := c.Report(1, r, 1<<62); err != nil {
				t.Fatal(err)
			}
		}
		if why, err := c.Why(1, mustSleep(t, c, 1, "ann")); err != nil || !strings.HasSuffix(why, want) {
			t.Errorf("%d rest: %q, %v, want %q", n, why, err, want)
		}
	}
	report(t, c, 0)
	if why, err := c.Why(1, mustSleep(t, c, 1, "ann")); err != nil || strings.Contains(why, "take no work") {
		t.Errorf("none rests: %q, %v", why, err)
	}
}

// TestHoldsAreToldOnceASecond: that a job gets nothing is told again when it is for another reason, once in a second at most.
func TestHoldsAreToldOnceASecond(t *testing.T) {
	s := newScene(t, 1, 1)
	st := s.c.jobs[s.job].current()
	s.c.Take()
	for _, x := range []struct {
		after time.Duration
		say   string
		told  bool
	}{
		{0, "a", true},
		{holdEvery - 1, "b", false},
		{holdEvery, "a", false},
		{holdEvery, "b", true},
		{2*holdEvery - 1, "a", false},
		{5 * holdEvery, "b", false},
		{5 * holdEvery, "a", true},
	} {
		at := time.Hour + x.after
		s.c.hold(at, st, scheduler.Reason{Say: x.say})
		events := s.c.Take().Events
		list := s.c.DecisionsFrom(wire.DecisionsRequest{Job: s.job}).Decisions
		last := list[len(list)-1]
		if told := len(events) == 1; told != x.told || told && (events[0].Kind != wire.PastHeld || events[0].Text != x.say || last.Why != x.say || last.At != int64(at)) {
			t.Errorf("%v, %q: %+v, %+v", x.after, x.say, events, last)
		}
	}
}

// TestEndsOnADeadNodeAreTold: the history hears of each attempt that was lost with a node how long it had run, and why it ended.
func TestEndsOnADeadNodeAreTold(t *testing.T) {
	s := newScene(t, 4, 2)
	began := s.now
	s.c.Take()
	s.now += 3 * time.Second
	s.die()
	n := 0
	for _, e := range s.c.Take().Events {
		if e.Kind == wire.PastLost {
			if n++; e.Node != "n1" || e.Text != "node n1 is gone: its connection broke" || e.Task != wire.MapTask || e.Millis < 3000 || e.Millis > 3000+began.Milliseconds() {
				t.Errorf("%+v", e)
			}
		}
	}
	if n != 2 {
		t.Errorf("of two attempts that were lost %d are told", n)
	}
}

// TestQuietTicks: a moment in which nothing happens leaves nothing to be done, and the policies are told nothing.
func TestQuietTicks(t *testing.T) {
	s := newScene(t, 2, 1)
	gone := &hand{name: "n2", rack: "r0", room: 1}
	gone.restart()
	s.say(gone)
	s.c.NodeGone(s.now, "n2", gone.addr(), "it broke")
	s.now += time.Second
	s.c.Tick(s.now)
	s.c.Take()
	news := func() (n int) {
		for _, l := range s.c.Lines(0).Lines {
			if l.Kind != drive.LineRound {
				n++
			}
		}
		return n
	}
	lines := news()
	for range 25 { // longer than a heartbeat
		s.now += 100 * time.Millisecond
		s.c.Tick(s.now)
	}
	out := s.c.Take()
	if got := news(); got != lines || len(out.Records)+len(out.Events)+len(out.Wake)+len(out.Drivers)+len(out.Changed)+len(out.Clean)+len(out.Broken)+len(out.Notes) > 0 || out.Replanned {
		t.Errorf("%d lines and %+v", got-lines, out)
	}
}

// TestWorkersAreWokenOnce: a worker for which there is more than one thing is woken once, and again when it has been answered.
func TestWorkersAreWokenOnce(t *testing.T) {
	s := newScene(t, 8, 4)
	s.say(s.n1)
	for range 2 {
		s.c.AnswerTo("n1", 1<<62)
		s.c.Take()
		for _, a := range sortedAttempts(s.c.byName["n1"].want)[:2] {
			s.c.stop(s.now, a, "no more")
		}
		if got := s.c.Take().Wake; len(got) != 1 || got[0] != "n1" {
			t.Errorf("woken are %v, want n1 once", got)
		}
	}
}
