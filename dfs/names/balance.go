package names

import (
	"math"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// balancePatience is how long balancing goes on while nothing can be moved. Nodes report what they hold only
// with their beats.
const balancePatience = 10 * time.Second

// A balancer moves replicas from full nodes to empty ones: it copies each, then deletes the surplus.
type balancer struct {
	running   bool
	threshold float64
	count     int64
	bytes     int64
	why       string
	idle      time.Duration          // the last time anything could be moved
	moved     map[wire.BlockID]*node // copied away from this node; it is the surplus
}

// done counts a copy and remembers whose replica is now surplus.
func (m *balancer) done(b *block, from *node) {
	m.count++
	m.bytes += b.Len
	if m.moved == nil {
		m.moved = map[wire.BlockID]*node{}
	}
	m.moved[b.ID] = from
}

// Balance starts, stops or describes the balancing of nodes.
func (s *Service) Balance(r wire.BalanceRequest) (wire.BalanceStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.balance
	switch r.Set {
	case "":
	case "start":
		if r.Threshold < 0 || r.Threshold >= 1 {
			return wire.BalanceStatus{}, wire.Errorf(wire.Invalid, "balance: threshold %v; allowed are 0 to 1", r.Threshold)
		}
		if r.Threshold == 0 {
			r.Threshold = 0.1
		}
		*m = balancer{running: true, threshold: r.Threshold, idle: s.cfg.Now()}
	case "stop":
		if m.running {
			m.running, m.why = false, "somebody stopped it"
		}
	default:
		return wire.BalanceStatus{}, wire.Errorf(wire.Invalid, "balance %q: want start or stop", r.Set)
	}
	mean, worst := s.spreadOfUse()
	return wire.BalanceStatus{Running: m.running, Mean: mean, Worst: worst, Moved: m.count, Bytes: m.bytes, Why: m.why}, nil
}

func (n *node) fullness() float64 {
	total, used := n.space()
	if total == 0 {
		return 0
	}
	return float64(used) / float64(total)
}

// spreadOfUse returns the mean share of used bytes and a node's largest distance from it.
func (f *fleet) spreadOfUse() (mean, worst float64) {
	var total, used int64
	for _, n := range f.nodes {
		if !n.dead && !n.draining {
			t, u := n.space()
			total, used = total+t, used+u
		}
	}
	if total == 0 {
		return 0, 0
	}
	mean = float64(used) / float64(total)
	for _, n := range f.nodes {
		if !n.dead && !n.draining {
			worst = max(worst, math.Abs(n.fullness()-mean))
		}
	}
	return mean, worst
}

// tickBalance plans moves. Repairs have already taken the streams they need.
func (s *Service) tickBalance(now time.Duration) {
	m := &s.balance
	if !m.running {
		return
	}
	mean, worst := s.spreadOfUse()
	if worst <= m.threshold {
		m.running, m.why = false, "all nodes are within the threshold"
		return
	}
	moves, change := 0, s.inFlight()
	for _, from := range s.nodes {
		if !from.dead && !from.draining && from.fullness() > mean {
			moves += s.moveFrom(from, mean, change, now)
		}
	}
	if moves > 0 || len(s.copies) > 0 {
		m.idle = now
	} else if now-m.idle > balancePatience {
		m.running, m.why = false, "nothing more can be moved"
	}
}

// inFlight returns how copies and deletions under way will change the use of each node.
func (s *Service) inFlight() map[*node]int64 {
	change := map[*node]int64{}
	for _, list := range s.copies {
		for _, c := range list {
			change[c.to] += c.block.Len
			if c.move {
				change[c.from] -= c.block.Len
			}
		}
	}
	for _, n := range s.nodes {
		for _, d := range n.deletes {
			change[n] -= d.Len
		}
	}
	return change
}

// moveFrom plans moves away from a node until it would be at the mean.
func (s *Service) moveFrom(from *node, mean float64, change map[*node]int64, now time.Duration) (moves int) {
	total, used := from.space()
	over := used + change[from] - int64(mean*float64(total))
	for _, b := range sorted(from.blocks) {
		if over <= 0 || !s.maySend(from, now) {
			return moves
		}
		if s.copies[b.ID] != nil || b.building != nil || b.Len > over+b.Len/2 {
			continue
		}
		if to := s.emptier(b, from, mean, change, now); to != nil {
			s.startCopy(b, from, to, now, true)
			over -= b.Len
			change[from] -= b.Len
			change[to] += b.Len
			moves++
		}
	}
	return moves
}

// emptier returns the emptiest node below the mean to which from can move a block without losing spread.
func (s *Service) emptier(b *block, from *node, mean float64, change map[*node]int64, now time.Duration) (best *node) {
	c := b.count()
	if c.live != c.wanted || c.corrupt+c.leaving > 0 {
		return nil
	}
	least := mean
	for _, to := range s.nodes {
		total, used := to.space()
		after := float64(used+change[to]+b.Len) / float64(max(total, 1))
		_, has := to.blocks[b]
		if has || after > mean || to.deletes[b.ID] != nil || to.receiving >= s.cfg.CopyStreams || !s.usable(to, b.Len, now) {
			continue
		}
		if to.rack != from.rack && b.racksWithout(from, to) < min(2, c.racks) {
			continue
		}
		if best == nil || after < least {
			best, least = to, after
		}
	}
	return best
}

// racksWithout counts the racks of a block after a move.
func (b *block) racksWithout(from, to *node) int {
	racks := map[string]bool{to.rack: true}
	for _, r := range b.replicas {
		if r.node != from {
			racks[r.node.rack] = true
		}
	}
	return len(racks)
}
