package capacity

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

func (p *Policy) chosen(q *queue, j *job, k scheduler.Kind, ahead int) scheduler.Reason {
	r := scheduler.Reason{Say: "{group} holds {a} of {b} guaranteed {kind} slots; {job} is first in it", Group: j.Queue(), Job: j.ID(), Kind: k, A: int64(p.occupied(q, k)), B: int64(q.slots[k]), C: int64(ahead)}
	if ahead > 0 {
		r.Say = "{group} holds {a} of {b} guaranteed {kind} slots; {job} is next in it: {c} before it cannot run here now"
	}
	return r
}

// blocked turns what stood in the way into the reason for an empty answer.
func (p *Policy) blocked(n topology.NodeID, k scheduler.Kind) scheduler.Reason {
	b := &p.block
	if b.job == nil {
		return scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for any {kind} that may run", Node: n, Kind: k}
	}
	if b.code == scheduler.ForLocality {
		return scheduler.Reason{Code: b.code, Say: "{job} passes up {node}: {a} of {b} offers without its data", Node: n, Job: b.job.ID(), A: int64(b.a), B: int64(b.b)}
	}
	return p.limited(b.job, k)
}

// limited says which limit keeps j from another slot of kind k.
func (p *Policy) limited(j *job, k scheduler.Kind) scheduler.Reason {
	s := p.slotsOf(j, k)
	leaf := p.seat(j).leaf
	r := scheduler.Reason{Code: scheduler.AtLimit, Job: j.ID(), Kind: k, Group: j.Queue()}
	for q := leaf; q != nil; q = q.parent {
		if q.cap[k] >= 0 && p.occupied(q, k)+s > max(q.cap[k], s) {
			r.Say, r.A, r.B = "{job} waits: {group} holds {a} {kind} slots of a maximum of {b}", int64(p.occupied(q, k)), int64(q.cap[k])
			if q != leaf {
				r.Say = "{job} waits: a parent of {group} holds {a} {kind} slots of a maximum of {b}"
			}
			return r
		}
	}
	r.Group = j.Member()
	r.Say = "{job} waits: {group} holds {a} {kind} slots of a limit of {b}, with {c} active users"
	r.A, r.B, r.C = int64(p.heldBy(leaf.leaf.user(j), k)), int64(p.userLimit(leaf, k, s)), int64(p.activeUsers(leaf.leaf, k))
	return r
}

// Notes implements scheduler.Noter: queues of jobs that nobody has configured. Jobs that name none are not among them.
func (p *Policy) Notes(v *scheduler.View) (out []string) {
	for j := range v.Jobs().All() {
		name := j.Queue().Name()
		if q, known := p.find(name); !known && name != "default" {
			if note := fmt.Sprintf("there is no queue %s: its jobs run in queue %s", name, q.Name); !slices.Contains(out, note) {
				out = append(out, note)
			}
		}
	}
	return out
}

// Explain implements scheduler.Explainer.
func (p *Policy) Explain(now time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	j := v.Job(id)
	if j == nil || p.seat(j).leaf == nil {
		return scheduler.Reason{Code: scheduler.NoWork, Say: "{job} is not an unfinished job", Job: id}
	}
	p.settle(now)
	p.measure(v)
	for k := range scheduler.Driver {
		if p.seat(j).listed[k] {
			return p.waiting(j, k, v)
		}
	}
	return p.cfg.Reduces.Why(j)
}

func (p *Policy) waiting(j *job, k scheduler.Kind, v *scheduler.View) scheduler.Reason {
	s, r := p.seat(j), scheduler.Reason{Job: j.ID(), Kind: k, Group: j.Queue()}
	line := s.leaf.leaf.lines[k]
	for i := range line.Len() {
		if line.At(i) == j {
			r.A = int64(i)
		}
	}
	follow, follows := p.cfg.Reduces.Follows(j, k)
	switch {
	case follows:
		return follow
	case !p.allowed(s.leaf, j, k):
		return p.limited(j, k)
	case s.reserved[k] > 0:
		r.Code, r.Say, r.A, r.B = scheduler.NoRoom, "{job} needs {b} {kind} slots per task and has reserved {a} nodes until they are free", int64(s.reserved[k]), int64(p.slotsOf(j, k))
	case k == scheduler.Map && s.missed > 0:
		r.Code, r.Say, r.A, r.B = scheduler.ForLocality, "{job} has passed up {a} of {b} offers without its data", int64(s.missed), int64(p.offSwitchWait(j, v))
	case r.A > 0:
		r.Code, r.Say = scheduler.Behind, "{job} waits: {a:jobs are} before it in {group} for {kind} slots"
	default:
		r.Code, r.Say = scheduler.NoRoom, "{job} is first in {group} for {kind} slots and waits for one"
	}
	return r
}
