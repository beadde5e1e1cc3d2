package placement

import (
	"math/rand/v2"

	"github.com/millrace/millrace/topology"
)

// RackAware is the default: the first replica on the writer (else in its rack, else anywhere), the second in
// another rack, the third beside the second, further ones anywhere with few per rack. One copy is written
// locally, one rack may burn, and the block crosses the core once (spec/nas 2.2, item 7).
type RackAware struct{ topo *topology.Topology }

var _ Policy = RackAware{}

// NewRackAware returns the default policy.
func NewRackAware(topo *topology.Topology) RackAware { return RackAware{topo} }

// Place implements Policy.
func (a RackAware) Place(rng *rand.Rand, r Request) (Placed, error) {
	if err := r.validate(); err != nil {
		return Placed{}, err
	}
	p := newPicker(a.topo, rng, &r)
	p.rackAware()
	return p.fill()
}

// rackAware takes replicas by the default rule until there are three.
func (p *picker) rackAware() {
	if p.missing() > 0 && len(p.have) == 0 && !p.take(p.req.Writer) && !p.inRack(p.topo.RackOf(p.req.Writer)) {
		p.anywhere(all)
	}
	if p.missing() > 0 && len(p.have) == 1 {
		p.offRacks()
	}
	if p.missing() > 0 && len(p.have) == 2 {
		p.third()
	}
}

// third puts the third beside the second, unless both are in one rack.
func (p *picker) third() {
	first, second := p.topo.RackOf(p.have[0]), p.topo.RackOf(p.have[1])
	if first == second {
		p.offRacks()
		return
	}
	if !p.inRack(second) {
		p.inRack(first)
	}
}
