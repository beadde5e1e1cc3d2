package flow

import "math"

// class is the flows of one path. They all have the same rate, so one clock counts the bytes that each of them has
// sent; a flow ends when the clock reaches its mark. Rates, clocks and first marks are in arrays of their own, by
// class, because every step walks them.
type class struct {
	path   [4]int32 // links; hops of them count
	frozen uint32   // round of the solver in which its rate was found
	hops   int8
}

// standing is the positions of a class in the lists that contain it.
type standing struct {
	active int32
	links  [4]int32 // by hop
}

// mark is the end of a flow. It is stale if the flow has ended, or was extended.
type mark struct {
	at   float64
	slot int32
	gen  uint32
}

func (a *mark) before(b *mark) bool { return a.at < b.at || a.at == b.at && a.slot < b.slot }

// marks is a heap by at.
type marks []mark

func (c *marks) push(m mark) {
	h := append(*c, m)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !h[i].before(&h[parent]) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
	*c = h
}

func (c *marks) pop() {
	h := *c
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	*c = h
	for i := 0; ; {
		least := 2*i + 1
		if least >= last {
			return
		}
		if r := least + 1; r < last && h[r].before(&h[least]) {
			least = r
		}
		if !h[least].before(&h[i]) {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// first returns the first mark that counts.
func (n *Network) first(c *marks) (mark, bool) {
	for len(*c) > 0 {
		m := (*c)[0]
		if f := &n.flows[m.slot]; f.gen == m.gen && f.live && f.mark == m.at {
			return m, true
		}
		c.pop()
	}
	return mark{}, false
}

// enter adds a flow to its class.
func (n *Network) enter(slot int32) {
	f := &n.flows[slot]
	id := f.class
	c := &n.classes[id]
	if n.counts[id] == 0 {
		n.open(id)
	}
	n.counts[id]++
	n.live++
	for _, l := range c.path[:c.hops] {
		n.links.add(l)
	}
	f.mark, f.begun = n.clocks[id]+f.bytes, true
	n.ends[id].push(mark{f.mark, slot, f.gen})
	n.dues[id] = min(n.dues[id], f.mark)
}

// refresh updates the first mark of a class. Invariant: between calls from outside, the first mark of a class with
// flows is not stale, and dues has it.
func (n *Network) refresh(id int32) {
	if m, ok := n.first(&n.ends[id]); ok {
		n.dues[id] = m.at
	}
}

// leave removes one flow from its class.
func (n *Network) leave(id int32) {
	c := &n.classes[id]
	n.counts[id]--
	n.live--
	for _, l := range c.path[:c.hops] {
		n.links.remove(l)
	}
	if n.counts[id] == 0 {
		n.shut(id)
		return
	}
	n.refresh(id)
}

// open adds a class to the active ones and to the members of its links.
func (n *Network) open(id int32) {
	c, at := &n.classes[id], &n.stands[id]
	n.grid.note(id, true)
	at.active = int32(len(n.active))
	n.active = append(n.active, id)
	for h, l := range c.path[:c.hops] {
		at.links[h] = int32(len(n.links.members[l]))
		n.links.members[l] = append(n.links.members[l], member{id, int32(h)})
	}
}

// shut removes a class without flows from them. Its clock starts over.
func (n *Network) shut(id int32) {
	c, at := &n.classes[id], &n.stands[id]
	n.rates[id], n.clocks[id], n.dues[id], n.ends[id] = 0, 0, math.Inf(1), n.ends[id][:0]
	n.grid.note(id, false)
	last := n.active[len(n.active)-1]
	n.active[at.active] = last
	n.stands[last].active = at.active
	n.active = n.active[:len(n.active)-1]
	for h, l := range c.path[:c.hops] {
		members := n.links.members[l]
		moved := members[len(members)-1]
		members[at.links[h]] = moved
		n.stands[moved.class].links[moved.hop] = at.links[h]
		n.links.members[l] = members[:len(members)-1]
	}
}
