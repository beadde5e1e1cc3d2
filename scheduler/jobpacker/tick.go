package jobpacker

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Interval implements scheduler.Ticker.
func (p *Policy) Interval() time.Duration {
	return max(min(p.cfg.PlanMaxWait, max(p.cfg.MaxHold, time.Second))/4, time.Second)
}

// Tick implements scheduler.Ticker: jobs whose racks cannot serve them lose their plans.
func (p *Policy) Tick(now time.Duration, v *scheduler.View) {
	for j := range v.Jobs().All() {
		r := p.record(j)
		if r == nil || r.held() == nil {
			continue
		}
		if p.stranded(now, j, r, scheduler.Map, v) || p.stranded(now, j, r, scheduler.Reduce, v) {
			p.release(j, v)
		}
	}
}

// stranded reports whether j has waited too long for a task of kind k, and every
// rack that should run one has launched none of any job in that time, or has no
// node that j may use.
func (p *Policy) stranded(now time.Duration, j *job, r *record, k scheduler.Kind, v *scheduler.View) bool {
	if !p.cfg.Reduces.Eligible(j, k) {
		r.since[k] = now
	}
	if now-r.since[k] < p.cfg.PlanMaxWait {
		return false
	}
	for _, rack := range r.held().racks[k] {
		full := r.plan != nil && p.used(j, rack, k) >= p.quota(r.plan, k, rack)
		if !full && now-p.launched[rack][k] < p.cfg.PlanMaxWait && p.servable(j, rack, v) {
			return false
		}
	}
	return true
}

// servable reports whether some node of rack may run tasks of j.
func (p *Policy) servable(j *job, rack topology.RackID, v *scheduler.View) bool {
	for n := range v.Topology().NodesIn(rack) {
		if v.NodeState(n) == scheduler.NodeIsReady && !j.Banned(n) {
			return true
		}
	}
	return false
}

// Explain implements scheduler.Explainer.
func (p *Policy) Explain(now time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	j := v.Job(id)
	r := p.record(j)
	switch {
	case r == nil:
		return scheduler.Reason{Code: scheduler.ForDriver, Say: "{job} waits for its driver", Job: id}
	case r.plan != nil:
		return p.explainPlan(j, r.plan)
	case !p.cfg.Reduces.Eligible(j, scheduler.Map) && !p.cfg.Reduces.Eligible(j, scheduler.Reduce):
		return p.cfg.Reduces.Why(j)
	case r.heavy && now-r.got < p.cfg.AdhocHeavyMaxWait && p.crowded(j):
		return scheduler.Reason{Code: scheduler.ForNetwork, Say: "{job} is heavy and has no plan: it waits up to {a:time} for a rack without other heavy jobs", Job: id, A: int64(p.cfg.AdhocHeavyMaxWait)}
	}
	return scheduler.Reason{Code: scheduler.Behind, Say: "{job} has no plan: it gets what planned jobs leave, and holds {a} containers", Job: id, A: int64(j.Held())}
}

// crowded reports whether other heavy jobs run in every rack.
func (p *Policy) crowded(j *job) bool {
	for r := range p.heavyTasks {
		if p.others(j, topology.RackID(r)) <= 0 {
			return false
		}
	}
	return true
}

// explainPlan returns who is before j in the racks of its plan.
func (p *Policy) explainPlan(j *job, q *plan) scheduler.Reason {
	why := scheduler.Reason{Code: scheduler.ForPlan, Job: j.ID()}
	for k, racks := range q.racks {
		if !p.cfg.Reduces.Eligible(j, scheduler.Kind(k)) {
			continue
		}
		why.Kind, why.A, why.B = scheduler.Kind(k), int64(len(racks)), 0
		for _, r := range racks {
			at := slices.Index(p.seq[r], entry{q, scheduler.Kind(k)})
			for _, e := range p.seq[r][:max(at, 0)] {
				if o := e.plan.job; o != nil && o != j && p.cfg.Reduces.Eligible(o, e.kind) && p.used(o, r, e.kind) < p.quota(e.plan, e.kind, r) {
					why.B++
					why.Other = o.ID()
				}
			}
		}
		why.Say = "{job} waits for room in its {a} {kind} racks, where it is next"
		if why.B > 0 {
			why.Say = "{job} waits in its {a} {kind} racks behind {b} planned entries, the last of {other}"
		}
		return why
	}
	return p.cfg.Reduces.Why(j)
}
