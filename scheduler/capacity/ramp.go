package capacity

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

var _ scheduler.Killer = (*Policy)(nil)

// Kill implements scheduler.Killer: with rampup, reduces that wait give way to maps.
func (p *Policy) Kill(now time.Duration, v *scheduler.View) (scheduler.Victim, bool) {
	if p.cfg.Reduces.Ramp <= 0 {
		return scheduler.Victim{}, false
	}
	return p.cfg.Reduces.GiveBack(now, v, p.needy(nil))
}

// mayReduce reports whether a reduce of j may follow its maps now.
func (p *Policy) mayReduce(v *scheduler.View, n topology.NodeID, j *job) bool {
	return p.cfg.Reduces.Ramp <= 0 || p.cfg.Reduces.AllowsReduce(v, n, j, p.needy(j))
}

// needy returns the job, other than j, whose map is next and within all limits.
func (p *Policy) needy(j *job) scheduler.Needy {
	return scheduler.Needy{Job: p.nextMap(p.root, j), Owed: p.owed}
}

func (p *Policy) nextMap(q *queue, not *job) *job {
	if q.leaf != nil {
		for i, line := 0, q.leaf.lines[scheduler.Map]; i < line.Len(); i++ {
			if j := line.At(i); j != not && p.allowed(q, j, scheduler.Map) {
				return j
			}
		}
		return nil
	}
	p.sort(q.children, scheduler.Map)
	for _, c := range q.children {
		if c.listed[scheduler.Map] == 0 {
			continue
		}
		if j := p.nextMap(c, not); j != nil {
			return j
		}
	}
	return nil
}

// owed compares queues by what they hold of their guaranteed share, users of one queue by what
// they hold, and jobs of one user by their order.
func (p *Policy) owed(a *job, more int32, b *job, free int32) bool {
	qa, qb := p.seat(a).leaf, p.seat(b).leaf
	switch {
	case qa != qb:
		held, wants := float64(p.occupied(qa, scheduler.Map)+more-1), float64(p.occupied(qb, scheduler.Map)+free+1)
		return held*float64(qb.slots[scheduler.Map]) >= wants*float64(qa.slots[scheduler.Map])
	case a.User() != b.User():
		return p.heldBy(qa.leaf.user(a), scheduler.Map)+more-1 >= p.heldBy(qa.leaf.user(b), scheduler.Map)+free+1
	}
	line := qa.Priority && b.Priority() != a.Priority()
	return line && b.Priority() > a.Priority() || !line && b.Seq() < a.Seq()
}
