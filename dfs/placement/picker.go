package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/millrace/millrace/topology"
)

// probes is how many random nodes are tried before all are examined. If most are usable, the choice costs almost
// nothing. Either way it is uniform, unless there is a Fuller.
const probes = 16

// A picker collects the replicas of one block.
type picker struct {
	topo *topology.Topology
	rng  *rand.Rand
	req  *Request
	have []topology.NodeID // Have, then what was chosen
	from int               // the length of Have
	bent Bent
}

func newPicker(topo *topology.Topology, rng *rand.Rand, r *Request) *picker {
	have := slices.Clone(r.Have)
	return &picker{topo: topo, rng: rng, req: r, have: have, from: len(have)}
}

func (p *picker) missing() int { return p.req.Replicas - len(p.have) }

func (p *picker) usable(n topology.NodeID) bool {
	return p.topo.Has(n) && !slices.Contains(p.have, n) && !slices.Contains(p.req.Excluded, n) &&
		(p.req.Usable == nil || p.req.Usable(n))
}

// take chooses n if it is usable.
func (p *picker) take(n topology.NodeID) bool {
	if !p.usable(n) {
		return false
	}
	p.have = append(p.have, n)
	return true
}

// pick takes a random usable node among the count that at returns, if ok allows it.
func (p *picker) pick(count int, at func(int) topology.NodeID, ok func(topology.NodeID) bool) bool {
	if count == 0 {
		return false
	}
	for range probes {
		if n := at(p.rng.IntN(count)); ok(n) && p.usable(n) {
			if p.req.Fuller != nil {
				n = p.emptier(n, at(p.rng.IntN(count)), ok)
			}
			return p.take(n)
		}
	}
	best, seen := topology.NoNode, 0
	for i := range count {
		if n := at(i); ok(n) && p.usable(n) {
			if seen++; p.rng.IntN(seen) == 0 {
				best = n
			}
		}
	}
	return p.take(best)
}

// emptier returns the emptier of n and other, if other can be taken, else n.
func (p *picker) emptier(n, other topology.NodeID, ok func(topology.NodeID) bool) topology.NodeID {
	if p.req.Fuller(n, other) && ok(other) && p.usable(other) {
		return other
	}
	return n
}

// anywhere takes a random node that ok allows.
func (p *picker) anywhere(ok func(topology.NodeID) bool) bool {
	return p.pick(p.topo.NumNodes(), func(i int) topology.NodeID { return topology.NodeID(i) }, ok)
}

// inRack takes a random node of rack r.
func (p *picker) inRack(r topology.RackID) bool {
	return p.pick(p.topo.RackSize(r), func(i int) topology.NodeID { return p.topo.NodeAt(r, i) }, all)
}

// offRacks takes a random node in a rack that has no replica yet.
func (p *picker) offRacks() bool {
	return p.anywhere(func(n topology.NodeID) bool { return p.held(p.topo.RackOf(n)) == 0 })
}

// held counts the replicas in rack r.
func (p *picker) held(r topology.RackID) (count int) {
	for _, n := range p.have {
		if p.topo.RackOf(n) == r {
			count++
		}
	}
	return count
}

// spread takes any node. It prefers another rack if one rack holds all replicas so far, and racks below their
// limit: no rack should hold more than (replicas-1)/racks + 2.
func (p *picker) spread() bool {
	if p.inOneRack() && p.offRacks() {
		return true
	}
	limit := (p.req.Replicas-1)/max(p.topo.NumRacks(), 1) + 2
	return p.anywhere(func(n topology.NodeID) bool { return p.held(p.topo.RackOf(n)) < limit }) || p.anywhere(all)
}

// inOneRack reports whether there are several replicas and all are in one rack.
func (p *picker) inOneRack() bool {
	return len(p.have) > 1 && p.held(p.topo.RackOf(p.have[0])) == len(p.have)
}

func all(topology.NodeID) bool { return true }

// fill takes any nodes for the missing replicas and returns the result.
func (p *picker) fill() (Placed, error) {
	for p.missing() > 0 && p.spread() {
	}
	if p.inOneRack() {
		p.bent |= OneRack
	}
	got := Placed{Nodes: p.have[p.from:], Bent: p.bent}
	if p.missing() > 0 {
		return got, fmt.Errorf("%d replicas wanted, but only %d nodes can hold one: %w", p.req.Replicas, len(p.have), ErrTooFew)
	}
	return got, nil
}

func (r *Request) validate() error {
	if r.Replicas < 1 {
		return fmt.Errorf("%d replicas: there must be at least 1", r.Replicas)
	}
	return nil
}
