package tracker

import (
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// TestPause: while the master has no room nothing is started or admitted, nothing that fails counts, and a job says why it waits; afterwards all goes on.
func TestPause(t *testing.T) {
	const full = "the disk is full"
	s := newScene(t, 2, 4)
	s.c.Pause(s.now, full)
	s.c.Take()
	for range 3 * s.c.cfg.Attempts * lossFactor {
		for _, id := range s.n1.mapsOf() {
			s.say(s.n1, wire.Ended{ID: id, Error: "no space", Lost: id.Index == 0})
		}
		for id := range s.n0.running {
			s.say(s.n0, wire.Ended{ID: id, Error: "no space"})
		}
		s.c.Tick(s.now)
	}
	waits := mustSleep(t, s.c, s.now, "bob")
	s.pass(2 * s.c.cfg.Heartbeat)
	if len(s.wanted(s.n0, wire.DriverTask))+len(s.wanted(s.n1, wire.MapTask)) > 0 || len(s.n1.mapsOf()) > 0 {
		t.Error("something was started")
	}
	if why, err := s.c.Why(s.now, waits); err != nil || !strings.Contains(why, full) {
		t.Errorf("why: %q, %v", why, err)
	}
	if got := s.status(); got.State != wire.Running || got.Retries != 0 {
		t.Errorf("the job that ran: %+v", got)
	}
	s.c.Pause(s.now, "")
	if notes := s.c.Take().Notes; !slices.Contains(notes, "jobs go on") {
		t.Errorf("told are %q", notes)
	}
	if len(s.wanted(s.n0, wire.DriverTask))+len(s.wanted(s.n1, wire.DriverTask)) == 0 {
		t.Error("no driver was started afterwards")
	}
	for range s.c.cfg.Attempts { // now what fails counts again
		for _, id := range append(s.wanted(s.n1, wire.MapTask), s.wanted(s.n0, wire.MapTask)...) {
			h := s.n1
			if slices.Contains(s.wanted(s.n0, wire.MapTask), id) {
				h = s.n0
			}
			s.say(h, wire.Ended{ID: id, Error: "no"})
		}
		s.pass(2 * s.c.cfg.Heartbeat)
	}
	if got := s.status(); got.State != wire.Failed {
		t.Errorf("afterwards: %+v", got)
	}
}

// TestCommitWaitsOutAPause: a driver that cannot give the output its name while the master has no room is told to do so again; without a pause its job fails.
func TestCommitWaitsOutAPause(t *testing.T) {
	for pause, want := range map[string]wire.JobState{"the disk is full": wire.Succeeded, "": wire.Failed} {
		s := newSceneOf(t, 1, 0, 2)
		s.finish(s.n1, 1)
		driver := runningDriver(s.c, s.job)
		s.c.Pause(s.now, pause)
		if err := s.c.Commit(s.now, driver, "no space"); err != nil {
			t.Error(err)
		}
		if step := s.c.DriverStep(driver); pause != "" && step.Do != "commit" {
			t.Errorf("it is told to %s", step.Do)
		}
		s.c.Pause(s.now, "")
		_ = s.c.Commit(s.now, driver, "") // stale if the job has failed
		if got := s.status().State; got != want {
			t.Errorf("paused %q: %s, want %s", pause, got, want)
		}
	}
}
