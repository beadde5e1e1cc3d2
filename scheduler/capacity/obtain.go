package capacity

import (
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// obtain is obtain of spec/capacity 3.5: a task of j for n, or none while the job
// still waits for a nearer node.
func (p *Policy) obtain(j *job, n topology.NodeID, k scheduler.Kind, v *scheduler.View) (scheduler.TaskID, scheduler.Locality, bool) {
	if k == scheduler.Reduce || p.slotsOf(j, k) > 1 { // high-memory jobs do not wait
		return v.PickTask(j, n, k)
	}
	s := p.seat(j)
	if v.Fresh(n) {
		s.missed++
	}
	if t, near, ok := p.local(j, s, n, v); ok {
		s.missed = 0
		return t, near, true
	}
	if !p.sinceHeartbeat(n).remote && p.offSwitchWait(j, v) < float64(s.missed) {
		return v.PickMap(j, n, scheduler.Remote)
	}
	p.block = block{code: scheduler.ForLocality, job: j, a: s.missed, b: int32(p.offSwitchWait(j, v))}
	return scheduler.TaskID{}, 0, false
}

// local takes a node-local map, or a rack-local one, for which it may have to
// wait first (spec/capacity 6, item 16).
func (p *Policy) local(j *job, s *seat, n topology.NodeID, v *scheduler.View) (scheduler.TaskID, scheduler.Locality, bool) {
	worst := scheduler.RackLocal
	if p.cfg.RackWait > 0 && float64(s.missed) <= p.cfg.RackWait*float64(v.Total().Nodes) {
		worst = scheduler.NodeLocal
	}
	return v.PickMap(j, n, worst)
}

// offSwitchWait is how many offers j passes up before it takes a remote map.
func (p *Policy) offSwitchWait(j *job, v *scheduler.View) float64 {
	left := j.Total(scheduler.Map) - j.Done(scheduler.Map)
	return max(float64(min(left, v.Total().Nodes))*p.cfg.LocalityWait, p.cfg.RackWait*float64(v.Total().Nodes))
}
