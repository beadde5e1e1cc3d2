package capacity

import (
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// block remembers what stood in the way of the last job that got nothing.
type block struct {
	code scheduler.Code
	job  *job
	a, b int32
}

// pick is pick of spec/capacity 3.5: reserved nodes first, then queue by queue.
func (p *Policy) pick(n topology.NodeID, k scheduler.Kind, v *scheduler.View) scheduler.Decision {
	p.block = block{}
	if d, done := p.serveReserved(n, k, v); done {
		return d
	}
	if d, done := p.serve(p.root, n, k, v); done {
		return d
	}
	return scheduler.Idle(p.blocked(n, k))
}

// serve offers n to the queues below q, those farthest below their share first.
// done means that the search is over, with or without a task.
func (p *Policy) serve(q *queue, n topology.NodeID, k scheduler.Kind, v *scheduler.View) (d scheduler.Decision, done bool) {
	if q.leaf != nil {
		return p.serveJobs(q, n, k, v)
	}
	p.sort(q.children, k)
	for _, c := range q.children {
		if c.listed[k] == 0 {
			continue
		}
		if !p.shared && c.cap[k] >= 0 && p.occupied(c, k)+1 > c.cap[k] { // line 4 of pick
			p.block = block{code: scheduler.AtLimit, job: p.firstOf(c, k), a: p.occupied(c, k), b: c.cap[k]}
			continue
		}
		if d, done = p.serve(c, n, k, v); done {
			return d, true
		}
	}
	return scheduler.Decision{}, false
}

// firstOf returns the first job of the first leaf with work below q.
func (p *Policy) firstOf(q *queue, k scheduler.Kind) *job {
	for q.leaf == nil {
		for _, c := range q.children {
			if c.listed[k] > 0 {
				q = c
				break
			}
		}
	}
	return q.leaf.lines[k].At(0)
}

// sort orders siblings (line 2 of pick). They are nearly in order already.
func (p *Policy) sort(all []*queue, k scheduler.Kind) {
	for i := 1; i < len(all); i++ {
		for at := i; at > 0 && p.before(all[at], all[at-1], k); at-- {
			all[at], all[at-1] = all[at-1], all[at]
		}
	}
}

func (p *Policy) before(a, b *queue, k scheduler.Kind) bool {
	if p.cfg.Backlog {
		return a.backlog > b.backlog || a.backlog == b.backlog && a.place < b.place
	}
	x, y := p.ratio(a, k), p.ratio(b, k)
	return x < y || x == y && a.place < b.place
}

// ratio is occupied over guaranteed slots; 1 for a queue that has none
// guaranteed.
func (p *Policy) ratio(q *queue, k scheduler.Kind) float64 {
	if q.slots[k] == 0 {
		return 1
	}
	return float64(p.occupied(q, k)) / float64(q.slots[k])
}

// serveJobs offers n to the jobs of a leaf in the order of the queue.
func (p *Policy) serveJobs(q *queue, n topology.NodeID, k scheduler.Kind, v *scheduler.View) (scheduler.Decision, bool) {
	line, limit, of := q.leaf.lines[k], int32(-1), int32(0)
	for i := range line.Len() {
		j := line.At(i)
		s := p.slotsOf(j, k)
		if s != of { // the limit depends on the job through s only
			of, limit = s, p.userLimit(q, k, s)
		}
		u := &q.leaf.users[j.User().Slot()]
		if (p.heldBy(u, k)+s > limit || !p.underCaps(q, k, s)) && !p.stuck(j, k) {
			p.block = block{code: scheduler.AtLimit, job: j, a: p.heldBy(u, k), b: limit}
			continue
		}
		if k == scheduler.Reduce && !p.mayReduce(v, n, j) {
			continue
		}
		if !p.fits(n, j, k, v) {
			if p.reserve(n, j, k, v) {
				return scheduler.Idle(p.reservedFor(n, k)), true
			}
			continue
		}
		if t, near, ok := p.obtain(j, n, k, v); ok {
			return scheduler.Run(t, near, p.chosen(q, j, k, i)), true
		}
	}
	return scheduler.Decision{}, false
}

// userLimit is the limit of any user of q for tasks of s slots.
func (p *Policy) userLimit(q *queue, k scheduler.Kind, s int32) int32 {
	return UserLimit(q.slots[k], p.occupied(q, k), p.activeUsers(q.leaf, k), s, q.UserLimit, q.UserLimitFactor)
}

// underCaps is line 1 of allowed, for q and all above it. A cap below one task
// leaves room for one.
func (p *Policy) underCaps(q *queue, k scheduler.Kind, s int32) bool {
	for ; q != nil; q = q.parent {
		if q.cap[k] >= 0 && p.occupied(q, k)+s > max(q.cap[k], s) {
			return false
		}
	}
	return true
}

// allowed is allowed of spec/capacity 3.5.
func (p *Policy) allowed(q *queue, j *job, k scheduler.Kind) bool {
	s := p.slotsOf(j, k)
	return p.underCaps(q, k, s) && p.heldBy(q.leaf.user(j), k)+s <= p.userLimit(q, k, s) || p.stuck(j, k)
}

// stuck reports whether j may run one map past the limits: where kinds share
// containers its own reduces may hold all that the limits allow, and wait for
// ever for its maps.
func (p *Policy) stuck(j *job, k scheduler.Kind) bool {
	return p.shared && k == scheduler.Map && j.Running(scheduler.Map) == 0 && j.Usage().Tasks[scheduler.Reduce] > 0
}
