package jobpacker

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

type (
	job      = scheduler.Job
	decision = scheduler.Decision
)

// Assign implements scheduler.Policy: the line of the node's rack first, then
// jobs without a plan (spec/jobpacker 3.10).
func (p *Policy) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) decision {
	why := scheduler.Reason{Code: scheduler.NoWork, Say: "no job has work for {node}", Node: n}
	if len(p.arrived) > 0 {
		why = scheduler.Reason{Code: scheduler.ForPlan, Say: "{node} stays idle: {a} planned jobs have no task for {rack} now", Node: n, Rack: v.RackOf(n), A: int64(len(p.arrived))}
	}
	allowed := p.cfg.Reduces.Kinds(v, n)
	d := p.fromLine(n, slices.Contains(allowed, scheduler.Reduce), v)
	if d.OK {
		return d
	}
	if d.Reason.Code != scheduler.Unspecified {
		why = d.Reason
	}
	for _, k := range allowed {
		if p.heavy.Len(k)+p.light.Len(k) == 0 {
			continue
		}
		d := p.adhoc(now, n, k, v)
		if d.OK {
			return d
		}
		why = d.Reason
	}
	return scheduler.Idle(why)
}

// fromLine serves the first entry of the rack's line that can use the node.
// While a map of the line waits, reduces keep to their share of the rack, so
// that they cannot fill it and wait for ever for their own maps.
func (p *Policy) fromLine(n topology.NodeID, reduces bool, v *scheduler.View) decision {
	rack := v.RackOf(n)
	room := [kinds]bool{v.HasRoom(n, scheduler.Map), v.HasRoom(n, scheduler.Reduce) && reduces}
	var why scheduler.Reason
	var later *job
	mapsWait := false
	for _, e := range p.seq[rack] {
		j := e.plan.job
		if j == nil || !p.cfg.Reduces.Eligible(j, e.kind) || p.used(j, rack, e.kind) >= p.quota(e.plan, e.kind, rack) {
			continue
		}
		mapsWait = mapsWait || e.kind == scheduler.Map
		switch {
		case !room[e.kind] || !v.Fits(n, j, e.kind) || !p.inShare(j, n, e.kind, v):
			why = scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for a {kind} of {job}, which is planned for {rack}", Node: n, Kind: e.kind, Job: j.ID(), Rack: rack}
		case e.kind == scheduler.Reduce && p.overShare(j, rack, n, v):
			if later == nil {
				later = j
			}
		default:
			return p.run(e.plan, e.kind, n, v)
		}
	}
	if later != nil && !mapsWait {
		return p.run(p.record(later).plan, scheduler.Reduce, n, v)
	}
	return scheduler.Idle(why)
}

// used returns how much of its quota in a rack a job has used.
func (p *Policy) used(j *job, r topology.RackID, k scheduler.Kind) int32 {
	s := j.InRack(r)
	return s.Running[k] + s.Done[k]
}

// quota returns how many tasks of a planned job a rack may run; Corral has no quotas.
func (p *Policy) quota(q *plan, k scheduler.Kind, r topology.RackID) int32 {
	if p.cfg.Corral {
		return q.job.Total(k)
	}
	return int32(q.part(int(q.job.Total(k)), k, r))
}

// inShare reports whether n may take a task of j: beyond the share of reduces only one that waits for nobody.
func (p *Policy) inShare(j *job, n topology.NodeID, k scheduler.Kind, v *scheduler.View) bool {
	return k == scheduler.Map || p.cfg.Reduces.AllowsReduce(v, n, j, scheduler.Needy{})
}

// overShare reports whether one more reduce of j would exceed the reduces' share of a rack.
func (p *Policy) overShare(j *job, r topology.RackID, n topology.NodeID, v *scheduler.View) bool {
	c := v.Capacity(n)
	if c.Slotted() || p.cfg.Reduces.Ripe && !j.Waits(scheduler.Reduce) {
		return false
	}
	used, total := v.RackUsed(r), v.RackTotal(r)
	return float64(used.Slots[scheduler.Reduce]+1) > p.cfg.Reduces.Share*float64(total.Slots[scheduler.Map])
}

func (p *Policy) run(q *plan, k scheduler.Kind, n topology.NodeID, v *scheduler.View) decision {
	t, near, ok := v.PickTask(q.job, n, k)
	if !ok { // Eligible has said that there is one
		return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork, Say: "{job} has no {kind} left", Job: q.job.ID(), Kind: k})
	}
	rack := v.RackOf(n)
	return scheduler.Run(t, near, scheduler.Reason{
		Say: "{job} is planned for {rack}: {kind} {a} of {b} there", Job: q.job.ID(), Kind: k, Rack: rack,
		A: int64(p.used(q.job, rack, k)) + 1, B: int64(p.quota(q, k, rack)),
	})
}
