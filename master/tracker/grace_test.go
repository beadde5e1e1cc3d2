package tracker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fifo"
)

// TestWorkersHaveGrace: what ran before a restart of the master is left to its worker for so long, and goes to another then; after a third of that
// if no worker is missing that the master knows of.
func TestWorkersHaveGrace(t *testing.T) {
	for _, x := range []struct{ known, returns bool }{{true, false}, {false, false}, {true, true}} {
		old, driver := planned(t)
		records := old.Take().Records
		if x.known {
			n0 := TaskRecord{Node: "n0", Rack: "r"}
			records = append(records, Record{Kind: Drained, Task: &n0}, Record{Kind: Undrained, Task: &n0})
		}
		cfg := DefaultConfig()
		cfg.Epoch = 2
		c, err := New(cfg, fifo.New(scheduler.DefaultReduceRule()), nil)
		if err != nil {
			t.Fatal(err)
		}
		grace := cfg.Grace
		if !x.known {
			grace /= 3
		}
		for i := range records {
			c.Replay(&records[i])
		}
		const at = 10 * time.Second
		c.Resume(at)
		speak := func(now time.Duration, name wire.NodeName, seq uint64, running ...wire.Progress) {
			t.Helper()
			r := &wire.Report{Node: name, Session: "s", Seq: seq, Rack: "r", Addr: string(name), Full: true, Capacity: wire.Capacity{Containers: 2}, Running: running}
			if _, err := c.Report(now, r, 1<<62); err != nil {
				t.Fatal(err)
			}
			c.Tick(now)
		}
		speak(at, "n1", 1)
		if why, err := c.Why(at, driver.Job); err != nil || !strings.Contains(why, "waits for its workers") || !c.Settling(at) {
			t.Errorf("at once: %s, %v", why, err)
		}
		if step := c.DriverStep(driver); step.Do != "wait" {
			t.Errorf("a driver whose worker has not come back is told to %s", step.Do)
		}
		if x.returns {
			speak(at, "n0", 1, wire.Progress{ID: driver})
		}
		c.Take()
		speak(at+grace-1, "n1", 2)
		if got := runningDriver(c, driver.Job); (got == driver) != x.returns || !x.returns && got.Job != "" {
			t.Errorf("before the grace is over %v drives; its worker came back: %t", got, x.returns)
		}
		speak(at+grace, "n1", 3)
		if drivers := c.Take().Drivers; !slices.Contains(drivers, driver.Job) {
			t.Errorf("after the grace the drivers of %v are told", drivers)
		}
		if got := runningDriver(c, driver.Job); got.Job == "" || (got == driver) != x.returns {
			t.Errorf("after the grace %v drives; its worker came back: %t", got, x.returns)
		}
		if c.Settling(at + c.cfg.Silence) {
			t.Error("the master settles for ever")
		}
	}
}

// TestTasksThatNoMachineCanRun: a task that is lost everywhere, by the machines' fault, is tried four times as often as one that fails, and then the job
// ends and says why; so does one whose driver is.
func TestTasksThatNoMachineCanRun(t *testing.T) {
	for _, kind := range []wire.TaskKind{wire.MapTask, wire.DriverTask} {
		s := newScene(t, 1, 1)
		tries := 0
		for !s.status().State.Ended() && tries < 100 {
			for _, h := range []*hand{s.n0, s.n1} {
				for id := range h.running {
					if id.Kind == kind {
						s.say(h, wire.Ended{ID: id, Lost: true, Error: "no disk works"})
						tries++
					}
				}
			}
			s.say(s.n1)
			s.pass(time.Second)
		}
		got := s.status()
		if want := fmt.Sprintf("%s 0 could not be run 16 times, by the machines' fault; the last, on node ", kind); got.State != wire.Failed || tries != 16 ||
			!strings.HasPrefix(got.Error, want) || !strings.HasSuffix(got.Error, ": no disk works") {
			t.Errorf("%d tries: %+v", tries, got)
		}
	}
}

