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

// A Policy chooses nodes for the replicas of one block. It keeps no state
// between calls; one goroutine at a time uses its rng.
type Policy interface {
	// Place chooses nodes for the replicas that r lacks. The nodes are distinct,
	// usable, and none of r.Have; their order is that of the write pipeline. If
	// fewer than wanted exist, those are returned with an error that wraps
	// ErrTooFew.
	Place(rng *rand.Rand, r Request) (Placed, error)
}

// A Request is what is known about one block.
type Request struct {
	// Writer is the node that writes the block; NoNode: a client outside.
	Writer topology.NodeID
	// Replicas is how many there shall be in the end, Have included.
	Replicas int
	// Have are the nodes with a replica already, when a lost one is replaced.
	Have []topology.NodeID
	// Excluded nodes are not chosen, usable or not: a writer that failed to
	// reach one asks again without it.
	Excluded []topology.NodeID
	// Usable reports whether a node is up and has room for the block; nil: all.
	// It is called more than once for a node.
	Usable func(topology.NodeID) bool
	// Used is how full a node is, for the policies that balance; nil: unknown.
	Used func(topology.NodeID) int64
	// Fuller says which of two nodes has more already; nil: unknown. Of two nodes drawn at random the other one is
	// taken. That keeps counts nearly even, where one draw leaves some nodes with many times as much as others.
	Fuller func(a, b topology.NodeID) bool

	// Racks are where a planned job will read the block; First is the block's
	// number in its file, so that blocks go round. Only planned-racks reads them.
	Racks []topology.RackID
	First int
	// Others, if not empty, are where further replicas go instead of any other
	// rack (spec/jobpacker 3.12).
	Others []topology.RackID
}

// Placed is an answer.
type Placed struct {
	Nodes []topology.NodeID
	Bent  Bent
}

// Bent says which rules could not be kept; more than one may be set.
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

// A Factory makes a policy for a cluster; what it needs to know beside that is
// in it already.
type Factory func(*topology.Topology) (Policy, error)

var byName = map[string]Factory{
	"rack-aware":    func(t *topology.Topology) (Policy, error) { return RackAware{t}, nil },
	"two-plus-one":  func(t *topology.Topology) (Policy, error) { return NewHybrid(t, DefaultHybridConfig()) },
	"planned-racks": func(t *topology.Topology) (Policy, error) { return Planned{t}, nil },
}

// Names returns the names of the policies, sorted.
func Names() []string { return slices.Sorted(maps.Keys(byName)) }

// New makes the policy called name with its defaults. An unknown name is an
// error that lists the known ones.
func New(name string, topo *topology.Topology) (Policy, error) {
	make, ok := byName[name]
	if !ok {
		return nil, suggest.Unknown("placement policy", name, Names())
	}
	return make(topo)
}
