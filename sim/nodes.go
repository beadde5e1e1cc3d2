package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// heartbeat handles a node's report: it reports what has ended, then gets work.
func (s *simulation) heartbeat(n topology.NodeID) {
	if s.drive.View().NodeState(n) == scheduler.NodeIsDown {
		return // its next report is planned when it comes back
	}
	for _, a := range s.late[n] {
		s.settle(a)
	}
	s.late[n] = s.late[n][:0]
	s.round(drive.Round{Parts: s.admits()})
	s.offer(n)
	s.nextHeartbeat(n)
}

// idleNodes is the set of nodes that may have room for tasks of a kind, in the order in which they got it. Without a
// reporting period these nodes ask.
type idleNodes struct {
	in   []bool
	list []topology.NodeID
}

func newIdleNodes(n int) *idleNodes {
	s := &idleNodes{in: make([]bool, n)}
	for i := range topology.NodeID(n) {
		s.add(i)
	}
	return s
}

func (s *idleNodes) add(n topology.NodeID) {
	if !s.in[n] {
		s.in[n] = true
		s.list = append(s.list, n)
	}
}

// gotRoom records that a node may have room again.
func (s *simulation) gotRoom(n topology.NodeID) {
	s.wake(n)
	for _, idle := range s.idle {
		idle.add(n)
	}
}

// offerIdle lets every node with room ask while there is work that could run.
func (s *simulation) offerIdle() {
	s.offerKind(scheduler.Map)
	s.offerKind(scheduler.Reduce)
}

func (s *simulation) offerKind(k scheduler.Kind) {
	v, idle := s.drive.View(), s.idle[k]
	if !s.anyWork(v, k) {
		return
	}
	kept := idle.list[:0]
	for i, n := range idle.list {
		if s.err != nil || !s.anyWork(v, k) {
			kept = append(kept, idle.list[i:]...)
			break
		}
		if v.HasRoom(n, k) {
			if s.abstains != nil && s.drivers == 0 && s.abstains(s.now, n, v) {
				kept = append(kept, n)
				continue
			}
			s.offer(n)
		}
		if v.HasRoom(n, k) || v.NodeState(n) != scheduler.NodeIsReady {
			kept = append(kept, n)
		} else {
			idle.in[n] = false
		}
	}
	idle.list = kept
}

func (s *simulation) anyWork(v *scheduler.View, k scheduler.Kind) bool {
	return v.Runnable(k).Len() > 0 || s.drivers > 0
}

// breakDown removes a node with everything that runs on it.
func (s *simulation) breakDown(f Fault) {
	if f.Until > 0 {
		s.agenda.add(f.Until, happening{what: comeBack, node: f.Node})
	}
	doomed := slices.Clone(s.running[f.Node])
	slices.SortFunc(doomed, func(a, b Attempt) int { return cmp.Compare(a.Try, b.Try) })
	for _, a := range doomed {
		s.stop(a)
	}
	s.late[f.Node] = nil
	lost := map[scheduler.JobID]bool{}
	err := s.drive.NodeLost(s.now, f.Node, !f.KeepOutput, func(e scheduler.Event) {
		if e.Kind == scheduler.EvTaskLost && !lost[e.Job] {
			lost[e.Job] = true
			s.cfg.Model.MapsUndone(s.now, s.jobs[s.index(e.Job)])
		}
	})
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("at %v: %w", s.now, err)
	}
	s.moved = s.now
}

// stop ends an attempt without a result.
func (s *simulation) stop(a Attempt) {
	s.running[a.Node].remove(a.Task)
	if a.Task.Kind == scheduler.Driver {
		s.drivers++ // the driver is placed again
		s.startedUp(s.index(a.Task.Job))
		return
	}
	s.res.Killed++
	s.logged(a, false)
	s.account(s.index(a.Task.Job), a)
	s.cfg.Model.Stop(s.now, a)
}

func (s *simulation) comeBack(n topology.NodeID) {
	if slices.ContainsFunc(s.cfg.Faults, func(f Fault) bool { return f.Node == n && f.At <= s.now && (f.Until == 0 || f.Until > s.now) }) {
		return // another fault has taken the node down
	}
	s.feed(scheduler.NodeUp(n, s.cfg.capacity(n)))
	s.heartbeats.asleep[n] = false // its report is planned below
	s.heartbeats.setIdle(n, false)
	s.gotRoom(n)
	s.moved = s.now
	if s.cfg.Heartbeat > 0 {
		s.heartbeats.phases[n] = s.now % s.cfg.Heartbeat
		s.heartbeats.sort()
		s.heartbeats.lives[n]++
		s.agenda.after(s.now, s.cfg.Heartbeat, s.reportOf(n))
	}
}
