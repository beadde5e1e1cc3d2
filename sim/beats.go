package sim

import (
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// nextBeat plans a node's next report, unless it would change nothing.
func (s *simulation) nextBeat(n topology.NodeID) {
	if s.cfg.QuietBeats && s.quiet(n) {
		s.asleep[n] = true
		return
	}
	s.agenda.add(s.now+s.cfg.Heartbeat, happening{what: beat, node: n})
}

// quiet reports whether a node has no room, or nobody has a task that waits. The first is
// woken by the end of an attempt, the second by work.
func (s *simulation) quiet(n topology.NodeID) bool {
	v := s.drive.View()
	switch {
	case !v.HasRoom(n, scheduler.Map) && !v.HasRoom(n, scheduler.Reduce):
		return true
	case !s.anyPending(v):
		s.idlers = append(s.idlers, n)
		return true
	}
	return false
}

func (s *simulation) anyPending(v *scheduler.View) bool {
	return v.Pending(scheduler.Map).Len() > 0 || v.Pending(scheduler.Reduce).Len() > 0 || s.drivers > 0
}

// wake plans the next report of a node that sleeps, at its own time in the period.
func (s *simulation) wake(n topology.NodeID) {
	if !s.asleep[n] {
		return
	}
	s.asleep[n] = false
	period := s.cfg.Heartbeat
	late := (s.now - s.phases[n]) % period
	if late < 0 {
		late += period
	}
	at := s.now
	if late > 0 {
		at += period - late
	}
	s.agenda.add(at, happening{what: beat, node: n})
}

// wakeIdle wakes the nodes that have room when there is work.
func (s *simulation) wakeIdle() {
	if !s.anyPending(s.drive.View()) {
		return
	}
	for _, n := range s.idlers {
		s.wake(n)
	}
	s.idlers = s.idlers[:0]
}
