package hybrid

import (
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// steal moves the unstarted small job nearest the boundary to the scale-out
// queue, for good, if no scale-out job has a task to run (spec/hybrid 3.3). Whole
// jobs move, never tasks: those of one job on machines of different speed would
// wait for each other. Jobs that cannot use node n are passed over. One job per
// heartbeat of a node.
func (p *Policy) steal(n topology.NodeID, v *scheduler.View) bool {
	if !p.cfg.Steal || p.stole[n] || p.waiting(out) > 0 || p.unstarted.Len() == 0 {
		return false
	}
	if p.cfg.StealOnlyIfUpBusy && p.upHasRoom(v) {
		return false
	}
	for i := range p.unstarted.Len() {
		j := p.unstarted.At(i)
		if !p.canStart(j, n, v) {
			continue
		}
		p.stole[n] = true
		p.unstarted.Remove(j)
		p.records.Of(j).home = out
		for _, q := range p.queues {
			q.Touch(j, v)
		}
		return true
	}
	return false
}

// canStart reports whether n could run the first task of j.
func (p *Policy) canStart(j *scheduler.Job, n topology.NodeID, v *scheduler.View) bool {
	for k := range scheduler.Driver {
		if p.cfg.Fair.Reduces.Eligible(j, k) && v.Fits(n, j, k) {
			return true
		}
	}
	return false
}

// upHasRoom reports whether a scale-up container is free.
func (p *Policy) upHasRoom(v *scheduler.View) bool {
	for _, n := range p.ups {
		if v.HasRoom(n, scheduler.Map) {
			return true
		}
	}
	return false
}
