package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/wire"
)

// TestRowOfAJob: what events say of a job is in its row, and is so no less if each is told twice, as a restart may.
func TestRowOfAJob(t *testing.T) {
	spec := &wire.JobSpec{
		Name: "n", User: "ann", Queue: "q", Pool: "p", Output: "dfs:/out", Stages: 2, Deadline: 7, Priority: 3, Weight: 1.5, Recurring: true,
		Slowstart: 0.25, ReduceCost: 2, Expect: wire.Expected{Maps: 5}, Under: under("x"), Program: wire.Program{Hash: "abc"},
	}
	event := func(kind wire.PastKind, at int64, stage int) Entry {
		return Entry{PastEvent: wire.PastEvent{Kind: kind, At: at, Stage: stage}}
	}
	submitted, first, second, ended := event(wire.PastSubmitted, 10, 0), event(wire.PastPlanned, 30, 0), event(wire.PastPlanned, 60, 1), event(wire.PastEnded, 90, 1)
	submitted.Spec, submitted.Wall = spec, 1000
	first.Maps, first.Reduces, second.Maps, second.Reduces = 2, 1, 3, 4
	ended.State, ended.Text, ended.Wall, ended.Tries, ended.Counts = wire.Failed, "why", 2000, 11, wire.Counts{"g": {"n": 1}}
	want := wire.PastJob{
		Job: "job-1", Name: "n", User: "ann", Queue: "q", Pool: "p", Program: "abc", Output: "dfs:/out", Stages: 2, State: wire.Failed, Error: "why",
		Submitted: 10, SubmittedWall: 1000, Deadline: 7, Admitted: 20, Planned: 30, Ended: 90, EndedWall: 2000, Stage: 2, Maps: 5, Reduces: 5,
		Attempts: 11, Counts: ended.Counts, Priority: 3, Weight: 1.5, Recurring: true, Slowstart: 0.25, ReduceCost: 2, Expect: &spec.Expect, Under: spec.Under,
	}
	for times := 1; times <= 2; times++ {
		got := wire.PastJob{Job: "job-1", Stages: 1, State: wire.Queued}
		for i, e := range []Entry{submitted, event(wire.PastAdmitted, 20, 0), first, event(wire.PastAdmitted, 50, 1), second, ended} {
			for range times {
				apply(&got, &e)
			}
			if state := map[bool]wire.JobState{i < 2: wire.Queued, i > 1: wire.Running, i == 5: wire.Failed}[true]; got.State != state {
				t.Errorf("after %s it is %s", e.Kind, got.State)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("each told %d times: %s", times, d)
		}
	}
	again := wire.PastJob{Admitted: 20}
	apply(&again, &Entry{PastEvent: wire.PastEvent{Kind: wire.PastAdmitted, At: 25}})
	spec.Program.Builtin = "wordcount"
	if apply(&again, &submitted); again.Program != "wordcount" || again.Admitted != 20 {
		t.Errorf("it runs %q and was admitted at %d", again.Program, again.Admitted)
	}
}

// TestPhases: the phases of a chain begin and end with what is done in them, whatever of it failed; what has not begun, and what follows the
// last stage, is none.
func TestPhases(t *testing.T) {
	m := newSummary()
	for _, e := range []wire.PastEvent{
		{At: 10, Kind: wire.PastAdmitted},
		{At: 11, Kind: wire.PastLaunched, Task: wire.DriverTask, Try: 9},
		{At: 20, Kind: wire.PastPlanned},
		{At: 22, Kind: wire.PastLaunched, Task: wire.MapTask, Try: 2, Locality: "rack", Node: "w2", Second: true},
		{At: 21, Kind: wire.PastLaunched, Task: wire.MapTask, Try: 1, Locality: "node", Node: "w1"},
		{At: 30, Kind: wire.PastDone, Task: wire.MapTask, Try: 1},
		{At: 33, Kind: wire.PastFailed, Task: wire.MapTask, Try: 2, Number: 1, Text: "why"},
		{At: 40e6, Kind: wire.PastDone, Task: wire.ReduceTask, Try: 3, Millis: 10, Node: "w3"}, // its launch was not written down
		{At: 50e6, Kind: wire.PastStopped, Task: wire.ReduceTask, Try: 4, Millis: 5},
		{At: 51e6, Kind: wire.PastCommitting},
		{At: 55e6, Kind: wire.PastStageDone},
		{At: 60e6, Kind: wire.PastAdmitted, Stage: 1},
		{At: 65e6, Kind: wire.PastPlanned, Stage: 1},
		{At: 66e6, Kind: wire.PastHeld, Stage: 1},
		{At: 70e6, Kind: wire.PastLost, Task: wire.DriverTask, Try: 9, Stage: 1},
		{At: 80e6, Kind: wire.PastStageDone, Stage: 1},
	} {
		m.event(&e)
	}
	want := &wire.PastSummary{
		PastJob: wire.PastJob{Submitted: 5, Stages: 2, Attempts: 3},
		Phases: []wire.Phase{
			{Stage: 0, Name: "wait", Begin: 5, End: 10},
			{Stage: 0, Name: "plan", Begin: 10, End: 20},
			{Stage: 0, Name: "map", Begin: 21, End: 33},
			{Stage: 0, Name: "reduce", Begin: 30e6, End: 50e6},
			{Stage: 0, Name: "commit", Begin: 51e6, End: 55e6},
			{Stage: 1, Name: "wait", Begin: 55e6, End: 60e6},
			{Stage: 1, Name: "plan", Begin: 60e6, End: 65e6},
		},
		Slowest: []wire.PastAttempt{
			{Task: wire.ReduceTask, Try: 3, Node: "w3", Begin: 30e6, End: 40e6, How: wire.PastDone},
			{Task: wire.MapTask, Try: 1, Node: "w1", Locality: "node", Begin: 21, End: 30, How: wire.PastDone},
		},
		Failed: []wire.PastAttempt{
			{Task: wire.MapTask, Try: 2, Number: 1, Node: "w2", Locality: "rack", Second: true, Begin: 22, End: 33, How: wire.PastFailed, Text: "why"},
			{Task: wire.DriverTask, Try: 9, Stage: 1, Begin: 11, End: 70e6, How: wire.PastLost},
		},
		Failures: 2, Local: map[string]int{"node": 1, "rack": 1},
	}
	if d := cmp.Diff(want, m.finish(&wire.PastJob{Submitted: 5, Stages: 2})); d != "" {
		t.Error(d)
	}
}

// TestSlowest: a summary has the ten attempts that took longest, the longest first, and the first hundred that failed, and counts all.
func TestSlowest(t *testing.T) {
	m, rng := newSummary(), rand.New(rand.NewPCG(4, 4))
	var all []int64
	for try := range uint64(300) {
		took := rng.Int64N(1000)
		all = append(all, took)
		m.event(&wire.PastEvent{At: 100, Kind: wire.PastLaunched, Task: wire.MapTask, Try: 2*try + 1})
		m.event(&wire.PastEvent{At: 100 + took, Kind: wire.PastDone, Task: wire.MapTask, Try: 2*try + 1})
		m.event(&wire.PastEvent{At: 100, Kind: wire.PastFailed, Task: wire.MapTask, Try: 2*try + 2, Millis: 1})
		got := m.finish(&wire.PastJob{})
		slices.Sort(all)
		slices.Reverse(all)
		var have []int64
		for _, a := range got.Slowest {
			have = append(have, a.End-a.Begin)
		}
		if !slices.Equal(have, all[:min(len(all), 10)]) {
			t.Fatalf("of %d: %v, want %v", try+1, have, all[:min(len(all), 10)])
		}
		if got.Failures != int(try)+1 || len(got.Failed) != min(int(try)+1, 100) || got.Failed[0].Try != 2 {
			t.Fatalf("of %d that failed %d are counted, %d listed", try+1, got.Failures, len(got.Failed))
		}
	}
	if kept := m.finish(&wire.PastJob{}); len(m.began) != 0 || kept.Attempts != 300 {
		t.Errorf("%d attempts that ended are held; %d are counted", len(m.began), kept.Attempts)
	}
}

// TestAttemptsAsked: of a task its attempts are listed, each once, in their order and with how they ended; of a job its drivers and what failed
// or was lost; never more than an answer holds.
func TestAttemptsAsked(t *testing.T) {
	l := &log{}
	var told []Entry
	say := func(at int64, kind wire.PastKind, task wire.TaskKind, stage int, index int32, try uint64) {
		told = append(told, Entry{Job: "job-1", PastEvent: wire.PastEvent{At: at, Kind: kind, Task: task, Stage: stage, Index: index, Try: try, Node: "w1"}})
	}
	say(1, wire.PastLaunched, wire.DriverTask, 0, 0, 1)
	say(2, wire.PastLaunched, wire.MapTask, 0, 7, 2)
	say(2, wire.PastLaunched, wire.MapTask, 0, 8, 3)
	say(2, wire.PastLaunched, wire.ReduceTask, 0, 7, 4)
	say(3, wire.PastFailed, wire.MapTask, 0, 7, 2)
	say(4, wire.PastLaunched, wire.MapTask, 0, 7, 5)
	say(5, wire.PastDone, wire.MapTask, 0, 7, 5)
	say(6, wire.PastOutputLost, wire.MapTask, 0, 7, 5)
	say(6, wire.PastLaunched, wire.MapTask, 1, 7, 6)
	say(7, wire.PastLost, wire.ReduceTask, 0, 7, 4)
	say(8, wire.PastStopped, wire.MapTask, 0, 8, 3)
	say(8, wire.PastDone, wire.MapTask, 0, 7, 0) // nobody's
	say(9, wire.PastStopped, wire.MapTask, 0, 7, 5)
	for i := range maxAttempts + 5 {
		say(10, wire.PastLaunched, wire.MapTask, 2, 0, uint64(100+i))
	}
	say(11, wire.PastDone, wire.MapTask, 2, 0, 100)
	s := open(t, configOf(l, vfs.NewMem()))
	s.Add(l.add(told...))
	caughtUp(t, s, l)
	for _, c := range []struct {
		ask  wire.AttemptsRequest
		want string // try, begin, end, how
	}{
		{wire.AttemptsRequest{Job: "job-1"}, "1 1-0  2 3-3 failed 4 7-7 lost"},
		{wire.AttemptsRequest{Job: "job-1", Task: wire.MapTask, Index: 7}, "2 2-3 failed 5 4-5 done"},
		{wire.AttemptsRequest{Job: "job-1", Task: wire.MapTask, Index: 8}, "3 2-8 stopped"},
		{wire.AttemptsRequest{Job: "job-1", Task: wire.ReduceTask, Index: 7}, "4 2-7 lost"},
		{wire.AttemptsRequest{Job: "job-1", Task: wire.MapTask, Index: 7, Stage: 1}, "6 6-0 "},
		{wire.AttemptsRequest{Job: "job-2"}, ""},
	} {
		list, err := s.Attempts(c.ask)
		var got []string
		for _, a := range list {
			got = append(got, fmt.Sprintf("%d %d-%d %s", a.Try, a.Begin, a.End, a.How))
		}
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%+v: %q, want %q, %v", c.ask, got, c.want, err)
		}
	}
	list, err := s.Attempts(wire.AttemptsRequest{Job: "job-1", Task: wire.MapTask, Stage: 2})
	if err != nil || len(list) != maxAttempts || list[0].How != wire.PastDone || list[0].Node != "w1" {
		t.Errorf("%d attempts, the first %+v, %v", len(list), list[0], err)
	}
}

