package names

import (
	"slices"

	"github.com/millrace/millrace/internal/wire"
)

// open finds a holder's open file and renews its lease. Unless by is empty, that user must own the file.
func (s *Service) open(id wire.FileID, holder, by string) (*inode, error) {
	if err := s.errNow(); err != nil {
		return nil, err
	}
	i := s.inodes[id]
	switch {
	case i == nil:
		return nil, wire.Errorf(wire.NotFound, "file %d: is deleted", id)
	case by != "" && i.owner.name != by:
		return nil, wire.Errorf(wire.Denied, "file %d: is not being written by user %s", id, by)
	case i.file == nil:
		return nil, wire.Errorf(wire.Invalid, "%s: is a directory", i.path())
	case i.file.writing == nil:
		return nil, wire.Errorf(wire.Stale, "%s: is closed", i.path())
	case i.file.writing.holder != holder || i.file.writing.recovering:
		return nil, wire.Errorf(wire.Stale, "%s: %s no longer has the lease", i.path(), holder)
	}
	s.renew(holder)
	return i, nil
}

// AddBlock finishes the previous block of an open file and gives out the next. A repeated request gets the same
// block.
func (s *Service) AddBlock(r wire.AddBlockRequest) (wire.Pipeline, error) {
	return do(s, func() (none wire.Pipeline, err error) {
		i, err := s.open(r.File, r.Holder, r.By)
		if err != nil {
			return none, err
		}
		if before, err := s.givenBefore(i, &r); before || err != nil {
			if err != nil {
				return none, err
			}
			return s.givePipelineAgain(i, &r)
		}
		var edits []edit
		copies := int64(i.file.replicas)
		add := usage{reserved: i.file.blockSize * copies}
		if b := i.file.last(); b != nil && b.building != nil {
			e, err := s.finishEdit(i, *r.Previous, r.Stored)
			if err != nil {
				return none, err
			}
			edits = append(edits, e)
			add = usage{bytes: r.Previous.Len * copies} // the next block takes over what was reserved
		}
		if err := s.room(i.parent, nil, i.owner.name, add); err != nil {
			return none, wire.Errorf(wire.Quota, "%s: %w", i.path(), err)
		}
		return s.addBlock(i, &r, edits)
	})
}

// givenBefore reports whether the requested block was given out before. It refuses a Previous that is not the
// file's.
func (s *Service) givenBefore(i *inode, r *wire.AddBlockRequest) (bool, error) {
	blocks := i.file.blocks
	last := i.file.last()
	switch {
	case last == nil && r.Previous == nil:
		return false, nil
	case r.Previous != nil && last != nil && r.Previous.ID == last.ID:
		return false, nil
	case last != nil && last.building != nil && len(blocks) == 1 && r.Previous == nil:
		return true, nil
	case last != nil && last.building != nil && len(blocks) > 1 && r.Previous != nil && r.Previous.ID == blocks[len(blocks)-2].ID:
		return true, nil
	}
	return false, wire.Errorf(wire.Invalid, "%s: the block before the one asked for is not the file's last", i.path())
}

// givePipelineAgain answers a repeated request with the same pipeline. If one of its nodes is excluded or gone,
// the block gets a new pipeline and generation.
func (s *Service) givePipelineAgain(i *inode, r *wire.AddBlockRequest) (wire.Pipeline, error) {
	b := i.file.last()
	p := wire.Pipeline{Block: b.Block}
	for _, name := range b.building.pipeline {
		n := s.byName[name]
		if n == nil || n.dead || slices.Contains(r.Exclude, name) {
			return s.repipe(i, nil, r.Writer, r.Exclude)
		}
		p.Places = append(p.Places, n.place())
	}
	return p, nil
}

// finishEdit checks that a block was written and returns the edit that finishes it.
func (s *Service) finishEdit(i *inode, done wire.Block, stored []wire.NodeName) (edit, error) {
	b := i.file.last()
	switch {
	case done.ID != b.ID:
		return edit{}, wire.Errorf(wire.Invalid, "%s: block %v is not its last", i.path(), done.ID)
	case done.Gen != b.Gen:
		return edit{}, wire.Errorf(wire.Stale, "%s: %v is at generation %d, not %d", i.path(), b.ID, b.Gen, done.Gen)
	case done.Len < 1 || done.Len > i.file.blockSize:
		return edit{}, wire.Errorf(wire.Invalid, "%s: %v has %d bytes; a block has 1 to %d", i.path(), b.ID, done.Len, i.file.blockSize)
	}
	holds := 0
	for _, n := range s.nodes {
		if length, ok := b.building.reported[n]; ok && length == done.Len || slices.Contains(stored, n.name) {
			holds++
		}
	}
	if holds < s.cfg.MinReplicas {
		return edit{}, wire.Errorf(wire.Unavailable, "%s: %v is stored on %d nodes; at least %d must have it", i.path(), b.ID, holds, s.cfg.MinReplicas)
	}
	for _, n := range s.nodes { // what they told the client counts as reported
		if slices.Contains(stored, n.name) && !n.dead {
			b.building.report(n, done.Len)
		}
	}
	return edit{op: opBlock, id: i.id, index: len(i.file.blocks) - 1, block: done, on: true}, nil
}

func (u *building) report(n *node, length int64) {
	if u.reported == nil {
		u.reported = map[*node]int64{}
	}
	u.reported[n] = length
}

