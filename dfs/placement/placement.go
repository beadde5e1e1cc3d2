package placement

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/topology"
)

// ErrTooFew marks a request for more replicas than there are usable nodes. The
// caller may go on with fewer and repair later.
var ErrTooFew = errors.New("too few nodes")

// A Policy chooses nodes for the replicas of one block. It keeps no state between calls. Only one goroutine at
// a time may use an rng.
type Policy interface {
	// Place chooses nodes for the replicas that r lacks. The nodes are distinct,
	// usable, and none of r.Have; their order is that of the write pipeline. If
	// fewer than wanted exist, those are returned with an error that wraps
	// ErrTooFew.
	Place(rng *rand.Rand, r Request) (Placed, error)
}

// A Request describes one block.
type Request struct {
	// Writer is the node that writes the block, or NoNode for a client outside.
	Writer topology.NodeID
	// Replicas is how many there shall be in the end, including Have.
	Replicas int
	// Have are the nodes with a replica already, when a lost one is replaced.
	Have []topology.NodeID
	// Excluded nodes are not chosen even if usable. A writer that could not reach a node asks again without it.
	Excluded []topology.NodeID
	// Usable reports whether a node is up and has room for the block. Nil: all. It is called more than once for a
	// node.
	Usable func(topology.NodeID) bool
	// Used returns how full a node is, for policies that balance. Nil means unknown.
	Used func(topology.NodeID) int64
	// Fuller reports whether node a has more already than node b. Nil means unknown. Of two nodes drawn at random,
	// the other one is taken. That keeps counts nearly even; a single draw gives some nodes many times as much.
	Fuller func(a, b topology.NodeID) bool

	// Racks are where a planned job will read the block. First is the block's index in its file, by which
	// blocks take turns. Only planned-racks uses them.
	Racks []topology.RackID
	First int
	// Others, if not empty, are where further replicas go instead of any other
	// rack (spec/jobpacker 3.12).
	Others []topology.RackID
}

// Placed is the result of Place.
type Placed struct {
	Nodes []topology.NodeID
	Bent  Bent
}

// Bent is the set of rules that could not be kept.
type Bent uint8

// The rules that give way when nodes are few, full or dead.
const (
	OneRack  Bent = 1 << iota // all replicas are in one rack
	Overflow                  // no scale-up node could take its replica, or no scale-out node
	OffPlan                   // no planned rack could take the first replica
)

// String lists the rules, or returns "none".
func (b Bent) String() string {
	var names []string
	for i, name := range []string{"one-rack", "overflow", "off-plan"} {
		if b&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

// A Factory makes a policy for a cluster. Any other parameters are bound to it.
type Factory func(*topology.Topology) (Policy, error)

var byName = map[string]Factory{
	"rack-aware":    func(t *topology.Topology) (Policy, error) { return RackAware{t}, nil },
	"two-plus-one":  func(t *topology.Topology) (Policy, error) { return NewHybrid(t, DefaultHybridConfig()) },
	"planned-racks": func(t *topology.Topology) (Policy, error) { return Planned{t}, nil },
}

// Names returns the names of the policies, sorted.
func Names() []string { return slices.Sorted(maps.Keys(byName)) }

// New makes the policy called name with its defaults. The error for an unknown name lists the known ones.
func New(name string, topo *topology.Topology) (Policy, error) {
	make, ok := byName[name]
	if !ok {
		return nil, suggest.Unknown("placement policy", name, Names())
	}
	return make(topo)
}
