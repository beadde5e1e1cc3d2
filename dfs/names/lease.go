package names

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// recoveryHolder holds the leases that the service takes over. No client has this name, since holders are not
// empty.
const recoveryHolder = ""

// A lease lets a holder write its open files as long as it is renewed.
type lease struct {
	renewed time.Duration
	files   map[wire.FileID]*inode
}

// lease records an open file under its holder.
func (s *Service) lease(i *inode) {
	w := i.file.writing
	holder := w.holder
	if w.recovering {
		holder = recoveryHolder
	} else if w.request != "" {
		s.requests[requestKey(w.holder, w.request)] = i
	}
	l := s.holders[holder]
	if l == nil {
		l = &lease{files: map[wire.FileID]*inode{}}
		s.holders[holder] = l
	}
	l.files[i.id], l.renewed = i, s.cfg.Now()
}

// release removes an open file from its holder.
func (ls *leases) release(i *inode) {
	w := i.file.writing
	if w == nil {
		return
	}
	delete(ls.requests, requestKey(w.holder, w.request))
	holder := w.holder
	if w.recovering {
		holder = recoveryHolder
	}
	if l := ls.holders[holder]; l != nil {
		if delete(l.files, i.id); len(l.files) == 0 {
			delete(ls.holders, holder)
		}
	}
}

func (s *Service) renew(holder string) {
	if l := s.holders[holder]; l != nil && holder != recoveryHolder {
		l.renewed = s.cfg.Now()
	}
}

// RenewLease keeps all files of a holder open. It returns Stale for a holder without open files: they were
// closed, deleted or taken from it.
func (s *Service) RenewLease(r wire.LeaseRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holders[r.Holder] == nil || r.Holder == recoveryHolder {
		return wire.Errorf(wire.Stale, "%s holds no lease", r.Holder)
	}
	for _, i := range s.holders[r.Holder].files {
		if r.By != "" && r.By != i.owner.name {
			return wire.Errorf(wire.Denied, "user %s holds no lease of this name", r.By)
		}
	}
	s.renew(r.Holder)
	return nil
}

