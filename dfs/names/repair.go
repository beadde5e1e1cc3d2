package names

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// spreadPriority is the queue of blocks that have enough replicas, but all in one rack.
const spreadPriority = 3

// lacks returns how many copies a block needs beside those under way.
func (s *Service) lacks(b *block, c count) int {
	if c.live+c.leaving == 0 {
		return 0 // no node has it: only a report can help
	}
	under := len(s.copies[b.ID])
	if n := c.wanted - c.live - under; n > 0 {
		return n
	}
	if under == 0 && c.wanted > 1 && c.live > 1 && c.racks == 1 && s.liveRacks() > 1 {
		return 1
	}
	return 0
}

// enqueue puts a block into the repair queue, fewest replicas first.
func (r *repairs) enqueue(b *block, c count) {
	p := min(c.live+c.leaving-1, 2)
	if c.live >= c.wanted {
		p = spreadPriority
	}
	if b.queued != 0 && int(b.queued-1) <= p {
		return
	}
	b.queued = int8(p + 1) // its place in a less urgent queue is skipped
	r.queue[p] = append(r.queue[p], b)
}

// repair starts the copies of queued blocks while streams and bytes last.
func (s *Service) repair(now time.Duration) {
	tries := s.cfg.RepairPerTick
	for p := range s.queue {
		work := s.queue[p]
		s.queue[p] = nil
		var wait []*block
		for k, b := range work {
			if tries == 0 {
				wait = append(slices.Clip(work[k:]), wait...)
				break
			}
			if b.owner == nil || int(b.queued) != p+1 {
				continue
			}
			tries--
			b.queued = 0
			if !s.repairBlock(b, now) {
				b.queued = int8(p + 1)
				wait = append(wait, b)
			}
		}
		s.queue[p] = append(wait, s.queue[p]...)
	}
}

// repairBlock starts the copies that a block lacks. It is false if some must be tried again.
func (s *Service) repairBlock(b *block, now time.Duration) bool {
	c := b.count()
	n := s.lacks(b, c)
	if n == 0 {
		return true
	}
	spread := c.live >= c.wanted
	targets := s.targets(b, c.racks, n, spread, now)
	if len(targets) == 0 && !spread && c.corrupt > 0 && c.live > 0 {
		s.dropCorrupt(b) // no other node is left: one of its own must take the good copy
	}
	for _, to := range targets {
		from := s.source(b, now)
		if from == nil {
			return false
		}
		s.startCopy(b, from, to, now, false)
	}
	return len(targets) == n
}

// source returns the node with a good replica that sends least, or nil if none may send more. It prefers a node
// that is being emptied, which serves nobody else.
func (s *Service) source(b *block, now time.Duration) (best *node) {
	load := func(n *node) int {
		if n.draining {
			return 2*n.sending - 1
		}
		return 2 * n.sending
	}
	for _, r := range b.replicas {
		n := r.node
		if r.corrupt || s.silent(n, now) || !s.maySend(n, now) {
			continue
		}
		if best == nil || load(n) < load(best) {
			best = n
		}
	}
	return best
}

// maySend reports whether a node has a stream and bytes left to send.
func (s *Service) maySend(n *node, now time.Duration) bool {
	if rate := float64(s.cfg.CopyBytesPerSecond); rate > 0 {
		n.budget = min(rate, n.budget+rate*(now-n.budgetAt).Seconds())
		n.budgetAt = now
		if n.budget <= 0 {
			return false
		}
	}
	return n.sending < s.cfg.CopyStreams
}

