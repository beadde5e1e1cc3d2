package placement

import (
	"math/rand/v2"
	"slices"

	"github.com/millrace/millrace/topology"
)

// Planned puts the first replica of each block of a planned job in the racks
// where its maps will run, going round so that each rack gets its share, and the
// second and third together in one other rack (spec/jobpacker 3.9, 6.13). A block
// without a plan is placed by the default rule.
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

// hasIn reports whether a replica is in one of racks.
func (p *picker) hasIn(racks []topology.RackID) bool {
	return slices.ContainsFunc(p.have, func(n topology.NodeID) bool { return slices.Contains(racks, p.topo.RackOf(n)) })
}

// goRound takes a node of the i-th of racks, or of the next that has one.
func (p *picker) goRound(racks []topology.RackID, i int) bool {
	for step := range racks {
		if p.inRack(racks[(max(i, 0)+step)%len(racks)]) {
			return true
		}
	}
	return false
}

// without leaves out the racks that have a replica.
func (p *picker) without(racks []topology.RackID) []topology.RackID {
	return slices.DeleteFunc(slices.Clone(racks), func(r topology.RackID) bool { return p.held(r) > 0 })
}
