package flow

import (
	"math"
	"time"
)

// advance moves the bytes of the time up to now at the present rates.
func (n *Network) advance(now time.Duration) {
	if now <= n.now {
		return
	}
	dt := (now - n.now).Seconds()
	n.now = now
	if len(n.active) == 0 {
		return
	}
	for _, id := range n.active {
		n.clocks[id] += n.rates[id] * dt
	}
	for _, l := range n.links.used {
		n.links.moved[l] += n.links.load[l] * dt
	}
}

// Next returns when Done has something to do: flows to end, or rates to compute.
func (n *Network) Next() time.Duration {
	if n.taken < len(n.over) {
		return n.now
	}
	at := min(n.solveAt, n.finish)
	if n.optics != nil {
		at = min(at, n.optics.next())
	}
	return at
}

// Done returns the tag of a flow that has ended by now, one at a time. The caller calls
// it until ok is false, and then again when Next says.
func (n *Network) Done(now time.Duration) (tag int32, ok bool) {
	for n.taken == len(n.over) {
		n.over, n.taken = n.over[:0], 0
		if n.optics != nil && n.optics.next() <= now {
			n.optics.step(now, n)
			continue
		}
		if min(n.solveAt, n.finish) > now {
			return 0, false
		}
		n.step(now)
	}
	tag = n.over[n.taken]
	n.taken++
	return tag, true
}

// slack is the time by which a flow may be short of its end. It keeps rounding from
// making an event of its own.
const slack = 2e-9

// step ends what is over; when nothing is, it lets in what waits and computes rates.
// What the caller starts because flows have ended is then part of the same computation.
func (n *Network) step(now time.Duration) {
	n.advance(now)
	if n.finish <= now {
		n.finish = Never
		if n.endFlows() {
			n.solveAt = now
			return
		}
	}
	if n.solveAt > now {
		n.plan(now)
		return
	}
	for _, slot := range n.waiting {
		if f := &n.flows[slot]; f.live && f.mark == 0 && !f.optical {
			n.enter(slot)
		}
	}
	n.waiting = n.waiting[:0]
	n.solveAt = Never
	n.solve()
	n.plan(now)
}

// endFlows ends the flows that have come to their marks.
func (n *Network) endFlows() (some bool) {
	for i := 0; i < len(n.active); {
		id := n.active[i]
		for n.classes[id].flows > 0 && n.dues[id] <= n.clocks[id]+slack*n.rates[id] {
			n.finishFlow(id)
			some = true
		}
		if i < len(n.active) && n.active[i] == id {
			i++ // else the class was shut and another stands here
		}
	}
	return some
}

// finishFlow ends the first flow of a class. What the class's clock shows beyond its mark
// was not sent.
func (n *Network) finishFlow(id int32) {
	m, ok := n.first(&n.ends[id])
	if !ok {
		return
	}
	c := &n.classes[id]
	past := n.clocks[id] - m.at
	for _, l := range c.path[:c.hops] {
		n.links.moved[l] -= past
	}
	n.ends[id].pop()
	n.flows[m.slot].mark = 0
	n.end(m.slot)
	n.leave(id)
}

// plan finds when the first flow ends.
func (n *Network) plan(now time.Duration) {
	n.finish = Never
	if len(n.active) == 0 {
		return
	}
	if n.cfg.Tick > 0 {
		n.finish = n.grid(now + 1)
		return
	}
	least := math.Inf(1)
	for _, id := range n.active {
		if rate := n.rates[id]; rate > 0 && n.dues[id]-n.clocks[id] < least*rate {
			least = (n.dues[id] - n.clocks[id]) / rate
		}
	}
	if !math.IsInf(least, 1) {
		n.finish = now + max(1, time.Duration(math.Ceil(least*float64(time.Second))))
	}
}
