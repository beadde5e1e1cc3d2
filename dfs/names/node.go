package names

import (
	"slices"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// A node is a block service. It is never forgotten, so that no other gets its id.
type node struct {
	id                  topology.NodeID
	name                wire.NodeName
	rack, addr, machine string
	session             uint64
	volumes             []wire.Volume
	last                time.Duration // its last sign of life
	dead                bool
	draining            bool
	left                int64 // while draining: blocks that still need a copy elsewhere

	blocks   map[*block]struct{}
	reported bool       // its full report of this session is complete
	report   *reporting // a report that is coming in

	deletes map[wire.BlockID]*deletion
	order   []wire.BlockID // of deletes, oldest first; some may be gone
	copies  []*copying     // to be sent with the next answer
	recover []wire.RecoverWork

	sending, receiving int
	budget             float64 // bytes it may be asked to send now
	budgetAt           time.Duration
}

// reporting is a full report, page by page.
type reporting struct {
	next int
	at   time.Duration
	seen map[*block]struct{}
}

func (n *node) place() wire.Place { return wire.Place{Node: n.name, Rack: n.rack, Addr: n.addr} }

// room returns the free bytes of the volume that has most.
func (n *node) room() (free int64) {
	for _, v := range n.volumes {
		if v.Failed == "" {
			free = max(free, v.Free)
		}
	}
	return free
}

// space returns the total and the used bytes of the node's volumes.
func (n *node) space() (total, used int64) {
	for _, v := range n.volumes {
		if v.Failed == "" {
			total, used = total+v.Total, used+v.Total-v.Free
		}
	}
	return total, used
}

// fuller reports whether n is fuller than other: by tenths of the disks, then by blocks.
func (n *node) fuller(other *node) bool {
	if a, b := n.tenths(), other.tenths(); a != b {
		return a > b
	}
	return len(n.blocks) > len(other.blocks)
}

func (n *node) tenths() int64 {
	total, used := n.space()
	return used / max(1, total/10)
}

func (n *node) failedVolumes() (count int) {
	for _, v := range n.volumes {
		if v.Failed != "" {
			count++
		}
	}
	return count
}

// silent reports whether a node missed so many beats that it is passed over.
func (s *Service) silent(n *node, now time.Duration) bool { return now-n.last > s.cfg.DeadAfter/2 }

// usable reports whether a node can be given a block of that size.
func (s *Service) usable(n *node, size int64, now time.Duration) bool {
	return !n.dead && !n.draining && !s.silent(n, now) && n.room() >= size
}

// rebuild remakes the topology and the policy. Nodes keep their ids.
func (s *Service) rebuild() {
	b := topology.NewBuilder()
	for _, n := range s.nodes {
		rack, ok := b.Topology().RackByName(n.rack)
		if !ok {
			rack, _ = b.AddRack(topology.Rack{Name: n.rack}) // the name is new, so it cannot fail
		}
		if _, err := b.AddNode(topology.Node{Name: string(n.name), Rack: rack, Class: n.machine}); err != nil {
			s.broken = wire.Errorf(wire.Internal, "node %s: %w", n.name, err)
			return
		}
	}
	s.topo = b.Topology()
	policy, err := s.cfg.Placement(s.topo)
	if err != nil { // for example, it needs a machine type that no node has yet
		policy = placement.NewRackAware(s.topo)
	}
	s.policy = policy
}

// liveRacks counts the racks with a node that can take replicas.
func (f *fleet) liveRacks() int {
	var racks []string
	for _, n := range f.nodes {
		if !n.dead && !n.draining && !slices.Contains(racks, n.rack) {
			racks = append(racks, n.rack)
		}
	}
	return len(racks)
}

// choose asks the policy for the nodes of a file's next block, beside those in have. It accepts fewer than
// wanted, but not none.
func (s *Service) choose(i *inode, have []*node, writer wire.NodeName, exclude []wire.NodeName, hints []string) ([]*node, error) {
	now := s.cfg.Now()
	r := placement.Request{
		Writer: topology.NoNode, Replicas: int(i.file.replicas), First: len(i.file.blocks),
		Usable: func(id topology.NodeID) bool { return s.usable(s.nodes[id], i.file.blockSize, now) },
		Used:   func(id topology.NodeID) int64 { _, used := s.nodes[id].space(); return used },
		Fuller: func(a, b topology.NodeID) bool { return s.nodes[a].fuller(s.nodes[b]) },
	}
	if n := s.byName[writer]; n != nil {
		r.Writer = n.id
	}
	for _, n := range have {
		r.Have = append(r.Have, n.id)
	}
	for _, name := range exclude {
		if n := s.byName[name]; n != nil {
			r.Excluded = append(r.Excluded, n.id)
		}
	}
	for _, name := range hints {
		if rack, ok := s.topo.RackByName(name); ok {
			r.Racks = append(r.Racks, rack)
		}
	}
	policy := s.policy
	if len(r.Racks) > 0 { // somebody knows who will read the block, and where
		policy = placement.NewPlanned(s.topo)
	}
	placed, _ := policy.Place(s.cfg.Rand, r) // too few is no error here
	if len(placed.Nodes) == 0 && len(have) < int(i.file.replicas) {
		return nil, s.noNode(i, len(exclude), now)
	}
	return s.nodesOf(placed.Nodes), nil
}

func (f *fleet) nodesOf(ids []topology.NodeID) []*node {
	list := make([]*node, len(ids))
	for k, id := range ids {
		list[k] = f.nodes[id]
	}
	return list
}

// returning is how long a full cluster tells its writers to try again because a node is away.
const returning = 2 * time.Minute

// noNode explains why no node can take a block: NoSpace if all live nodes are full and no other is expected, else
// Unavailable.
func (s *Service) noNode(i *inode, excluded int, now time.Duration) error {
	live, roomy, away := 0, 0, 0
	for _, n := range s.nodes {
		switch {
		case n.draining:
		case n.dead || s.silent(n, now):
			if now-n.last < returning {
				away++
			}
		default:
			live++
			if n.room() >= i.file.blockSize {
				roomy++
			}
		}
	}
	switch {
	case live == 0 || roomy > 0:
		return wire.Errorf(wire.Unavailable, "%s: no node can take a block: %d of %d are live, %d with room, %d excluded by the writer",
			i.path(), live, len(s.nodes), roomy, excluded)
	case away > 0:
		return wire.Errorf(wire.Unavailable, "%s: none of %d live nodes has %d bytes free; %d that are away may come back", i.path(), live, i.file.blockSize, away)
	case now-s.began < s.cfg.SafeExtension: // an empty store does not wait in safe mode for nodes
		return wire.Errorf(wire.Unavailable, "%s: none of the %d nodes that have reported since the restart has %d bytes free; others may follow", i.path(), live, i.file.blockSize)
	}
	return wire.Errorf(wire.NoSpace, "%s: none of %d live nodes has %d bytes free", i.path(), live, i.file.blockSize)
}

func nodeNames(list []*node) []wire.NodeName {
	out := make([]wire.NodeName, len(list))
	for k, n := range list {
		out[k] = n.name
	}
	return out
}

func nodePlaces(list []*node) []wire.Place {
	out := make([]wire.Place, len(list))
	for k, n := range list {
		out[k] = n.place()
	}
	return out
}

// Nodes lists all nodes that have registered since the service was opened.
func (s *Service) Nodes() []wire.StoreNode {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]wire.StoreNode, 0, len(s.nodes))
	for _, n := range s.nodes {
		list = append(list, n.describe())
	}
	slices.SortFunc(list, func(a, b wire.StoreNode) int {
		if a.Node < b.Node {
			return -1
		}
		return 1
	})
	return list
}

func (n *node) describe() wire.StoreNode {
	sn := wire.StoreNode{
		Place: n.place(), Machine: n.machine, State: "live", Left: n.left,
		Blocks: int64(len(n.blocks)), Volumes: slices.Clone(n.volumes),
	}
	switch {
	case n.dead:
		sn.State = "dead"
	case n.draining && n.left == 0:
		sn.State = "drained"
	case n.draining:
		sn.State = "draining"
	}
	return sn
}
