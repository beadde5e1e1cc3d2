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
	dt := n.moveLinks(now)
	if n.inRow() {
		clocks := n.clocks[:len(n.rates)]
		for i, rate := range n.rates {
			clocks[i] += rate * dt
		}
		return
	}
	for _, id := range n.active {
		n.clocks[id] += n.rates[id] * dt
	}
}

// moveLinks counts the bytes that cross links up to now, and returns the seconds.
func (n *Network) moveLinks(now time.Duration) float64 {
	dt := (now - n.now).Seconds()
	n.now = now
	for _, l := range n.links.used {
		n.links.moved[l] += n.links.load[l] * dt
	}
	return dt
}

// inRow reports whether so many classes are active that it is quicker to walk all of
// them in the order of memory.
func (n *Network) inRow() bool { return 3*len(n.active) > len(n.classes) }

// Next returns when Done has something to do: flows to end, or rates to compute.
func (n *Network) Next() time.Duration {
	if n.taken < len(n.over) {
		return max(n.now, n.atOnce)
	}
	at := min(n.solveAt, n.finish)
	if n.optics != nil {
		at = min(at, n.optics.next())
	}
	return at
}

// Done returns the tag of one flow that has ended by now. Call it until ok is false, and then again at the time of
// Next.
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

// slack is the time by which a flow may be short of its end, so that rounding makes no events of its own.
const slack = 2e-9

// step ends flows that are over; if there are none, it lets in waiting flows and computes rates. Flows that the caller
// starts because others have ended then take part in the same computation.
func (n *Network) step(now time.Duration) {
	if n.finish <= now {
		n.finish = Never
		if n.endFlows(now) {
			n.solveAt = now
			return
		}
	}
	n.advance(now)
	if n.solveAt <= now {
		n.solveAt = Never
		for _, slot := range n.waiting {
			if f := &n.flows[slot]; f.live && !f.begun && !f.optical {
				n.enter(slot)
			}
		}
		n.waiting = n.waiting[:0]
		n.solve()
	}
	n.plan()
}

// endFlows is advance, and also ends the flows that reach their marks, in one walk: rates and clocks are read from
// memory once. Ends in one class do not change another's clock.
func (n *Network) endFlows(now time.Duration) (some bool) {
	dt := 0.0
	if now > n.now {
		dt = n.moveLinks(now)
	}
	if n.inRow() {
		return n.endInRow(dt)
	}
	return n.endInList(dt)
}

func (n *Network) endInRow(dt float64) bool {
	n.ripe = n.ripe[:0]
	clocks, dues := n.clocks[:len(n.rates)], n.dues[:len(n.rates)]
	for id, rate := range n.rates {
		clock := clocks[id] + rate*dt
		clocks[id] = clock
		if dues[id] <= clock+slack*rate {
			n.ripe = append(n.ripe, int32(id))
		}
	}
	n.fetchEnds(n.ripe)
	for _, id := range n.ripe {
		n.endClass(id)
	}
	return len(n.ripe) > 0
}

func (n *Network) endInList(dt float64) bool {
	n.ripe, n.places = n.ripe[:0], n.places[:0]
	for i, id := range n.active {
		rate := n.rates[id]
		clock := n.clocks[id] + rate*dt
		n.clocks[id] = clock
		if n.dues[id] <= clock+slack*rate {
			n.ripe, n.places = append(n.ripe, id), append(n.places, int32(i))
		}
	}
	n.fetchEnds(n.ripe)
	for _, i := range n.places {
		// When a class is shut another takes its place, which may be ripe as well.
		for int(i) < len(n.active) && n.isRipe(n.active[i]) {
			n.endClass(n.active[i])
		}
	}
	return len(n.ripe) > 0
}

// isRipe reports whether a class has a flow that is over.
func (n *Network) isRipe(id int32) bool { return n.dues[id] <= n.clocks[id]+slack*n.rates[id] }

// fetchEnds reads the first ends of some classes and discards them. They are spread over memory: read one by one, each
// would wait for its own load; this way the loads overlap.
func (n *Network) fetchEnds(classes []int32) {
	n.slots = n.slots[:0]
	for _, id := range classes {
		n.slots = append(n.slots, n.ends[id][0].slot)
	}
	for i, slot := range n.slots {
		n.slots[i] = n.flows[slot].tag
	}
}

// endClass ends the flows of a class that have reached their marks. What the clock shows beyond a mark was not sent by
// that flow. On a grid the others of its class get it, as they would have if rates had been computed when it ended.
func (n *Network) endClass(id int32) {
	for n.counts[id] > 0 && n.isRipe(id) {
		m := n.ends[id][0]
		past := n.clocks[id] - m.at
		n.ends[id].pop()
		n.end(m.slot)
		if others := n.counts[id] - 1; others > 0 {
			n.clocks[id] += past / float64(others)
		} else {
			c := &n.classes[id]
			for _, l := range c.path[:c.hops] {
				n.links.moved[l] -= past
			}
		}
		n.leave(id)
	}
}

// plan finds when the first flow ends.
func (n *Network) plan() {
	n.finish = Never
	if len(n.active) == 0 {
		return
	}
	if n.cfg.Tick > 0 {
		n.finish = n.onGrid(n.now + 1)
		return
	}
	least := math.Inf(1)
	for _, id := range n.active {
		if rate := n.rates[id]; rate > 0 && n.dues[id]-n.clocks[id] < least*rate {
			least = (n.dues[id] - n.clocks[id]) / rate
		}
	}
	if !math.IsInf(least, 1) {
		n.finish = n.now + max(1, time.Duration(math.Ceil(least*float64(time.Second))))
	}
}
