package sim

import (
	"cmp"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
)

// A Meter is a model that knows how far attempts have come, 0 to 1. Second attempts need it.
type Meter interface {
	AttemptProgress(now time.Duration, a Attempt, job *Job) float64
}

// meter returns how to ask the model how far an attempt is, or nil if the model cannot say.
func (s *simulation) meter() drive.Meter {
	m, ok := s.cfg.Model.(Meter)
	if !ok {
		return nil
	}
	return func(now time.Duration, a scheduler.Attempt) (float64, bool) {
		mine, ok := s.running[a.Node].find(a.Task)
		if !ok {
			return 0, false
		}
		return m.AttemptProgress(now, mine, s.jobs[s.index(a.Task.Job)]), true
	}
}

// secondsEvery returns how often second attempts are considered: as often as nodes report.
func (c *Config) secondsEvery() time.Duration {
	return cmp.Or(c.Heartbeat, c.AskAgain, time.Second)
}

// stopRivals ends the other attempt of a task that has got its result.
func (s *simulation) stopRivals(winner Attempt) {
	if len(s.raced) == 0 || !s.raced[winner.Task] {
		return
	}
	delete(s.raced, winner.Task)
	if winner.Second {
		s.res.Won++
	}
	for n := range s.running {
		if a, ok := s.running[n].find(winner.Task); ok {
			s.stop(a)
			s.feed(scheduler.TaskKilled(a.Task, a.Node))
			s.gotRoom(a.Node)
		}
	}
}

// AttemptProgress implements Meter: reduces count from the end of the maps.
func (f *fixed) AttemptProgress(now time.Duration, a Attempt, job *Job) float64 {
	from := a.Start
	if a.Task.Kind == scheduler.Reduce && job.Spec.Maps > 0 {
		at, done := f.doneAt[a.Task.Job]
		if !done {
			return 0
		}
		from = max(from, at)
	}
	return passed(now-from, job.length(a))
}

// AttemptProgress implements Meter: a third for reading or shuffling, the rest for
// computing.
func (m *network) AttemptProgress(now time.Duration, a Attempt, job *Job) float64 {
	t := m.find(a)
	if t == nil || t.phase == reading || t.phase == fetching {
		return 0
	}
	return 1.0/3 + 2.0/3*passed(now-t.began, job.length(a))
}

// passed returns the part of a time that is over.
func passed(elapsed, whole time.Duration) float64 {
	if elapsed >= whole {
		return 1
	}
	return float64(elapsed) / float64(whole)
}

var (
	_ Meter = (*fixed)(nil)
	_ Meter = (*network)(nil)
)