// TestJobsAsked: a list has as many jobs as were asked for, a hundred if nobody says, and never more than an answer holds; it says
// whether there are more, and leaves out what was counted.
func TestJobsAsked(t *testing.T) {
	l := &log{}
	s := open(t, configOf(l, vfs.NewMem()))
	const jobs = maxJobs + 1
	for n := 1; n <= jobs; n++ {
		entries := life(n, int64(n))
		if n%10 != 0 {
			entries = entries[:1]
		}
		s.Add(l.add(entries...))
	}
	caughtUp(t, s, l)
	for _, c := range []struct {
		q    wire.PastQuery
		want int
		more bool
	}{
		{wire.PastQuery{}, 100, true},
		{wire.PastQuery{Limit: -1}, 100, true},
		{wire.PastQuery{Limit: 7}, 7, true},
		{wire.PastQuery{Limit: 5000}, maxJobs, true},
		{wire.PastQuery{Limit: 5000, Before: "job-1001"}, maxJobs, false},
		{wire.PastQuery{Limit: 5000, State: "SUCCEEDED"}, 100, false},
		{wire.PastQuery{Limit: 5000, State: "SUCCEEDED", User: "user1"}, 0, false},
		{wire.PastQuery{Limit: 5000, Since: jobs - 2}, 3, false},
	} {
		got, err := s.Jobs(c.q)
		if err != nil || len(got.Jobs) != c.want || got.More != c.more || got.Problem != "" {
			t.Errorf("%+v: %d jobs, more %t, %q, %v", c.q, len(got.Jobs), got.More, got.Problem, err)
		}
		for _, j := range got.Jobs {
			if j.Counts != nil {
				t.Fatalf("%s says what it counted", j.Job)
			}
		}
	}
	if j, err := s.Job("job-10"); err != nil || j.Counts["g"]["n"] != 10 {
		t.Errorf("by itself %+v, %v", j, err)
	}
	if _, err := s.Job("job-2000"); wire.KindOf(err) != wire.NotFound {
		t.Errorf("a job that never was: %v", err)
	}
}

