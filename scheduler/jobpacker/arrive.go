package jobpacker

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Plan implements scheduler.Planner. Jobs of which too little is known are left out, and served as ad-hoc jobs when
// they arrive. A job that has arrived but follows no plan goes back to the racks of its earlier one.
func (p *Policy) Plan(now time.Duration, expected []*scheduler.JobSpec, v *scheduler.View) []scheduler.Placement {
	p.grow(v)
	for _, q := range slices.Clone(p.expected) {
		p.unline(q)
	}
	p.stale = true
	p.refresh(v)
	var jobs []*scheduler.JobSpec
	var back []*plan
	for _, s := range expected {
		j := v.Job(s.ID)
		switch {
		case !plannable(s):
		case j != nil:
			if q := p.takeBack(now, j, s, v); q != nil {
				back = append(back, q)
			}
		case p.stays(s, v):
			p.expected = append(p.expected, p.planner.keep(now, s))
		default:
			jobs = append(jobs, s)
		}
	}
	if len(jobs) > 0 {
		p.expected = append(p.expected, p.planner.plan(now, jobs)...)
	}
	var out []scheduler.Placement
	for i, q := range slices.Concat(back, p.expected) {
		if i >= len(back) {
			p.line(q)
		}
		p.widths.add(q)
		out = append(out, p.placement(q))
	}
	return out
}

func (p *Policy) placement(q *plan) scheduler.Placement {
	return scheduler.Placement{Job: q.spec.ID, Name: q.spec.Name, MapRacks: q.racks[scheduler.Map], ReduceRacks: q.racks[scheduler.Reduce], Why: p.planner.why(q)}
}

// Follows implements scheduler.Follower.
func (p *Policy) Follows(id scheduler.JobID, v *scheduler.View) (scheduler.Placement, bool) {
	if j := v.Job(id); j != nil {
		if r := p.record(j); r != nil && r.plan != nil {
			return p.placement(r.plan), true
		}
	}
	return scheduler.Placement{}, false
}

// takeBack puts an arrived job back onto an earlier plan: after a restart its racks were not known when it came.
func (p *Policy) takeBack(now time.Duration, j *scheduler.Job, s *scheduler.JobSpec, v *scheduler.View) *plan {
	r := p.record(j)
	if r == nil || r.plan != nil || !p.stays(s, v) {
		return nil
	}
	q := p.planner.keep(now, s)
	if q.job = j; q.heavy != r.heavy {
		by := int32(1)
		if r.heavy {
			by = -1
		}
		for rack := range p.heavyTasks {
			in := j.InRack(topology.RackID(rack))
			p.heavyTasks[rack] += by * (in.Running[scheduler.Map] + in.Running[scheduler.Reduce])
		}
	}
	r.plan, r.limit, r.heavy = q, nil, q.heavy
	p.arrived = append(p.arrived, q)
	p.line(q)
	p.heavy.Touch(j, v)
	p.light.Touch(j, v)
	return q
}

// stays reports whether a job can be left where an earlier plan has put it.
func (p *Policy) stays(s *scheduler.JobSpec, v *scheduler.View) bool {
	gone := func(r topology.RackID) bool {
		return !v.Topology().HasRack(r) || v.RackTotal(r).Slots[scheduler.Map] == 0
	}
	return len(s.MapRacks) > 0 && (s.Reduces == 0 || len(s.ReduceRacks) > 0) && !slices.ContainsFunc(slices.Concat(s.MapRacks, s.ReduceRacks), gone)
}

// refresh shows the planner the cluster as it is, with what is planned in it.
func (p *Policy) refresh(v *scheduler.View) {
	if !p.stale {
		return
	}
	p.stale = false
	p.planner.reset(v)
	p.model = p.cfg.model(v.Topology())
	for _, q := range p.arrived {
		p.planner.reserve(q)
	}
	for _, q := range p.expected {
		p.planner.reserve(q)
	}
}

// arrive decides how a job is served, when its tasks are known.
func (p *Policy) arrive(now time.Duration, j *scheduler.Job, v *scheduler.View) {
	p.refresh(v)
	r := &record{got: now, since: [kinds]time.Duration{now, now}}
	p.records.Set(j, r)
	if r.plan = p.planFor(now, j, v); r.plan != nil {
		r.plan.job = j
		p.arrived = append(p.arrived, r.plan)
		r.heavy = r.plan.heavy
		return
	}
	r.heavy = !p.cfg.Corral && p.seemsHeavy(j)
	if p.cfg.AggregateAdhoc {
		r.limit = p.confine(j, v)
	}
}

// planFor finds the plan of an announced job, or makes one.
func (p *Policy) planFor(now time.Duration, j *scheduler.Job, v *scheduler.View) *plan {
	s := j.Spec()
	at := slices.IndexFunc(p.expected, func(q *plan) bool { return q.spec.ID == s.ID && q.spec.Name == s.Name })
	if at < 0 && s.Name != "" && s.Recurring {
		at = slices.IndexFunc(p.expected, func(q *plan) bool { return q.spec.Name == s.Name })
	}
	if at >= 0 {
		q := p.expected[at]
		if p.dead(q, v) || s.Maps > 0 && q.width(scheduler.Map) == 0 || s.Reduces > 0 && q.width(scheduler.Reduce) == 0 {
			p.unline(q)
			return nil
		}
		p.expected = slices.Delete(p.expected, at, at+1)
		return q
	}
	if !p.cfg.PlanArrivals || !plannable(s) {
		return nil
	}
	for _, q := range p.planner.plan(now, []*scheduler.JobSpec{s}) {
		p.line(q)
		p.widths.add(q)
		return q
	}
	return nil
}

// seemsHeavy judges a job without a plan: by its shuffle size where that is
// known, else by its input; an unknown input may be large (spec/jobpacker 3.10).
func (p *Policy) seemsHeavy(j *scheduler.Job) bool {
	s := j.Spec()
	switch {
	case s.Reduces == 0:
		return false
	case s.Recurring && s.Shuffle.Known:
		return s.Shuffle.Bytes >= p.model.Threshold
	case s.Input.Known:
		return s.Input.Bytes > p.cfg.AdhocHeavy
	case s.Splits.Len() == 0:
		return true
	}
	total := int64(0)
	for _, b := range s.Splits.Bytes {
		total += b
	}
	return total > p.cfg.AdhocHeavy
}

// dead reports whether a rack of the plan has no node left.
func (p *Policy) dead(q *plan, v *scheduler.View) bool {
	return slices.ContainsFunc(slices.Concat(q.racks[:]...), func(r topology.RackID) bool { return v.RackTotal(r).Nodes == 0 })
}

// checkRack drops the plans of jobs that were to run in a rack without nodes:
// the default scheduler has them now (spec/jobpacker 3.10).
func (p *Policy) checkRack(rack topology.RackID, v *scheduler.View) {
	if rack == topology.NoRack || v.RackTotal(rack).Nodes > 0 {
		return
	}
	for _, q := range slices.Clone(p.arrived) {
		if slices.Contains(q.racks[0], rack) || slices.Contains(q.racks[1], rack) {
			p.release(q.job, v)
		}
	}
}

// release removes a job from its plan for good.
func (p *Policy) release(j *scheduler.Job, v *scheduler.View) {
	r := p.record(j)
	p.unline(r.plan)
	r.plan, r.limit = nil, nil
	p.heavy.Touch(j, v)
	p.light.Touch(j, v)
}
