package sim

import (
	"errors"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Speculation starts a second attempt of a task that falls behind, on a node for which
// the policy has nothing else: when all tasks of its kind in the job are launched, it has
// run for a while, and its progress is behind the average of its kind (capacity.md 3.7).
// The first of the two to end wins. The zero value never does.
type Speculation struct {
	// After is how long an attempt must have run. Hadoop: 60 s.
	After time.Duration
	// Behind is by how much its progress, 0 to 1, must be below the average. Hadoop:
	// 0.2. Smaller: more attempts in vain.
	Behind float64
	// Cap is the part of all slots or containers that second attempts may hold. LATE:
	// 0.1.
	Cap float64
}

// DefaultSpeculation returns the published values.
func DefaultSpeculation() Speculation { return Speculation{After: time.Minute, Behind: 0.2, Cap: 0.1} }

func (s *Speculation) on() bool { return s.Cap > 0 }

func (s *Speculation) validate() error {
	if s.After < 0 || s.Behind < 0 || s.Behind > 1 || s.Cap < 0 || s.Cap > 1 {
		return errors.New("speculation: the wait must not be negative, lag and cap must be 0 to 1")
	}
	return nil
}

// A Meter is a model that knows how far attempts have come, 0 to 1. Speculation needs it.
type Meter interface {
	AttemptProgress(now time.Duration, a Attempt, job *Job) float64
}

// speculate gives a node with room the slowest attempt that is behind.
func (s *simulation) speculate(n topology.NodeID) {
	v := s.engine.View()
	meter, ok := s.cfg.Model.(Meter)
	if !ok || s.err != nil {
		return
	}
	for live := range v.Jobs().All() {
		if live.Phase() != scheduler.Ready {
			continue
		}
		for k := range scheduler.Driver {
			if live.Pending(k) > 0 || live.Running(k) == 0 || !v.Fits(n, live, k) {
				continue
			}
			if float64(s.backups+1) > s.cfg.Speculation.Cap*float64(v.Total().Slots[k]) {
				return
			}
			if t, found := s.straggler(live, k, n, meter); found {
				s.backup(live, t, n)
			}
		}
	}
}

// straggler returns the attempt of a job with the least progress, if it is behind and
// has no rival.
func (s *simulation) straggler(live *scheduler.Job, k scheduler.Kind, n topology.NodeID, meter Meter) (scheduler.TaskID, bool) {
	v, job := s.engine.View(), s.jobs[s.index(live.ID())]
	sum, count := float64(live.Done(k)), float64(live.Done(k))
	worst, least := scheduler.TaskID{}, 2.0
	tries := map[scheduler.TaskID]int{}
	for a := range v.Attempts(live, k) {
		tries[a.Task]++
	}
	for a := range v.Attempts(live, k) {
		mine, ok := s.running[a.Node].find(a.Task)
		if !ok {
			continue
		}
		p := meter.AttemptProgress(s.now, mine, job)
		sum, count = sum+p, count+1
		old := s.now-a.Start >= s.cfg.Speculation.After
		if old && tries[a.Task] == 1 && a.Node != n && (p < least || p == least && a.Task.Index < worst.Index) {
			worst, least = a.Task, p
		}
	}
	return worst, least < 2 && least < sum/count-s.cfg.Speculation.Behind
}

// backup launches a second attempt.
func (s *simulation) backup(live *scheduler.Job, t scheduler.TaskID, n topology.NodeID) {
	near := s.engine.View().LocalityOf(live, t, n)
	s.feed(scheduler.Launched(t, n, near, true))
	if s.err != nil {
		return
	}
	s.backups++
	s.res.Speculative++
	s.launch(n, scheduler.Decision{OK: true, Task: t, Locality: near, Speculative: true})
}

// stopRivals ends the other attempt of a task that has got its result.
func (s *simulation) stopRivals(winner Attempt) {
	if !s.cfg.Speculation.on() {
		return
	}
	if winner.Speculative {
		s.backups--
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
		if !f.done[a.Task.Job] {
			return 0
		}
		from = max(from, f.doneAt[a.Task.Job])
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

// passed is the part of a time that is over.
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
