package tracker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestCommit: only the driver of a stage whose tasks are done says that the output has its name, or why not; what it says ends the job, and
// what it is told to do next follows.
func TestCommit(t *testing.T) {
	for problem, want := range map[string]wire.JobState{"": wire.Succeeded, "the disk is full": wire.Failed} {
		c, driver := planned(t)
		other := driver
		other.Try++
		step := func(id wire.AttemptID, do, why string) {
			t.Helper()
			if got := c.DriverStep(id); got.Do != do || !strings.Contains(got.Why, why) {
				t.Errorf("%v is told to %s: %q, want %s: %q", id, got.Do, got.Why, do, why)
			}
		}
		step(driver, "plan", "")
		step(other, "stop", "another driver runs")
		stale := func(id wire.AttemptID) {
			t.Helper()
			if err := c.Commit(2, id, ""); wire.KindOf(err) != wire.Stale || err == nil {
				t.Errorf("%v: %v", id, err)
			}
		}
		stale(driver) // it has no plan
		if _, err := c.Plan(2, driver, &wire.StagePlan{Name: "out"}); err != nil {
			t.Fatal(err)
		}
		stale(other)
		s, _ := c.Status(driver.Job)
		if why, err := c.Why(3, driver.Job); !s.Committing || s.State != wire.Running || err != nil || !strings.Contains(why, "giving its output its name") {
			t.Errorf("committing: %+v, %s, %v", s, why, err)
		}
		if err := c.Kill(3, driver.Job, "no more"); wire.KindOf(err) != wire.Invalid || err == nil {
			t.Errorf("it is cancelled while it commits: %v", err)
		}
		if step(driver, "commit", ""); c.DriverStep(driver).Info.Spec.Name != "j" {
			t.Errorf("%+v", c.DriverStep(driver))
		}
		if _, err := c.Plan(3, driver, &wire.StagePlan{Splits: splitsOf(3)}); err != nil { // it did not hear the answer
			t.Error(err)
		}
		if err := c.Commit(5*time.Millisecond, driver, problem); err != nil {
			t.Fatal(err)
		}
		s, _ = c.Status(driver.Job)
		if s.State != want || s.Ended != 5 || s.Driver != "" || s.Committing && want == wire.Succeeded || problem == "" && s.Error != "" || problem != "" && s.Error != "commit: "+problem {
			t.Errorf("%q: %+v", problem, s)
		}
		step(driver, "stop", fmt.Sprintf("the job is %s: ", want))
		if got := c.DriverStep(driver); got.Abort != (want == wire.Failed) {
			t.Errorf("%q: the output is to be removed: %v", problem, got.Abort)
		}
		stale(driver)
		if why, err := c.Why(6, driver.Job); err != nil || why != fmt.Sprintf("%s is %s", driver.Job, want) {
			t.Errorf("%s, %v", why, err)
		}
		if err := c.Kill(6, driver.Job, "no more"); err != nil { // it has ended already
			t.Error(err)
		}
		if s, _ = c.Status(driver.Job); s.State != want {
			t.Errorf("a job that was %s is %s when somebody cancels it", want, s.State)
		}
	}
	c, driver := planned(t)
	if err := c.Kill(5, driver.Job, "no more"); err != nil {
		t.Fatal(err)
	}
	if got := c.DriverStep(driver); got.Do != "stop" || !got.Abort {
		t.Errorf("the driver of a cancelled job is told %+v", got)
	}
	for id, kind := range map[wire.JobID]wire.Kind{"job-9": wire.NotFound, "x": wire.Invalid} {
		_, err1 := c.Status(id)
		_, err2 := c.Why(5, id)
		_, err3 := c.StageInfo(wire.StageRef{Job: id})
		for _, err := range []error{c.Kill(5, id, ""), err1, err2, err3} {
			if err == nil || wire.KindOf(err) != kind {
				t.Errorf("%s: %v is no %v", id, err, kind)
			}
		}
	}
	for _, stage := range []int{-1, 1} {
		if info, err := c.StageInfo(wire.StageRef{Job: driver.Job, Stage: stage}); err == nil {
			t.Errorf("stage %d of a job of one is %+v", stage, info)
		}
	}
}

