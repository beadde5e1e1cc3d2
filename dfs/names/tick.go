package names

import (
	"slices"
	"time"

	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/internal/wire"
)

// Tick lets time pass: nodes die, leases end, copies start and time out, safe mode begins and ends. Its owner calls
// it a few times a second. An error is the journal's, and the next Tick tries again. Stale means that another
// service has taken the directory over: this one answers nobody any more and should be closed.
func (s *Service) Tick() error {
	if err := s.stepDown(); err != nil {
		return err
	}
	s.mint.turn(s.cfg.Now())
	_, err := do(s, func() (struct{}, error) {
		now := s.cfg.Now()
		s.extendTimeouts(now)
		s.tickSafeMode(now)
		if !s.safe.vanished {
			s.markDead(now)
		}
		if s.safe.on || s.notInCharge() != nil || s.deserted() != nil {
			return struct{}{}, nil //nolint:nilerr // what follows is for a master in charge
		}
		s.expireCopies(now)
		s.tickDrain()
		s.repair(now)
		s.tickBalance(now)
		if err := s.sweepTrash(now); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, s.tickLeases(now)
	})
	return err
}

// extendTimeouts makes up for the time in which this process did not run because it was stopped or the machine
// slept.
func (s *Service) extendTimeouts(now time.Duration) {
	gap := now - s.lastTick
	s.lastTick = now
	if gap <= s.cfg.DeadAfter/2 {
		return
	}
	for _, n := range s.nodes {
		n.last = min(n.last+gap, now)
	}
	for _, l := range s.holders {
		l.renewed = min(l.renewed+gap, now)
	}
}

// Lost reports that a node's process is known to be gone, for example because its connection broke. The next
// Tick takes it for dead, unless it beats before or most nodes are silent too.
func (s *Service) Lost(name wire.NodeName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.byName[name]; n != nil {
		n.last = min(n.last, s.cfg.Now()-s.cfg.DeadAfter-1)
	}
}

// markDead takes late nodes for dead and their replicas for lost.
func (s *Service) markDead(now time.Duration) {
	for _, n := range s.nodes {
		if n.dead || now-n.last <= s.cfg.DeadAfter {
			continue
		}
		n.dead, n.reported, n.report = true, false, nil
		s.forgetCommands(n)
		lost := sorted(n.blocks)
		for _, b := range lost {
			s.lose(b, n)
		}
		for _, b := range lost {
			s.settle(b)
		}
	}
}

// nodeNames returns the names of all nodes, sorted.
func (s *Service) nodeNames() []string {
	var names []string
	for n := range s.byName {
		names = append(names, string(n))
	}
	slices.Sort(names)
	return names
}

// Drain takes a node out of service, or back with Undo. Its replicas no longer count, but copies are made from
// them. The node is drained when every block has enough copies elsewhere. Without Force, Drain refuses if too
// few nodes would stay.
func (s *Service) Drain(r wire.DrainRequest) (wire.StoreNode, error) {
	return do(s, func() (none wire.StoreNode, err error) {
		n := s.byName[r.Node]
		if n == nil && !s.draining[r.Node] {
			return none, wire.Errorf(wire.NotFound, "there is no node %q%s (millrace node ls lists them)", r.Node, suggest.Meant(string(r.Node), s.nodeNames()))
		}
		if !r.Undo && !r.Force {
			stay := 0
			for _, o := range s.nodes {
				if o != n && !o.dead && !o.draining {
					stay++
				}
			}
			if stay < s.cfg.Replication {
				return none, wire.Errorf(wire.Invalid, "node %s: %d nodes would stay, too few for replication %d; force it if that is wanted", r.Node, stay, s.cfg.Replication)
			}
		}
		if err := s.commit(edit{op: opDrain, name: string(r.Node), on: !r.Undo}); err != nil {
			return none, err
		}
		if n == nil {
			return wire.StoreNode{Place: wire.Place{Node: r.Node}, State: "dead"}, nil
		}
		s.tickDrain()
		return n.describe(), nil
	})
}

// applyDrain marks a node: now, or when the journal is replayed.
func (s *Service) applyDrain(name wire.NodeName, on bool) {
	if on {
		s.draining[name] = true
	} else {
		delete(s.draining, name)
	}
	n := s.byName[name]
	if n == nil || n.draining == on {
		return
	}
	n.draining, n.left = on, 0
	for _, b := range sorted(n.blocks) {
		s.settle(b)
	}
}

// tickDrain counts the blocks that nodes being emptied must still give away.
func (f *fleet) tickDrain() {
	for _, n := range f.nodes {
		if !n.draining || n.dead {
			continue
		}
		n.left = 0
		for b := range n.blocks {
			if c := b.count(); c.live < c.wanted {
				n.left++
			}
		}
	}
}