func (s *Service) addBlock(i *inode, r *wire.AddBlockRequest, edits []edit) (wire.Pipeline, error) {
	hints := r.Hints
	if len(hints) == 0 && s.cfg.Readers != nil {
		hints = s.cfg.Readers(i.path(), i.owner.name)
	}
	chosen, err := s.choose(i, nil, r.Writer, r.Exclude, hints)
	if err != nil {
		return wire.Pipeline{}, err
	}
	b := wire.Block{ID: s.nextID, Gen: s.gen + 1}
	edits = append(edits, edit{op: opBlock, id: i.id, index: len(i.file.blocks), block: b, pipeline: nodeNames(chosen)})
	last := i.file.last()
	if err := s.commit(edits...); err != nil {
		return wire.Pipeline{}, err
	}
	if last != nil {
		s.settle(last)
	}
	return wire.Pipeline{Block: b, Places: nodePlaces(chosen)}, nil
}

// Bump gives the open block a new generation after its pipeline broke, and new nodes for those that failed. The
// live ones come first in the pipeline.
func (s *Service) Bump(r wire.BumpRequest) (wire.Pipeline, error) {
	return do(s, func() (none wire.Pipeline, err error) {
		i, err := s.open(r.File, r.Holder, r.By)
		if err != nil {
			return none, err
		}
		b := i.file.last()
		if b == nil || b.ID != r.Block.ID || b.building == nil || r.Block.Gen > b.Gen {
			return none, wire.Errorf(wire.Stale, "%s: %v at generation %d is not being written", i.path(), r.Block.ID, r.Block.Gen)
		}
		return s.repipe(i, r.Alive, "", r.Exclude)
	})
}

// repipe gives the open block a new generation and pipeline.
func (s *Service) repipe(i *inode, alive []wire.NodeName, writer wire.NodeName, exclude []wire.NodeName) (wire.Pipeline, error) {
	var have []*node
	for _, name := range alive {
		if n := s.byName[name]; n != nil && !n.dead && !slices.Contains(have, n) {
			have = append(have, n)
		}
	}
	chosen, err := s.choose(i, have, writer, exclude, nil)
	if err != nil && len(have) == 0 {
		return wire.Pipeline{}, err
	}
	all := append(have, chosen...)
	b := i.file.last().Block
	b.Gen = s.gen + 1
	e := edit{op: opBlock, id: i.id, index: len(i.file.blocks) - 1, block: b, pipeline: nodeNames(all)}
	if err := s.commit(e); err != nil {
		return wire.Pipeline{}, err
	}
	return wire.Pipeline{Block: b, Places: nodePlaces(all)}, nil
}

// Complete closes a file. A file that replaces another takes its name in the same step. A repeated request
// succeeds again.
func (s *Service) Complete(r wire.CompleteRequest) (wire.FileInfo, error) {
	return do(s, func() (none wire.FileInfo, err error) {
		if err := s.errNow(); err != nil {
			return none, err
		}
		if i := s.inodes[r.File]; i != nil && i.file != nil && i.file.writing == nil && i.file.completed(&r) && (r.By == "" || r.By == i.owner.name) {
			return s.info(s.actor(r.By, false), i, i.path()), nil
		}
		i, err := s.open(r.File, r.Holder, r.By)
		if err != nil {
			return none, err
		}
		edits, err := s.completeEdits(i, &r)
		if err != nil {
			return none, err
		}
		last := i.file.last()
		if err := s.commit(edits...); err != nil {
			return none, err
		}
		if last != nil {
			s.settle(last)
		}
		return s.info(s.actor(r.By, false), i, i.path()), nil
	})
}

// completed reports whether this request closed the file.
func (f *content) completed(r *wire.CompleteRequest) bool {
	if !f.hasCRC || f.crc != r.CRC {
		return false
	}
	return r.Last == nil || r.Last.Len == 0 || f.last() != nil && *r.Last == f.last().Block
}

func (s *Service) completeEdits(i *inode, r *wire.CompleteRequest) (edits []edit, err error) {
	if b := i.file.last(); b != nil && b.building != nil {
		if r.Last == nil || r.Last.Len == 0 && r.Last.ID == b.ID {
			edits = append(edits, edit{op: opDrop, id: i.id}) // nothing was written to it
		} else {
			e, err := s.finishEdit(i, *r.Last, r.Stored)
			if err != nil {
				return nil, err
			}
			edits = append(edits, e)
		}
	} else if r.Last != nil && (b == nil || *r.Last != b.Block) {
		return nil, wire.Errorf(wire.Invalid, "%s: block %v is not its last", i.path(), r.Last.ID)
	}
	now := s.nowMillis()
	if i.file.writing.shadow {
		if there := i.parent.dir.kids.get(i.name); there != nil {
			if there.dir != nil {
				return nil, wire.Errorf(wire.Exists, "%s: is a directory now", i.path())
			}
			edits = append(edits, edit{op: opRemove, id: there.id, mtime: now})
		}
	}
	return append(edits, edit{op: opClose, id: i.id, mtime: now, crc: r.CRC, on: true}), nil
}

// Abandon deletes an open file. The file that it should have replaced stays.
func (s *Service) Abandon(r wire.LeaseRequest) error {
	_, err := do(s, func() (none struct{}, err error) {
		i, err := s.open(r.File, r.Holder, r.By)
		if err != nil {
			return none, err
		}
		return none, s.commit(edit{op: opRemove, id: i.id, mtime: s.nowMillis()})
	})
	return err
}
