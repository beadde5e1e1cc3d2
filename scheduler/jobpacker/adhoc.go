package jobpacker

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// adhoc serves jobs without a plan: the first heavy one that may enter the
// rack, else the first that is not heavy (spec/jobpacker 3.10, step 2).
func (p *Policy) adhoc(now time.Duration, n topology.NodeID, k scheduler.Kind, v *scheduler.View) decision {
	why := scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for a {kind}", Node: n, Kind: k}
	if !v.HasRoom(n, k) {
		return scheduler.Idle(why)
	}
	rack := v.RackOf(n)
	for i := range p.heavy.Len(k) {
		j := p.heavy.At(k, i).At(0)
		if !v.Fits(n, j, k) || !p.inShare(j, n, k, v) || !p.mayRun(j, rack, k, v) {
			continue
		}
		if others := p.others(j, rack); others > 0 && now-p.record(j).got < p.cfg.AdhocHeavyMaxWait {
			why = p.keptAway(j, rack, others)
			continue
		}
		if t, near, ok := v.PickTask(j, n, k); ok {
			return scheduler.Run(t, near, scheduler.Reason{Say: "{job} is the first heavy job without a plan that may use {rack}", Job: j.ID(), Rack: rack})
		}
	}
	if d := p.fromShares(p.light, n, k, v); d.OK {
		return d
	}
	return scheduler.Idle(why)
}

func (p *Policy) fromShares(s *fair.Shares, n topology.NodeID, k scheduler.Kind, v *scheduler.View) decision {
	for i := range s.Len(k) {
		j := s.At(k, i).At(0)
		if !v.Fits(n, j, k) || !p.inShare(j, n, k, v) || !p.mayRun(j, v.RackOf(n), k, v) {
			continue
		}
		if t, near, ok := v.PickTask(j, n, k); ok {
			return scheduler.Run(t, near, scheduler.Reason{Say: "{job} has no plan and is farthest below its share: it holds {a}", Job: j.ID(), A: int64(j.Held())})
		}
	}
	return scheduler.Idle(scheduler.Reason{})
}

// others counts the running tasks of other heavy jobs in a rack. A job's own do
// not keep it away (spec/jobpacker 6.6).
func (p *Policy) others(j *job, r topology.RackID) int32 {
	own := j.InRack(r)
	return p.heavyTasks[r] - own.Running[scheduler.Map] - own.Running[scheduler.Reduce]
}

func (p *Policy) keptAway(j *job, r topology.RackID, others int32) scheduler.Reason {
	return scheduler.Reason{
		Code: scheduler.ForNetwork, Say: "{job} is heavy and keeps away from {rack}, where {a} tasks of other heavy jobs run", Job: j.ID(), Rack: r, A: int64(others),
	}
}
