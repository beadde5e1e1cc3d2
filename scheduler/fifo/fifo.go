package fifo

import (
	"cmp"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Info describes the policy.
var Info = scheduler.Info{
	Name:    "fifo",
	Seam:    scheduler.Assignment,
	Summary: "jobs by priority, then submission; nearest map first",
	Source:  "spec/capacity 3.1, spec/slowdown 3.1",
	Usual:   scheduler.Ramped, UsualUnless: scheduler.RampedUnless,
	Setup: scheduler.Bind(scheduler.DefaultReduceRule, (*scheduler.ReduceRule).RampParams,
		func(r scheduler.ReduceRule) (*Policy, error) { return New(r), nil }),
}

// A Policy is the fifo policy.
type Policy struct {
	rule scheduler.ReduceRule
	// lines has, by kind, the jobs with an eligible task, best priority first,
	// then oldest.
	lines [scheduler.Driver]*scheduler.Order[*scheduler.Job, scheduler.Priority]
}

var (
	_ scheduler.Policy    = (*Policy)(nil)
	_ scheduler.Explainer = (*Policy)(nil)
	_ scheduler.Killer    = (*Policy)(nil)
)

// New returns a fifo policy.
func New(rule scheduler.ReduceRule) *Policy {
	p := &Policy{rule: rule}
	for k := range p.lines {
		p.lines[k] = scheduler.NewOrder[*scheduler.Job](func(a, b scheduler.Priority) int { return cmp.Compare(b, a) })
	}
	return p
}

// Observe implements scheduler.Policy.
func (p *Policy) Observe(_ time.Duration, e scheduler.Event, v *scheduler.View) {
	j := v.Job(e.Job)
	if j == nil {
		return
	}
	for k, line := range p.lines {
		if p.rule.Eligible(j, scheduler.Kind(k)) {
			line.Set(j, j.Priority())
		} else {
			line.Remove(j)
		}
	}
}

// Assign implements scheduler.Policy.
func (p *Policy) Assign(_ time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	why := scheduler.Reason{Code: scheduler.NoWork, Say: "no job has work for {node}", Node: n}
	for _, k := range p.rule.Kinds(v, n) {
		line := p.lines[k]
		if line.Len() == 0 {
			continue
		}
		why = scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for a {kind} of {job}", Node: n, Kind: k, Job: line.At(0).ID()}
		if !v.HasRoom(n, k) {
			continue
		}
		for i := range line.Len() {
			j := line.At(i)
			if !v.Fits(n, j, k) || k == scheduler.Reduce && !p.rule.AllowsReduce(v, n, j, p.needy()) {
				continue
			}
			if t, near, ok := v.PickTask(j, n, k); ok {
				return scheduler.Run(t, near, chosen(j, n, i))
			}
		}
	}
	return scheduler.Idle(why)
}

// needy returns the job whose map is next: it is owed what jobs behind it hold.
func (p *Policy) needy() scheduler.Needy {
	n := scheduler.Needy{Owed: func(a *scheduler.Job, _ int32, b *scheduler.Job, _ int32) bool {
		return b.Priority() > a.Priority() || b.Priority() == a.Priority() && b.Seq() < a.Seq()
	}}
	if p.lines[scheduler.Map].Len() > 0 {
		n.Job = p.lines[scheduler.Map].At(0)
	}
	return n
}

// Kill implements scheduler.Killer: with rampup, reduces that wait give way to maps.
func (p *Policy) Kill(now time.Duration, v *scheduler.View) (scheduler.Victim, bool) {
	return p.rule.GiveBack(now, v, p.needy())
}

func chosen(j *scheduler.Job, n topology.NodeID, ahead int) scheduler.Reason {
	r := scheduler.Reason{Say: "{job} is first in line", Job: j.ID(), Node: n, A: int64(ahead)}
	if ahead > 0 {
		r.Say = "{job} is next in line: {a} jobs before it have nothing that fits {node}"
	}
	return r
}

// Explain implements scheduler.Explainer.
func (p *Policy) Explain(_ time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	j := v.Job(id)
	for k, line := range p.lines {
		if !line.Has(j) {
			continue
		}
		if r, follows := p.rule.Follows(j, scheduler.Kind(k)); follows {
			return r
		}
		for i := range line.Len() {
			if line.At(i) == j && i > 0 {
				return scheduler.Reason{Code: scheduler.Behind, Say: "{job} waits: {a:jobs are} before it for {kind} slots, the first is {other}", Job: id, Kind: scheduler.Kind(k), A: int64(i), Other: line.At(0).ID()}
			}
		}
		return scheduler.Reason{Code: scheduler.NoRoom, Say: "{job} is first in line for {kind} slots and waits for room", Job: id, Kind: scheduler.Kind(k)}
	}
	return p.rule.Why(j)
}