// TestLostEventsAreTold: what did not fit into the queue and is in no journal is lost, and lists say how much; what is in the journal is not.
func TestLostEventsAreTold(t *testing.T) {
	l, held, free := &log{}, make(chan struct{}), make(chan struct{})
	cfg := configOf(l, vfs.NewMem())
	first := true
	cfg.Queue, cfg.Durable = 2, func() uint64 { // the writer's only
		if first {
			first = false
			close(held)
			<-free
		}
		return l.durable()
	}
	s := open(t, cfg)
	<-held
	s.Add([]Entry{launched(1, 0, 0, 1), launched(1, 1, 0, 2), launched(1, 2, 0, 3), launched(1, 3, 0, 4)})
	s.Add(l.add(life(1, 1)...))
	close(free)
	caughtUp(t, s, l)
	got, err := s.Jobs(wire.PastQuery{})
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].State != "SUCCEEDED" || !strings.HasPrefix(got.Problem, "2 events of attempts are missing") {
		t.Errorf("%+v, %v", got, err)
	}
	if n := written(t, s, 1); n != 7 {
		t.Errorf("%d events are there", n)
	}
}

// TestConfigOfAHistory: what it cannot work with is refused, and 0 is no limit.
func TestConfigOfAHistory(t *testing.T) {
	l := &log{}
	for name, wrong := range map[string]func(*Config){
		"disk": func(c *Config) { c.FS = nil }, "durable": func(c *Config) { c.Durable = nil }, "journal": func(c *Config) { c.Scan = nil },
		"clock": func(c *Config) { c.Wall = nil }, "log": func(c *Config) { c.Log = nil }, "queue": func(c *Config) { c.Queue = 0 },
		"age": func(c *Config) { c.MaxAge = -1 }, "jobs": func(c *Config) { c.MaxJobs = -1 }, "bytes": func(c *Config) { c.MaxBytes = -1 },
	} {
		cfg := configOf(l, vfs.NewMem())
		if wrong(&cfg); cfg.validate() == nil {
			t.Errorf("%s: taken", name)
		}
	}
	cfg := configOf(l, vfs.NewMem())
	cfg.Queue, cfg.MaxAge, cfg.MaxJobs, cfg.MaxBytes = 1, 0, 0, 0
	if err := cfg.validate(); err != nil {
		t.Error(err)
	}
}
