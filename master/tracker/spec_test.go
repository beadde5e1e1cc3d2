package tracker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// TestGoalsOfJobs: policies see the goal of a job as an instant, counted from when it was submitted; a job without one has none, whenever it comes.
func TestGoalsOfJobs(t *testing.T) {
	s := newScene(t, 1, 4)
	s.pass(3 * time.Second)
	goal := func(id wire.JobID) time.Duration { return s.c.View().Job(s.c.jobs[id].current().sid).Spec().Deadline }
	for millis, want := range map[int64]time.Duration{0: 0, 1: s.now + time.Millisecond, 100_000: s.now + 100*time.Second} {
		id, err := s.c.Submit(s.now, wire.JobSpec{Name: "k", User: "ann", Stages: 1, Deadline: millis, Program: wire.Program{Builtin: "sleep"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := goal(id); got != want {
			t.Errorf("a job of %v that shall end within %d ms: its goal is %v, want %v", s.now, millis, got, want)
		}
	}
	if got := goal(s.job); got != 0 {
		t.Errorf("a job that said nothing has the goal %v", got)
	}
}

// TestJobsThatCannotBe: what is out of range is refused, and the ends of the ranges are allowed.
func TestJobsThatCannotBe(t *testing.T) {
	good := wire.JobSpec{Name: "j", User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}}
	for what, spoil := range map[string]func(s *wire.JobSpec){
		"no program":           func(s *wire.JobSpec) { s.Program = wire.Program{} },
		"no user":              func(s *wire.JobSpec) { s.User = "" },
		"a chain of none":      func(s *wire.JobSpec) { s.Stages = 0 },
		"a chain too long":     func(s *wire.JobSpec) { s.Stages = 101 },
		"too high a priority":  func(s *wire.JobSpec) { s.Priority = scheduler.VeryHigh + 1 },
		"too low a priority":   func(s *wire.JobSpec) { s.Priority = scheduler.VeryLow - 1 },
		"too slow a start":     func(s *wire.JobSpec) { s.Slowstart = 1.1 },
		"fewer tries than no":  func(s *wire.JobSpec) { s.Attempts = -1 },
		"too many tries":       func(s *wire.JobSpec) { s.Attempts = 101 },
		"too long a name":      func(s *wire.JobSpec) { s.Name = strings.Repeat("x", wire.MaxName+1) },
		"too long a user":      func(s *wire.JobSpec) { s.User = strings.Repeat("x", wire.MaxName+1) },
		"too long a queue":     func(s *wire.JobSpec) { s.Queue = strings.Repeat("x", wire.MaxName+1) },
		"too long a pool":      func(s *wire.JobSpec) { s.Pool = strings.Repeat("x", wire.MaxName+1) },
		"a umask that is none": func(s *wire.JobSpec) { s.Umask = "x" },
	} {
		c, s := newCore(t), good
		spoil(&s)
		if id, err := c.Submit(0, s); wire.KindOf(err) != wire.Invalid || err == nil || len(c.jobs) > 0 {
			t.Errorf("%s: %q, %v", what, id, err)
		}
	}
	most := good
	most.Stages, most.Priority, most.Slowstart, most.Attempts = 100, scheduler.VeryHigh, 1, 100
	most.Name, most.Pool = strings.Repeat("x", wire.MaxName), strings.Repeat("y", wire.MaxName)
	least := good
	least.Priority, least.Slowstart = scheduler.VeryLow, 0
	c := newCore(t)
	c.cfg.MaxJobs = 2
	for _, s := range []wire.JobSpec{most, least} {
		if _, err := c.Submit(0, s); err != nil {
			t.Error(err)
		}
	}
	c.Resume(0)
	for range 2 {
		if _, err := c.Submit(0, good); wire.KindOf(err) != wire.Quota || err == nil {
			t.Errorf("one more than the master takes: %v", err)
		}
		if err := c.Kill(1, wire.JobID(fmt.Sprint("job-", c.lastJob)), "no more"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Submit(2, good); err != nil {
			t.Errorf("one has ended: %v", err)
		}
	}
}