// TestAttemptsThatFail: a job ends when one of its tasks, or its driver, has failed as often as it may, or for good; it says how often, and
// what was wrong last. Until then another attempt begins.
func TestAttemptsThatFail(t *testing.T) {
	for _, x := range []struct {
		kind     wire.TaskKind
		attempts int // that the job may have; 0: as the master says, 4
		final    int // the attempt that fails for good
		want     string
		tries    int
	}{
		{wire.MapTask, 0, 0, "map 0 failed 4 times; the last: no 4", 4},
		{wire.MapTask, 2, 0, "map 0 failed 2 times; the last: no 2", 2},
		{wire.MapTask, 1, 0, "map 0: no 1", 1},
		{wire.MapTask, 0, 1, "map 0: no 1", 1},
		{wire.MapTask, 0, 2, "map 0 failed 2 times; the last: no 2", 2},
		{wire.DriverTask, 0, 0, "the driver failed 4 times; the last: no 4", 4},
		{wire.DriverTask, 6, 0, "the driver failed 6 times; the last: no 6", 6},
		{wire.DriverTask, 1, 0, "no 1", 1},
		{wire.DriverTask, 0, 1, "no 1", 1},
		{wire.DriverTask, 0, 3, "the driver failed 3 times; the last: no 3", 3},
	} {
		s := newScene(t, 1, 1)
		s.c.jobs[s.job].spec.Attempts = x.attempts
		tries := 0
		for tries < 10 && !s.c.HasEnded(s.job) {
			for _, h := range []*hand{s.n0, s.n1} {
				s.say(h)
				for id := range h.running {
					if id.Kind == x.kind {
						tries++
						s.say(h, wire.Ended{ID: id, Error: fmt.Sprint("no ", tries), Final: tries == x.final})
						if got := s.status(); !got.State.Ended() && (got.LastError != fmt.Sprint("no ", tries) || got.Retries != tries) {
							t.Errorf("%+v: after %d tries %+v", x, tries, got)
						}
					}
				}
			}
		}
		if got := s.status(); got.State != wire.Failed || got.Error != x.want || tries != x.tries {
			t.Errorf("%+v: after %d tries it is %s: %s", x, tries, got.State, got.Error)
		}
	}
}

// TestAnswersWaitForTheJournal: an end is acknowledged, and a driver started, when the record before it is on disk and not sooner; a launch is repeated
// until the worker reports the attempt, with the spec until it has it.
func TestAnswersWaitForTheJournal(t *testing.T) {
	c, driver := planned(t)
	made := int64(len(c.Take().Records))
	for durable, want := range map[int64]int{made - 1: 0, made: 1, made + 1: 1} {
		for range 2 {
			a := c.AnswerTo("n0", durable)
			if len(a.Launch) != want || want > 0 && (a.Launch[0].ID != driver || a.Launch[0].Spec == nil) {
				t.Errorf("%d of %d records are on disk: launched are %+v", durable, made, a.Launch)
			}
		}
	}
	report(t, c, 0, driver)
	if a := c.AnswerTo("n0", made); len(a.Launch) != 0 {
		t.Errorf("it runs, and is launched again: %+v", a.Launch)
	}
	if a := c.AnswerTo("nobody", made); !a.Full || a.Epoch != c.cfg.Epoch {
		t.Errorf("an unknown worker is told %+v", a)
	}
	s := newScene(t, 1, 1)
	id := s.n1.mapsOf()[0]
	made = s.c.noted + 1
	r := &wire.Report{Node: "n1", Rack: "r1", Session: s.n1.addr(), Seq: 50, Addr: s.n1.addr(), Idle: -1, Capacity: wire.Capacity{Containers: 1}, Ended: []wire.Ended{{ID: id, OK: true}}}
	a, err := s.c.Report(s.now, r, made-1)
	if err != nil || len(a.Ended) != 0 || s.c.noted != made {
		t.Errorf("an end is noted before its record is on disk: %v, %v, %d records", a.Ended, err, s.c.noted)
	}
	for _, want := range []int{1, 0} {
		if a := s.c.AnswerTo("n1", made); len(a.Ended) != want {
			t.Errorf("noted are %v, want %d", a.Ended, want)
		}
	}
}
