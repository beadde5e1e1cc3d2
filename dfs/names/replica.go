package names

import (
	"cmp"
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

func topologyID(n int) topology.NodeID { return topology.NodeID(n) }

// A staleReplica is out of date. It is deleted once the block has a good one.
type staleReplica struct {
	node  *node
	block wire.Block
}

// sorted returns blocks by id, so that what follows does not depend on map order.
func sorted(set map[*block]struct{}) []*block {
	return slices.SortedFunc(maps.Keys(set), func(a, b *block) int { return cmp.Compare(a.ID, b.ID) })
}

// found notes that a node has a replica.
func (s *Service) found(n *node, at wire.Block) {
	b := s.blocks[at.ID]
	if d := n.deletes[at.ID]; d != nil && d.Gen >= at.Gen {
		return // it is about to be deleted
	}
	switch {
	case b == nil:
		s.discard(n, at, false) // its file is gone
	case at.Gen > b.Gen: // of a recovery whose end has not been reported yet
	case at.Gen < b.Gen:
		s.addStale(n, at)
		s.settle(b)
	case b.building != nil:
		b.building.report(n, at.Len)
	case at.Len != b.Len:
		s.accuse(n, at)
	default:
		s.gain(b, n)
		s.settle(b)
	}
}

func (r *repairs) addStale(n *node, at wire.Block) {
	list := r.stale[at.ID]
	for _, st := range list {
		if st.node == n && st.block.Gen == at.Gen {
			return
		}
	}
	r.stale[at.ID] = append(list, staleReplica{n, at})
}

// gain notes a good replica. A corrupt one stays corrupt until it is deleted.
func (r *repairs) gain(b *block, n *node) {
	if n.report != nil {
		n.report.seen[b] = struct{}{}
	}
	r.arrived(b, n)
	if _, known := n.blocks[b]; known {
		return
	}
	n.blocks[b] = struct{}{}
	if b.replicas == nil {
		b.replicas = make([]replica, 0, b.owner.file.replicas)
	}
	b.replicas = append(b.replicas, replica{node: n})
}

// lose forgets a replica. The caller settles the block.
func (s *Service) lose(b *block, n *node) {
	delete(n.blocks, b)
	b.replicas = slices.DeleteFunc(b.replicas, func(r replica) bool { return r.node == n })
}

// accuse marks a replica as corrupt. It stays listed until enough good ones exist, so that its node is not
// chosen for another.
func (s *Service) accuse(n *node, at wire.Block) {
	b := s.blocks[at.ID]
	switch {
	case b == nil:
		s.discard(n, at, false)
		return
	case b.building != nil:
		delete(b.building.reported, n)
		return
	case at.Gen < b.Gen:
		s.addStale(n, at)
	case at.Gen == b.Gen:
		s.gain(b, n)
		for k := range b.replicas {
			if b.replicas[k].node == n {
				b.replicas[k].corrupt = true
			}
		}
	}
	s.settle(b)
}

// free forgets a block whose file is gone, and has its replicas deleted.
func (s *Service) free(b *block) {
	delete(s.blocks, b.ID)
	if b.building == nil {
		s.finished--
	} else {
		for _, n := range s.nodes {
			if length, ok := b.building.reported[n]; ok {
				s.discard(n, wire.Block{ID: b.ID, Gen: b.Gen, Len: length}, false)
			}
		}
	}
	if b.counted {
		s.counted--
	}
	for _, r := range b.replicas {
		delete(r.node.blocks, b)
		s.discard(r.node, b.Block, false)
	}
	for _, c := range slices.Clone(s.copies[b.ID]) {
		s.endCopy(c)
	}
	for _, st := range s.stale[b.ID] {
		s.discard(st.node, st.block, false)
	}
	delete(s.stale, b.ID)
	delete(s.balance.moved, b.ID)
	b.owner, b.replicas = nil, nil
}

// A count is the replicas that a block has and wants.
type count struct {
	live    int // good, on nodes that stay
	leaving int // good, on nodes that are being emptied
	corrupt int
	racks   int // of the live ones
	wanted  int // live ones that are wanted
}

func (b *block) count() (c count) {
	c.wanted = int(b.owner.file.replicas)
	for k, r := range b.replicas {
		switch {
		case r.corrupt:
			c.corrupt++
		case r.node.draining:
			c.leaving++
		default:
			c.live++
			if !liveIn(b.replicas[:k], r.node.rack) {
				c.racks++
			}
		}
	}
	return c
}

// liveIn reports whether a rack has a good replica of the list on a node that stays.
func liveIn(list []replica, rack string) bool {
	for _, r := range list {
		if !r.corrupt && !r.node.draining && r.node.rack == rack {
			return true
		}
	}
	return false
}

// settle decides what a block needs after its replicas, or its replication, have changed.
func (s *Service) settle(b *block) {
	if b.owner == nil || b.building != nil {
		return
	}
	c := b.count()
	if has := c.live+c.leaving > 0; has != b.counted {
		b.counted = has
		if has {
			s.counted++
		} else {
			s.counted--
		}
	}
	if s.safe.on {
		return
	}
	if c.live < c.wanted && b.dying > 0 && s.callBack(b) {
		c = b.count()
	}
	if s.lacks(b, c) > 0 {
		s.enqueue(b, c)
	}
	s.trim(b, c)
	if c.live >= c.wanted {
		s.dropCorrupt(b)
	}
	if c.live > 0 {
		s.dropStale(b)
	}
}

// dropCorrupt deletes the corrupt replicas of a block.
func (s *Service) dropCorrupt(b *block) {
	for _, r := range slices.Clone(b.replicas) {
		if r.corrupt {
			s.lose(b, r.node)
			s.discard(r.node, b.Block, false)
		}
	}
}

func (s *Service) dropStale(b *block) {
	for _, st := range s.stale[b.ID] {
		if _, has := st.node.blocks[b]; !has { // st.node has a newer replica, which replaced it
			s.discard(st.node, st.block, false)
		}
	}
	delete(s.stale, b.ID)
}

// trim deletes surplus replicas while the racks stay spread.
func (s *Service) trim(b *block, c count) {
	for ; c.live > c.wanted; c = b.count() {
		n := s.surplus(b, c)
		if n == nil {
			return
		}
		s.lose(b, n)
		s.discard(n, b.Block, true)
	}
}

// surplus chooses the replica to delete: the one that a move copied away, else one on the node with the least room
// in the rack with the most replicas. It never leaves fewer than two racks if two are there and wanted.
func (rp *repairs) surplus(b *block, c count) *node {
	inRack := map[string]int{}
	for _, r := range b.replicas {
		if !r.corrupt && !r.node.draining {
			inRack[r.node.rack]++
		}
	}
	moved := rp.balance.moved[b.ID]
	delete(rp.balance.moved, b.ID)
	var best *node
	for _, r := range b.replicas {
		n := r.node
		if r.corrupt || n.draining || inRack[n.rack] == 1 && c.racks <= min(2, c.wanted) {
			continue
		}
		if n == moved {
			return n
		}
		if best == nil || cmp.Or(cmp.Compare(inRack[n.rack], inRack[best.rack]), cmp.Compare(best.room(), n.room()), cmp.Compare(n.id, best.id)) > 0 {
			best = n
		}
	}
	return best
}
