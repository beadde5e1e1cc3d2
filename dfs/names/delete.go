package names

import (
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A deletion is a replica that a node must delete.
type deletion struct {
	wire.Block
	good bool          // surplus: can be called back until it is sent
	due  time.Duration // not earlier; once sent, when it is sent again
	sent bool
}

// discard has a replica deleted after a delay.
func (s *Service) discard(n *node, at wire.Block, good bool) {
	if n.dead || n.deletes == nil {
		return // it will report again when it is back
	}
	if old := n.deletes[at.ID]; old != nil {
		if old.Gen < at.Gen {
			old.Block = at
		}
		return
	}
	n.deletes[at.ID] = &deletion{Block: at, good: good, due: s.cfg.Now() + s.cfg.DeleteDelay}
	n.order = append(n.order, at.ID)
	if b := s.blocks[at.ID]; good && b != nil {
		b.dying++
	}
}

// undo removes a deletion that is called back or done.
func (t *tree) undo(n *node, id wire.BlockID) {
	d := n.deletes[id]
	if d == nil {
		return
	}
	delete(n.deletes, id)
	if b := t.blocks[id]; d.good && b != nil {
		b.dying--
	}
}

// callBack reclaims good replicas that wait for deletion and are needed again.
func (s *Service) callBack(b *block) (saved bool) {
	for _, n := range s.nodes {
		if d := n.deletes[b.ID]; d != nil && d.good && !d.sent && d.Gen == b.Gen && !n.dead {
			s.undo(n, b.ID)
			s.gain(b, n)
			saved = true
		}
	}
	return saved
}

// deleted notes that a replica is gone from a node, asked for or not.
func (s *Service) deleted(n *node, at wire.Block) {
	if d := n.deletes[at.ID]; d != nil && d.Gen >= at.Gen {
		s.undo(n, at.ID)
	}
	b := s.blocks[at.ID]
	if b == nil {
		return
	}
	s.stale[at.ID] = slices.DeleteFunc(s.stale[at.ID], func(st staleReplica) bool { return st.node == n && st.block.Gen <= at.Gen })
	if len(s.stale[at.ID]) == 0 {
		delete(s.stale, at.ID)
	}
	if b.building != nil {
		if at.Gen >= b.Gen {
			delete(b.building.reported, n)
		}
		return
	}
	if at.Gen >= b.Gen {
		s.lose(b, n)
	}
	s.settle(b)
}

// takeDeletes lists the deletions that are due, oldest first.
func (s *Service) takeDeletes(n *node, now time.Duration) (list []wire.Block) {
	n.order = slices.DeleteFunc(n.order, func(id wire.BlockID) bool { return n.deletes[id] == nil })
	for _, id := range n.order {
		d := n.deletes[id]
		if d.due > now {
			continue
		}
		if len(list) == s.cfg.DeletesPerBeat {
			break
		}
		d.sent, d.due = true, now+s.cfg.CommandTimeout
		list = append(list, d.Block)
	}
	return list
}

// forgetCommands drops the commands for a node that was restarted or is dead. Its next report says what it has.
func (t *tree) forgetCommands(n *node) {
	for id := range n.deletes {
		t.undo(n, id)
	}
	n.deletes, n.order, n.recover = map[wire.BlockID]*deletion{}, nil, nil
}