// tickLeases takes files from silent writers, and continues the recovery of those it took before.
func (s *Service) tickLeases(now time.Duration) error {
	for _, holder := range slices.Sorted(maps.Keys(s.holders)) {
		l := s.holders[holder]
		if holder == recoveryHolder || now-l.renewed <= s.cfg.LeaseTimeout {
			continue
		}
		for _, i := range byID(l.files) {
			if err := s.expire(i, now); err != nil {
				return err
			}
		}
	}
	if l := s.holders[recoveryHolder]; l != nil {
		for _, i := range byID(l.files) {
			if err := s.recoverFile(i, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func byID(files map[wire.FileID]*inode) []*inode {
	return slices.SortedFunc(maps.Values(files), func(a, b *inode) int { return cmp.Compare(a.id, b.id) })
}

// expire takes an open file from its writer. It deletes a shadow, and closes any other file with its finished blocks
// and what can be recovered of the last.
func (s *Service) expire(i *inode, now time.Duration) error {
	if i.file.writing.shadow {
		return s.commit(edit{op: opRemove, id: i.id, mtime: s.nowMillis()})
	}
	if b := i.file.last(); b == nil || b.building == nil {
		return s.commit(s.closeEdit(i))
	}
	if err := s.commit(edit{op: opHold, id: i.id}); err != nil {
		return err
	}
	i.file.last().building.started = max(now, 1)
	return nil
}

// closeEdit closes a file whose writer is gone. Nobody knows its checksum, unless the file is empty.
func (s *Service) closeEdit(i *inode) edit {
	left := len(i.file.blocks)
	if b := i.file.last(); b != nil && b.building != nil {
		left--
	}
	return edit{op: opClose, id: i.id, mtime: s.nowMillis(), on: left == 0}
}

// summed closes a file with the checksum that a recovery found.
func (s *Service) summed(i *inode, d wire.Recovered) edit {
	e := s.closeEdit(i)
	if d.HasCRC {
		e.crc, e.on = d.CRC, true
	}
	return e
}

// maxSummed is up to how many finished blocks a recovery finds the checksum. All go into one message.
const maxSummed = 4096

// before lists the finished blocks of a file that is being recovered. It is false if they are too many or one has no
// replica.
func (f *fleet) before(i *inode) (list []wire.LocatedBlock, ok bool) {
	whole := i.file.blocks[:len(i.file.blocks)-1]
	if len(whole) > maxSummed {
		return nil, false
	}
	var off int64
	for _, b := range whole {
		lb := wire.LocatedBlock{Block: b.Block, Off: off, Places: f.places(b, "")}
		if len(lb.Places) == 0 {
			return nil, false
		}
		list, off = append(list, lb), off+b.Len
	}
	return list, true
}

// recoverFile makes the replicas of a file's last block agree on one length. It asks one node that may have the
// block, and another if that takes too long. In the end it gives up a block that no node has.
func (s *Service) recoverFile(i *inode, now time.Duration) error {
	b := i.file.last()
	u := b.building
	if u.started == 0 { // after a restart
		u.started = max(now, 1)
	}
	if u.newGen != 0 && now < u.deadline {
		return nil
	}
	holders := s.holdersOf(u, now)
	if now-u.started > s.cfg.RecoverGiveUp && (len(holders) == 0 || u.failures >= 2*len(holders)) {
		return s.commit(edit{op: opDrop, id: i.id}, s.closeEdit(i))
	}
	if len(holders) == 0 {
		return nil
	}
	gen := s.gen + 1
	if err := s.commit(edit{op: opGen, gen: gen}); err != nil {
		return err
	}
	first := holders[u.attempts%len(holders)]
	u.attempts++
	u.newGen, u.deadline = gen, now+s.cfg.RecoverTimeout
	work := wire.RecoverWork{Block: b.Block, NewGen: gen, Places: nodePlaces(holders)}
	work.Before, work.Sum = s.before(i)
	first.recover = append(first.recover, work)
	return nil
}

// holdersOf lists the live nodes that may hold a block being written.
func (s *Service) holdersOf(u *building, now time.Duration) (list []*node) {
	for _, n := range s.nodes {
		_, told := u.reported[n]
		if (told || slices.Contains(u.pipeline, n.name)) && !n.dead && !s.silent(n, now) {
			list = append(list, n)
		}
	}
	return list
}

// nothing handles a node that found no byte of a block. The node may have failed to reach those that have some,
// so each is asked before the block is dropped.
func (s *Service) nothing(i *inode, u *building, d wire.Recovered) error {
	now := s.cfg.Now()
	u.failures++
	if u.failures < len(s.holdersOf(u, now)) {
		u.deadline = now
		return nil
	}
	return s.commit(edit{op: opDrop, id: i.id}, s.summed(i, d))
}

// recovered closes a file whose last block was recovered. It ignores a recovery that was given up for a later
// one.
func (s *Service) recovered(d wire.Recovered) error {
	b := s.blocks[d.Block.ID]
	if b == nil || b.building == nil || b.building.newGen == 0 || d.Block.Gen != b.building.newGen {
		return nil
	}
	i := b.owner
	if !i.file.writing.recovering {
		return nil
	}
	if d.Block.Len == 0 {
		return s.nothing(i, b.building, d)
	}
	if d.Block.Len < 0 || d.Block.Len > i.file.blockSize || len(d.Stored) == 0 {
		return nil // invalid: the attempt will time out
	}
	done := edit{op: opBlock, id: i.id, index: len(i.file.blocks) - 1, block: d.Block, on: true}
	if err := s.commit(done, s.summed(i, d)); err != nil {
		return err
	}
	for _, name := range d.Stored {
		if n := s.byName[name]; n != nil && !n.dead {
			s.found(n, d.Block)
		}
	}
	s.settle(b)
	return nil
}
