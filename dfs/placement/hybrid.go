package placement

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/millrace/millrace/topology"
)

// HybridConfig says how replicas are divided between two classes of machine.
type HybridConfig struct {
	// Up is the machine class of the scale-up nodes. Every other node counts as
	// scale-out. Default "scale-up".
	Up string
	// OutShare and UpShare are how many replicas of three go to each class; other
	// replication factors are split in the same proportion, one of each at least
	// from two replicas on. Default 2 and 1 (spec/hybrid 3.5). More on scale-up:
	// more local reads there, and its few disks fill sooner.
	OutShare, UpShare int
	// LeastUsed puts the scale-up replica on the emptiest node, by Request.Used,
	// instead of a random one. Default false (spec/hybrid 3.5).
	LeastUsed bool
}

// DefaultHybridConfig returns the published split.
func DefaultHybridConfig() HybridConfig { return HybridConfig{Up: "scale-up", OutShare: 2, UpShare: 1} }

func (c *HybridConfig) validate() error {
	switch {
	case c.Up == "":
		return errors.New("the scale-up class needs a name")
	case c.OutShare < 1 || c.UpShare < 1:
		return fmt.Errorf("replica split %d+%d: both must be at least 1", c.OutShare, c.UpShare)
	}
	return nil
}

// Hybrid puts two replicas on nodes of one scale-out rack and one on a scale-up node, so that a job finds local
// data on either side, even after it was stolen (spec/hybrid 3.5, challenges D.1 and D.2). When one class is
// full the other takes its share, and Bent says Overflow.
type Hybrid struct {
	topo  *topology.Topology
	cfg   HybridConfig
	ups   []topology.NodeID // the scale-up nodes among the first known
	known topology.NodeID
}

var _ Policy = (*Hybrid)(nil)

// NewHybrid returns the 2+1 policy.
func NewHybrid(topo *topology.Topology, cfg HybridConfig) (*Hybrid, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Hybrid{topo: topo, cfg: cfg}, nil
}

// split returns how many of n replicas belong on scale-up.
func (c *HybridConfig) split(n int) (up int) {
	whole := c.OutShare + c.UpShare
	up = (n*c.UpShare + whole/2) / whole
	if n >= 2 {
		up = min(max(up, 1), n-1)
	}
	return up
}

// Place implements Policy.
func (h *Hybrid) Place(rng *rand.Rand, r Request) (Placed, error) {
	if err := r.validate(); err != nil {
		return Placed{}, err
	}
	for ; int(h.known) < h.topo.NumNodes(); h.known++ {
		if h.isUp(h.known) {
			h.ups = append(h.ups, h.known)
		}
	}
	p := newPicker(h.topo, rng, &r)
	up := h.cfg.split(r.Replicas)
	out := r.Replicas - up
	for _, n := range r.Have {
		if h.isUp(n) {
			up--
		} else {
			out--
		}
	}
	for range min(out, p.missing()) {
		if !h.takeOut(p) {
			p.bent |= Overflow
			break
		}
	}
	for range min(up, p.missing()) {
		if !h.takeUp(p) {
			p.bent |= Overflow
			break
		}
	}
	return p.fill()
}

func (h *Hybrid) isUp(n topology.NodeID) bool {
	class, ok := h.topo.Class(h.cfg.Up)
	return ok && h.topo.ClassOf(n) == class
}

func (h *Hybrid) isOut(n topology.NodeID) bool { return !h.isUp(n) }

// takeOut pairs scale-out replicas: every second one goes beside the one before it, the others go to a rack
// without a replica.
func (h *Hybrid) takeOut(p *picker) bool {
	last, outs := topology.NoNode, 0
	for _, n := range p.have {
		if h.isOut(n) {
			last, outs = n, outs+1
		}
	}
	rack := p.topo.RackOf(last)
	beside := func(n topology.NodeID) bool { return h.isOut(n) && p.topo.RackOf(n) == rack }
	fresh := func(n topology.NodeID) bool { return h.isOut(n) && p.held(p.topo.RackOf(n)) == 0 }
	if outs%2 == 1 && p.pick(p.topo.RackSize(rack), func(i int) topology.NodeID { return p.topo.NodeAt(rack, i) }, beside) {
		return true
	}
	return p.anywhere(fresh) || p.anywhere(h.isOut)
}

func (h *Hybrid) takeUp(p *picker) bool {
	if !h.cfg.LeastUsed || p.req.Used == nil {
		return p.pick(len(h.ups), func(i int) topology.NodeID { return h.ups[i] }, all)
	}
	best := topology.NoNode
	for _, n := range h.ups {
		if p.usable(n) && (best == topology.NoNode || p.req.Used(n) < p.req.Used(best)) {
			best = n
		}
	}
	return p.take(best)
}
