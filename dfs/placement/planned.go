package placement

import (
	"math/rand/v2"
	"slices"

	"github.com/millrace/millrace/topology"
)

// Planned puts the first replica of each block of a planned job in the racks where its maps will run, taking
// turns so that each rack gets its share, and the second and third together in one other rack
// (spec/jobpacker 3.9, 6.13). The default rule places blocks without a plan.
type Planned struct{ topo *topology.Topology }

var _ Policy = Planned{}

// NewPlanned returns the policy for planned racks.
func NewPlanned(topo *topology.Topology) Planned { return Planned{topo} }

// Place implements Policy.
func (a Planned) Place(rng *rand.Rand, r Request) (Placed, error) {
	if err := r.validate(); err != nil {
		return Placed{}, err
	}
	p := newPicker(a.topo, rng, &r)
	if len(r.Racks) > 0 && p.missing() > 0 && !p.hasIn(r.Racks) && !p.goRound(r.Racks, r.First) {
		p.bent |= OffPlan
	}
	if len(r.Others) > 0 && p.missing() > 0 && len(p.have) == 1 {
		p.goRound(p.without(r.Others), r.First)
	}
	p.rackAware()
	return p.fill()
}

// hasIn reports whether a replica is in one of the racks.
func (p *picker) hasIn(racks []topology.RackID) bool {
	return slices.ContainsFunc(p.have, func(n topology.NodeID) bool { return slices.Contains(racks, p.topo.RackOf(n)) })
}

// goRound takes a node of the i-th rack, or of the next one with a usable node.
func (p *picker) goRound(racks []topology.RackID, i int) bool {
	for step := range racks {
		if p.inRack(racks[(max(i, 0)+step)%len(racks)]) {
			return true
		}
	}
	return false
}

// without returns the racks that have no replica yet.
func (p *picker) without(racks []topology.RackID) []topology.RackID {
	return slices.DeleteFunc(slices.Clone(racks), func(r topology.RackID) bool { return p.held(r) > 0 })
}
