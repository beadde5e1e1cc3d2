package sim

import (
	"fmt"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// kill carries out what a policy that stops attempts wants: running ones end without a
// result, and results of finished ones are forgotten.
func (s *simulation) kill() {
	killer, ok := s.cfg.Policy.(scheduler.Killer)
	if !ok {
		return
	}
	for s.err == nil {
		victim, ok := killer.Kill(s.now, s.engine.View())
		if !ok {
			return
		}
		s.moved = s.now
		if victim.Node == topology.NoNode {
			s.forget(victim.Task)
			continue
		}
		mine, ok := s.running[victim.Node].find(victim.Task)
		if !ok {
			s.err = fmt.Errorf("at %v: the policy stops %v on node %d, which does not run there", s.now, victim.Task, victim.Node)
			return
		}
		s.stop(mine)
		s.feed(scheduler.TaskKilled(victim.Task, victim.Node))
		s.gotRoom(victim.Node)
	}
}

// forget makes a finished task one that has not run.
func (s *simulation) forget(t scheduler.TaskID) {
	if t.Kind == scheduler.Map {
		s.cfg.Model.MapsUndone(s.now, s.jobs[s.index(t.Job)])
	}
	s.feed(scheduler.TaskLost(t))
}
