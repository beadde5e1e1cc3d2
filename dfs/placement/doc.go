// Package placement chooses the nodes for the replicas of a block. It is pure: it knows racks and machine
// classes from topology, and the caller tells it which nodes can take a block.
//
// The three policies are the rack-aware default (first replica on the writer,
// second off its rack, third beside the second), the two machine classes of the
// hybrid cluster (two replicas on scale-out, one on scale-up; spec/hybrid 3.5) and
// the planned racks of jobpacker (first replica where the maps will run;
// spec/jobpacker 3.9).
//
// The three calls that matter:
//
//	p, err := placement.New("rack-aware", topo)
//	got, err := p.Place(rng, placement.Request{Writer: n, Replicas: 3, Usable: alive})
//	got.Nodes, got.Bent                    where, and which rule could not be kept
//
// The caller owns rng, keeps Usable in step with the cluster, and decides what to do if Place finds too few
// nodes. Place then returns those it found, with an error that wraps ErrTooFew. The same rng state and request
// give the same nodes.
package placement