// TestHintsThatCannotBe: the most that a hint may be is taken, one more is refused, and so is less than nothing.
func TestHintsThatCannotBe(t *testing.T) {
	c := newCore(t)
	for what, x := range map[string]struct {
		most int64
		set  func(s *wire.JobSpec, n int64)
	}{
		"maps":      {int64(c.cfg.MaxTasks), func(s *wire.JobSpec, n int64) { s.Expect.Maps = int32(n) }},
		"reduces":   {int64(c.cfg.MaxTasks), func(s *wire.JobSpec, n int64) { s.Expect.Reduces = int32(n) }},
		"input":     {1 << 56, func(s *wire.JobSpec, n int64) { s.Expect.Input = n }},
		"shuffle":   {1 << 56, func(s *wire.JobSpec, n int64) { s.Expect.Shuffle = n }},
		"output":    {1 << 56, func(s *wire.JobSpec, n int64) { s.Expect.Output = n }},
		"of a map":  {1 << 40, func(s *wire.JobSpec, n int64) { s.Expect.MapMillis = n }},
		"of reduce": {1 << 40, func(s *wire.JobSpec, n int64) { s.Expect.ReduceMillis = n }},
		"in":        {keepExpected.Milliseconds(), func(s *wire.JobSpec, n int64) { s.Expect.InMillis = n }},
		"deadline":  {1 << 40, func(s *wire.JobSpec, n int64) { s.Deadline = n }},
		"weight":    {1e6, func(s *wire.JobSpec, n int64) { s.Weight = float64(n) }},
		"cost":      {1e6, func(s *wire.JobSpec, n int64) { s.ReduceCost = float64(n) }},
		"cores":     {0, func(s *wire.JobSpec, n int64) { s.Reduce.VCores = int32(min(n, 0)) }},
		"memory":    {0, func(s *wire.JobSpec, n int64) { s.Driver.MemoryMB = min(n, 0) }},
		"split":     {0, func(s *wire.JobSpec, n int64) { s.Shape.SplitBytes = min(n, 0) }},
		"reducers":  {0, func(s *wire.JobSpec, n int64) { s.Shape.Reducers = int(min(n, 0)) }},
	} {
		for n, ok := range map[int64]bool{-1: false, 0: true, x.most: true, x.most + 1: x.most == 0} {
			var s wire.JobSpec
			x.set(&s, n)
			if err := c.checkHints(&s); (err == nil) != ok || !ok && wire.KindOf(err) != wire.Invalid {
				t.Errorf("%s %d: %v", what, n, err)
			}
		}
	}
}

// TestRefusalsSayHowLong: whoever has submitted too much is told when the next job is taken, and then it is.
func TestRefusalsSayHowLong(t *testing.T) {
	c := limited(t, "ann", map[string]int64{"submissions": 2})
	for _, at := range []time.Duration{time.Second, 2 * time.Second} {
		mustSleep(t, c, at, "ann")
	}
	if _, err := c.sleeps(11*time.Second, "ann"); err == nil || !strings.Contains(err.Error(), "2 jobs in the last minute, at most 2: try again in 51s") {
		t.Error(err)
	}
	mustSleep(t, c, 62*time.Second, "ann")
}

// TestLimitsAreShown: of all and of one, and a job that is held back is a decision that is told.
func TestLimitsAreShown(t *testing.T) {
	c := limited(t, wire.AllUsers, map[string]int64{"running": 1})
	mustSleep(t, c, 1, "ann")
	held := mustSleep(t, c, 2, "ann")
	for _, u := range c.Users(3, func(yield func(string) bool) { yield("zoe") }) {
		if u.Limits.Running != 1 {
			t.Errorf("%s: %+v", u.User, u.Limits)
		}
	}
	told := 0
	for _, d := range c.DecisionsFrom(wire.DecisionsRequest{}).Decisions {
		if d.Do == "hold" && d.Job == held && strings.Contains(d.Why, "1 job of user ann") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("it is told %d times that %s is held back", told, held)
	}
}
