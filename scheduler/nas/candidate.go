package nas

import (
	"cmp"
	"math"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// A candidate is a map that might be launched.
type candidate struct {
	job       *job
	index     int32
	near      scheduler.Locality
	out       float64 // predicted output
	cost      float64 // MapCost = gamma * input (spec/nas 2.5)
	predicted bool
	small     bool // of a small-input job
}

func (p *Policy) candidate(j *job, est *estimate, i int32, near scheduler.Locality) candidate {
	gamma := 0.0 // also for input that is nowhere
	if near == scheduler.RackLocal || near == scheduler.Remote {
		gamma = float64(near)
	}
	return candidate{
		job: j, index: i, near: near, out: p.output(j, est, i), cost: gamma * p.est.bytes(j, est, i),
		predicted: est.predicted, small: p.cfg.Classes.Small(est.input),
	}
}

// local is line 8 of MTS (spec/nas 3.6): the best shuffle-qualified map with its data on the
// node. some is true if the line has a map that fits the node at all.
func (p *Policy) local(line fair.Line, a *ask, v *view) (best candidate, some bool) {
	for at := range line.Len() {
		j := line.At(at)
		est := p.est.of(j)
		held := a.filter && p.est.class(est) != Light // then it does not matter where its data is
		if some && held {
			continue
		}
		near := !held && v.HasLocal(j, a.node)
		home := near || !held && homeless(j)
		if some && !home || !v.Fits(a.node, j, scheduler.Map) {
			continue
		}
		if some = true; a.avail < 0 {
			break // none qualifies
		}
		switch {
		case !home, p.exceeds(j, est, a.avail, v):
		case !near:
			if i, ok := est.sizes.atMost(j, est, a.avail, v); ok {
				c := p.candidate(j, est, i, scheduler.Anywhere)
				best = better(&best, &c, a.avail, betterLocal)
			}
		default:
			best = p.scan(best, j, est, a, scheduler.NodeLocal, v, betterLocal)
		}
	}
	return best, some
}

// exceeds reports whether every pending map of j is predicted to write more than avail.
func (p *Policy) exceeds(j *job, est *estimate, avail float64, v *view) bool {
	if est.flat() || est.ratio*est.largest <= avail {
		return avail < 0
	}
	return est.ratio*p.smallest(j, est, v) > avail
}

// smallest returns the bytes of the smallest pending map of j; infinite if it has none.
func (p *Policy) smallest(j *job, est *estimate, v *view) float64 {
	if i, ok := est.sizes.first(j, v); ok {
		return p.est.bytes(j, est, i)
	}
	return math.Inf(1)
}

// homeless reports whether the input of j is stored nowhere: its maps are at home
// on every node.
func homeless(j *job) bool { return !j.Stored() }

// qualified is line 10: the best shuffle-qualified map wherever its data is.
func (p *Policy) qualified(line fair.Line, a *ask, v *view) (best candidate) {
	for at := range line.Len() {
		j := line.At(at)
		est := p.est.of(j)
		if a.filter && p.est.class(est) != Light || p.exceeds(j, est, a.avail, v) || !v.Fits(a.node, j, scheduler.Map) {
			continue
		}
		best = p.scan(best, j, est, a, scheduler.NodeLocal, v, betterAnywhere)
		best = p.scan(best, j, est, a, scheduler.RackLocal, v, betterAnywhere)
		if i, ok := est.sizes.first(j, v); ok {
			t := scheduler.TaskID{Job: j.ID(), Index: i}
			c := p.candidate(j, est, i, v.LocalityOf(j, t, a.node))
			best = better(&best, &c, a.avail, betterAnywhere)
		}
	}
	return best
}

// least is line 11: the map with the least output, node-local if there is one.
func (p *Policy) least(line fair.Line, a *ask, v *view) (best candidate) {
	var far candidate
	for at := range line.Len() {
		j := line.At(at)
		if !v.Fits(a.node, j, scheduler.Map) {
			continue
		}
		est := p.est.of(j)
		best = p.scan(best, j, est, a, scheduler.NodeLocal, v, betterLeast)
		if i, ok := est.sizes.least(j, est, v); ok {
			t := scheduler.TaskID{Job: j.ID(), Index: i}
			c := p.candidate(j, est, i, v.LocalityOf(j, t, a.node))
			if homeless(j) {
				best = better(&best, &c, 0, betterLeast)
			}
			far = better(&far, &c, 0, betterLeast)
		}
	}
	if best.job == nil {
		return far
	}
	return best
}

// scan compares best with the pending maps of j at one place: with the first if all are equal, else with at most
// Config.Look of them, up to one that none can better.
func (p *Policy) scan(best candidate, j *job, est *estimate, a *ask, near scheduler.Locality, v *view, by rule) candidate {
	i, ok := firstAt(j, a.node, near, v)
	if !ok {
		return best
	}
	c := p.candidate(j, est, i, near)
	best = better(&best, &c, a.avail, by)
	if est.uniform || by.final(&c, est, p.smallest(j, est, v), a.avail) {
		return best
	}
	return p.look(best, j, a, near, v, by)
}

// look is the part of scan that few jobs need. It is apart because what a walk refers to escapes to the heap.
func (p *Policy) look(best candidate, j *job, a *ask, near scheduler.Locality, v *view, by rule) candidate {
	est := p.est.of(j)
	small, left := p.smallest(j, est, v), p.cfg.Look
	at := v.PendingMapsOn(j, a.node)
	if near == scheduler.RackLocal {
		at = v.PendingMapsIn(j, a.rack)
	}
	for i := range at {
		c := p.candidate(j, est, i, near)
		best = better(&best, &c, a.avail, by)
		if left--; left == 0 || by.final(&c, est, small, a.avail) {
			break
		}
	}
	return best
}

func firstAt(j *job, n topology.NodeID, near scheduler.Locality, v *view) (int32, bool) {
	if near == scheduler.RackLocal {
		return v.PendingMapIn(j, v.RackOf(n))
	}
	return v.PendingMapOn(j, n)
}

// A rule compares candidates.
type rule uint8

// The rules of MTS.
const (
	betterLocal    rule = iota // line 8
	betterAnywhere             // line 10
	betterLeast                // line 11
)

// final reports whether no map of the same job and place that comes later can be better
// than c: it is as large as a split of the job can be, or no pending one is smaller.
func (by rule) final(c *candidate, est *estimate, small, avail float64) bool {
	switch {
	case by == betterLeast:
		return c.out <= est.ratio*small || est.flat()
	case c.out > avail:
		return false
	case by == betterAnywhere && c.near == scheduler.RackLocal:
		return c.cost <= small
	}
	return c.out >= est.ratio*est.largest || est.flat()
}

// better returns the better of best and c; best may be empty.
func better(best, c *candidate, avail float64, by rule) candidate {
	if by != betterLeast && c.out > avail {
		return *best // not shuffle-qualified
	}
	if best.job != nil && by.compare(c, best) >= 0 {
		return *best
	}
	return *c
}

// compare is negative if a is the better one.
func (by rule) compare(a, b *candidate) int {
	switch by {
	case betterLocal: // unpredicted jobs first, then the output closest to what is available
		return cmp.Or(first(!a.predicted, !b.predicted), cmp.Compare(b.out, a.out), fifo(a, b))
	case betterAnywhere: // four categories, then the least transfer, then as above
		return cmp.Or(first(a.small, b.small), first(!a.predicted, !b.predicted), cmp.Compare(a.cost, b.cost), cmp.Compare(b.out, a.out), fifo(a, b))
	}
	return cmp.Or(cmp.Compare(a.out, b.out), fifo(a, b)) // the least output
}

// fifo breaks ties: earlier jobs, then lower indices.
func fifo(a, b *candidate) int {
	return cmp.Or(cmp.Compare(a.job.Seq(), b.job.Seq()), cmp.Compare(a.index, b.index))
}

// first orders those for which it is true before the others.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
