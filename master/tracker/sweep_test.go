package tracker

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// outputTo submits a job that writes into the block store and returns it with its driver, which n0 runs.
func (s *scene) outputTo(output string, stages int) (wire.JobID, wire.AttemptID) {
	s.t.Helper()
	id, err := s.c.Submit(s.now, wire.JobSpec{Name: "j", User: "ann", Stages: stages, Output: output, Program: wire.Program{Builtin: "sleep"}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.say(s.n0)
	driver := runningDriver(s.c, id)
	if driver.Job != id || !s.n0.running[driver] {
		s.t.Fatalf("n0 does not run the driver of %s: %v", id, driver)
	}
	return id, driver
}

func (s *scene) kill(id wire.JobID) {
	s.t.Helper()
	if err := s.c.Kill(s.now, id, "no longer wanted"); err != nil {
		s.t.Fatal(err)
	}
}

// idle is a scene whose own job has ended, with room for drivers on n0.
func idle(t *testing.T) *scene {
	s := newScene(t, 1, 4)
	s.kill(s.job)
	s.n0.room = 4
	s.say(s.n0)
	s.say(s.n1)
	return s
}

var annsOut = Leftover{"/user/ann/.out.millrace-job-2-0", "ann"}

func wantSwept(t *testing.T, when string, c *Tracker, want ...Leftover) {
	t.Helper()
	out := c.Take()
	if !slices.Equal(out.Clean, want) {
		t.Errorf("%s: the master removes %v, want %v", when, out.Clean, want)
	}
}

// TestSweepWithoutPlan: a driver makes the hidden directory before the master has its plan. A job that is killed in between leaves nothing.
func TestSweepWithoutPlan(t *testing.T) {
	s := idle(t)
	id, driver := s.outputTo("dfs:/user/ann/out", 1)
	s.c.Take()
	s.kill(id)
	wantSwept(t, "at the end", s.c, annsOut)
	// The driver was in the middle of it: it may have made the directory after that.
	s.say(s.n0)
	s.say(s.n0, wire.Ended{ID: driver, Error: "killed"})
	wantSwept(t, "when the driver has ended", s.c, annsOut)
	s.say(s.n0)
	wantSwept(t, "later", s.c)
}

// TestSweepOfDeadWorkers: a worker that was to end a driver of an ended job dies, or no longer knows it: the directory is removed again.
func TestSweepOfDeadWorkers(t *testing.T) {
	for name, gone := range map[string]func(s *scene){
		"restarted":   func(s *scene) { s.n0.restart(); s.say(s.n0) },
		"silent":      func(s *scene) { s.c.NodeGone(s.now, "n0", s.n0.addr(), "cut off") },
		"not running": func(s *scene) { clear(s.n0.running); s.say(s.n0) },
	} {
		s := idle(t)
		id, _ := s.outputTo("dfs:/user/ann/out", 1)
		s.kill(id)
		s.c.Take()
		gone(s)
		wantSwept(t, name, s.c, annsOut)
	}
}

// TestSweepAfterRestart: a master that dies between the end of a job and the removal of what it left removes it when it starts again.
func TestSweepAfterRestart(t *testing.T) {
	s := idle(t)
	killed, _ := s.outputTo("dfs:/user/ann/out", 1)
	s.kill(killed)
	chain, _ := s.outputTo("dfs:/user/ann/x/../chain", 2)
	s.kill(chain)
	here, _ := s.outputTo("/data/out", 1)
	s.kill(here)
	runs, _ := s.outputTo("dfs:/user/ann/runs", 1)
	records := s.c.Take().Records
	again := newCore(t)
	for i := range records {
		again.Replay(&records[i])
	}
	again.Resume(s.now)
	// A worker's own disk is not the block store.
	wantSwept(t, "at the start", again, annsOut, Leftover{TempDir(chain), "ann"}, Leftover{"/user/ann/.chain.millrace-job-3-1", "ann"})
	if st, err := again.Status(runs); err != nil || st.State != wire.Queued {
		t.Errorf("%s does not run any more: %v, %v", runs, st.State, err)
	}
}

// TestSweepSucceeded: what took its name is not removed, under no name.
func TestSweepSucceeded(t *testing.T) {
	s := idle(t)
	_, driver := s.outputTo("dfs:/user/ann/out", 1)
	if _, err := s.c.Plan(s.now, driver, &wire.StagePlan{Work: mapreduce.WorkDir("/user/ann/out", "job-2-0")}); err != nil {
		t.Fatal(err)
	}
	if err := s.c.Commit(s.now, driver, ""); err != nil {
		t.Fatal(err)
	}
	s.say(s.n0, wire.Ended{ID: driver, OK: true})
	wantSwept(t, "at the end", s.c)
}

// TestSweepOfALateDriver: a worker that was taken for dead comes back with a driver of a job that has succeeded under another. It may have made the hidden
// directory again, which is removed when the driver has ended.
func TestSweepOfALateDriver(t *testing.T) {
	s := idle(t)
	s.n1.room = 4
	id, late := s.outputTo("dfs:/user/ann/out", 1)
	s.c.NodeGone(s.now, "n0", s.n0.addr(), "cut off")
	s.say(s.n1)
	driver := runningDriver(s.c, id)
	if driver == late || !s.n1.running[driver] {
		t.Fatalf("n1 does not run the second driver: %v", driver)
	}
	if _, err := s.c.Plan(s.now, driver, &wire.StagePlan{Work: mapreduce.WorkDir("/user/ann/out", "job-2-0")}); err != nil {
		t.Fatal(err)
	}
	if err := s.c.Commit(s.now, driver, ""); err != nil {
		t.Fatal(err)
	}
	s.say(s.n1, wire.Ended{ID: driver, OK: true})
	s.say(s.n0)
	wantSwept(t, "while the late one runs", s.c)
	s.say(s.n0, wire.Ended{ID: late, Error: "killed"})
	wantSwept(t, "when it has ended", s.c, annsOut)
}