// targets asks the policy where n more replicas go. With spread, only another rack helps.
func (s *Service) targets(b *block, racks, n int, spread bool, now time.Duration) []*node {
	r := placement.Request{Writer: topology.NoNode}
	for _, rep := range b.replicas {
		if rep.corrupt || rep.node.draining {
			r.Excluded = append(r.Excluded, rep.node.id)
		} else {
			r.Have = append(r.Have, rep.node.id)
		}
	}
	for _, c := range s.copies[b.ID] {
		r.Have = append(r.Have, c.to.id)
	}
	for _, st := range s.stale[b.ID] {
		r.Excluded = append(r.Excluded, st.node.id)
	}
	r.Replicas = len(r.Have) + n
	r.Usable = func(id topology.NodeID) bool {
		to := s.nodes[id]
		return to.deletes[b.ID] == nil && to.receiving < s.cfg.CopyStreams && s.usable(to, b.Len, now)
	}
	placed, _ := s.policy.Place(s.cfg.Rand, r) // too few is no error here
	list := s.nodesOf(placed.Nodes)
	if spread {
		list = slices.DeleteFunc(list, func(to *node) bool { return racks == 1 && b.inRack(to.rack) })
	}
	return list
}

func (b *block) inRack(rack string) bool {
	return slices.ContainsFunc(b.replicas, func(r replica) bool { return !r.corrupt && r.node.rack == rack })
}

// A copying is a copy under way.
type copying struct {
	block    *block
	from, to *node
	deadline time.Duration
	move     bool // made by the balancer
}

func (s *Service) startCopy(b *block, from, to *node, now time.Duration, move bool) {
	c := &copying{block: b, from: from, to: to, deadline: now + s.cfg.CopyTimeout, move: move}
	s.copies[b.ID] = append(s.copies[b.ID], c)
	from.copies = append(from.copies, c)
	from.sending++
	to.receiving++
	from.budget -= float64(b.Len)
}

// endCopy forgets a copy that is done or has failed.
func (r *repairs) endCopy(c *copying) {
	id := c.block.ID
	list := slices.DeleteFunc(r.copies[id], func(o *copying) bool { return o == c })
	if r.copies[id] = list; len(list) == 0 {
		delete(r.copies, id)
	}
	c.from.copies = slices.DeleteFunc(c.from.copies, func(o *copying) bool { return o == c })
	c.from.sending--
	c.to.receiving--
}

// arrived ends the copy that brought a replica to a node.
func (r *repairs) arrived(b *block, n *node) {
	for _, c := range r.copies[b.ID] {
		if c.to == n {
			if r.endCopy(c); c.move {
				r.balance.done(b, c.from)
			}
			return
		}
	}
}

// failed handles a command that a node could not carry out.
func (s *Service) failed(n *node, w wire.DoneWork, now time.Duration) {
	b := s.blocks[w.Block.ID]
	if b == nil {
		return
	}
	if u := b.building; u != nil {
		if u.started != 0 {
			u.failures++
			u.deadline = min(u.deadline, now+s.cfg.RecoverTimeout/10)
		}
		return
	}
	for _, c := range slices.Clone(s.copies[b.ID]) {
		if c.from == n && c.to.name == w.Target {
			s.endCopy(c)
		}
	}
	s.settle(b)
}

// takeCopies takes the copies that a node must make now.
func (n *node) takeCopies(now, timeout time.Duration) (list []wire.CopyWork) {
	for _, c := range n.copies {
		c.deadline = now + timeout
		list = append(list, wire.CopyWork{Block: c.block.Block, Targets: []wire.Place{c.to.place()}})
	}
	n.copies = nil
	return list
}

// expireCopies gives up copies that took too long or whose nodes died.
func (s *Service) expireCopies(now time.Duration) {
	var late []*copying
	for _, list := range s.copies {
		for _, c := range list {
			if now > c.deadline || c.from.dead || c.to.dead {
				late = append(late, c)
			}
		}
	}
	slices.SortFunc(late, func(a, b *copying) int {
		return cmp.Or(cmp.Compare(a.block.ID, b.block.ID), cmp.Compare(a.to.id, b.to.id))
	})
	for _, c := range late {
		s.endCopy(c)
		s.settle(c.block)
	}
}
