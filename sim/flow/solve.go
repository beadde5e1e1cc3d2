package flow

// solver computes max-min fair rates by progressive filling: the link that gives the least to each of its flows settles
// them, and what they leave of their other links is shared by the rest. A link's offer only grows while others settle.
// So a heap of links by an old offer, corrected when a link comes to its top, finds the least.
type solver struct {
	round   uint32
	settled int    // flows that have a rate
	rest    []rest // by link
	heap    []offer
}

// rest is what a link has not given away, and to how many flows. open is a float because every walk divides by it.
type rest struct {
	left float64 // bytes a second
	open float64
}

// offer is what a link could give each of its flows when it was last examined.
type offer struct {
	rate float64
	link int32
}

func (a offer) before(b offer) bool { return a.rate < b.rate || a.rate == b.rate && a.link < b.link }

// solve gives every active class its rate and every link its load.
func (n *Network) solve() {
	s := &n.solver
	if s.rest == nil {
		s.rest = make([]rest, len(n.links.capacity))
	}
	s.round++
	s.settled = 0
	for _, l := range n.links.used {
		s.rest[l] = rest{n.links.capacity[l], float64(n.links.weight[l])}
	}
	if n.grid.pays(len(n.active)) {
		n.solveGrid()
	} else {
		n.solveLists()
	}
	for _, l := range n.links.used {
		n.links.load[l] = n.links.capacity[l] - max(0, s.rest[l].left)
	}
}

// solveLists uses the lists of classes that cross each link.
func (n *Network) solveLists() {
	s := &n.solver
	s.heap = s.heap[:0]
	for _, l := range n.links.used {
		s.heap = append(s.heap, offer{s.rest[l].left / s.rest[l].open, l})
	}
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
	for s.settled < n.live {
		top := s.heap[0]
		r := &s.rest[top.link]
		if r.open == 0 {
			s.drop()
			continue
		}
		if now := max(0, r.left) / r.open; now > top.rate {
			s.heap[0].rate = now
			s.sink(0)
			continue
		}
		s.drop()
		n.settle(top.link, top.rate)
	}
}

// settle gives the rate to every class on a link that has none yet.
func (n *Network) settle(link int32, rate float64) {
	s := &n.solver
	for _, m := range n.links.members[link] {
		c := &n.classes[m.class]
		if c.frozen == s.round {
			continue
		}
		c.frozen = s.round
		n.rates[m.class] = rate
		count := float64(n.counts[m.class])
		used := rate * count
		s.settled += int(n.counts[m.class])
		for _, l := range c.path[:c.hops] {
			s.rest[l].left -= used
			s.rest[l].open -= count
		}
	}
}

func (s *solver) drop() {
	last := len(s.heap) - 1
	s.heap[0] = s.heap[last]
	s.heap = s.heap[:last]
	s.sink(0)
}

func (s *solver) sink(i int) {
	h := s.heap
	for {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if r := least + 1; r < len(h) && h[r].before(h[least]) {
			least = r
		}
		if !h[least].before(h[i]) {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
