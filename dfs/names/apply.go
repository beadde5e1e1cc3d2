package names

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/wire"
)

// apply makes one edit in memory: now, or when the journal is replayed. It fails if the edit does not fit the
// namespace.
func (s *Service) apply(seq uint64, e *edit) error {
	switch e.op {
	case opPut:
		return s.applyPut(seq, e)
	case opQuota:
		return s.applyQuota(seq, e)
	case opSnapshot:
		return s.applySnapshot(seq, e)
	case opGen:
		s.gen = max(s.gen, e.gen)
		return nil
	case opDrain:
		s.applyDrain(wire.NodeName(e.name), e.on)
		return nil
	}
	i := s.inodes[e.id]
	if i == nil || i == s.root && e.op != opRights {
		return fmt.Errorf("change %d of file %d, which is not there", e.op, e.id)
	}
	i.seq = seq
	s.dirty[i.id] = struct{}{}
	switch e.op {
	case opMove:
		return s.applyMove(seq, i, e)
	case opRemove:
		s.applyRemove(seq, i, e.mtime)
		return nil
	case opRights:
		s.applyRights(i, e)
		return nil
	}
	if i.file == nil {
		return fmt.Errorf("change %d of the directory %d", e.op, e.id)
	}
	return s.applyFile(seq, i, e)
}

// applyFile applies an edit to a file.
func (s *Service) applyFile(seq uint64, i *inode, e *edit) error {
	if e.op == opReplica {
		before := i.own()
		i.file.replicas = e.replicas
		s.recharge(i, before)
		return nil
	}
	if i.file.writing == nil {
		return fmt.Errorf("change %d of file %d, which is closed", e.op, e.id)
	}
	switch e.op {
	case opBlock:
		return s.applyBlock(i, e)
	case opDrop:
		return s.applyDrop(i)
	case opHold:
		s.release(i)
		i.file.writing.recovering = true
		s.lease(i)
		return nil
	}
	return s.applyClose(seq, i, e)
}

func (s *Service) applyPut(seq uint64, e *edit) error {
	dir := s.inodes[e.parent]
	if dir == nil || dir.dir == nil || s.inodes[e.id] != nil {
		return fmt.Errorf("new file %d in directory %d: one is there, or the other is not", e.id, e.parent)
	}
	i := &inode{id: e.id, parent: dir, name: e.name, owner: s.account(e.user), mtime: e.mtime, seq: seq, mode: e.mode}
	i.group = s.group(cmp.Or(e.group, s.cfg.Supergroup))
	if e.dir {
		i.dir = &directory{quota: quota{noLimit, noLimit}, seq: seq}
	} else {
		i.file = &content{blockSize: e.blockSize, replicas: e.replicas}
		i.file.writing = &writing{holder: e.holder, request: e.request, shadow: e.shadow}
	}
	if badName(e.name) != "" || !e.shadow && dir.dir.kids.get(e.name) != nil {
		return fmt.Errorf("new file %d: the name %q is taken or none", e.id, e.name)
	}
	s.link(i)
	s.touch(dir, seq, e.mtime)
	s.inodes[i.id] = i
	s.dirty[i.id] = struct{}{}
	s.charge(i, i.own(), 1)
	s.nextFile = max(s.nextFile, e.id+1)
	if i.file != nil {
		s.lease(i)
	}
	return nil
}

// link adds an inode to its directory. A shadow goes beside the entries.
func (t *tree) link(i *inode) {
	d := i.parent.dir
	if i.snapshot() {
		if d.snaps == nil {
			d.snaps = map[string]*inode{}
		}
		d.snaps[strings.TrimPrefix(i.name, snapshotDir+"/")] = i
		return
	}
	if i.file == nil || i.file.writing == nil || !i.file.writing.shadow {
		d.kids.add(i)
		return
	}
	if d.shadows == nil {
		d.shadows = map[wire.FileID]*inode{}
	}
	d.shadows[i.id] = i
}

func (t *tree) unlink(i *inode) {
	d := i.parent.dir
	if i.snapshot() {
		delete(d.snaps, strings.TrimPrefix(i.name, snapshotDir+"/"))
		return
	}
	if _, shadow := d.shadows[i.id]; shadow {
		delete(d.shadows, i.id)
		return
	}
	d.kids.remove(i.name)
}

// touch notes that a directory's entries changed.
func (s *Service) touch(dir *inode, seq uint64, mtime int64) {
	dir.dir.seq = seq
	dir.mtime = max(dir.mtime, mtime)
	s.dirty[dir.id] = struct{}{}
}

// charge adds an inode's usage to its owner and to every directory above it. With sign -1 it takes it away.
func (t *tree) charge(i *inode, u usage, sign int64) {
	i.owner.use.add(u, sign)
	chargeDirs(i.parent, u, sign)
}

func chargeDirs(dir *inode, u usage, sign int64) {
	for ; dir != nil; dir = dir.parent {
		dir.dir.use.add(u, sign)
	}
}

// recharge replaces an inode's earlier usage by its present one.
func (t *tree) recharge(i *inode, before usage) {
	t.charge(i, before, -1)
	t.charge(i, i.own(), 1)
}

func (s *Service) applyMove(seq uint64, i *inode, e *edit) error {
	to := s.inodes[e.parent]
	if to == nil || to.dir == nil || to.below(i) || badName(e.name) != "" || to.dir.kids.get(e.name) != nil {
		return fmt.Errorf("file %d cannot move to %q in directory %d", e.id, e.name, e.parent)
	}
	u := i.total()
	s.unlink(i)
	chargeDirs(i.parent, u, -1)
	s.touch(i.parent, seq, e.mtime)
	i.parent, i.name = to, e.name
	s.link(i)
	chargeDirs(to, u, 1)
	s.touch(to, seq, e.mtime)
	return nil
}

// applyRemove removes an inode and all below it.
func (s *Service) applyRemove(seq uint64, i *inode, mtime int64) {
	s.unlink(i)
	chargeDirs(i.parent, i.total(), -1)
	s.touch(i.parent, seq, mtime)
	s.forget(i, i.frozen())
}

// forget drops an inode and all below it from the tables. Snapshots were charged as a whole.
func (s *Service) forget(i *inode, frozen bool) {
	delete(s.inodes, i.id)
	s.dirty[i.id] = struct{}{}
	switch {
	case i.snapshot():
		frozen = true
		i.owner.use.add(i.total(), -1)
	case !frozen:
		i.owner.use.add(i.own(), -1)
	}
	if i.file != nil {
		s.release(i)
		for _, b := range i.file.blocks {
			if !s.unshare(b, i) {
				s.free(b)
			}
		}
		return
	}
	for k := range i.dir.kids.all() {
		s.forget(k, frozen)
	}
	for _, id := range slices.Sorted(maps.Keys(i.dir.shadows)) {
		s.forget(i.dir.shadows[id], frozen)
	}
	for _, k := range i.snapshots() {
		s.forget(k, true)
	}
}

// applyBlock adds a block to an open file or changes its last one.
func (s *Service) applyBlock(i *inode, e *edit) error {
	f := i.file
	before := i.own()
	switch {
	case e.index == len(f.blocks):
		if s.blocks[e.block.ID] != nil || f.last() != nil && f.last().building != nil {
			return fmt.Errorf("block %v of file %d: it is there, or the one before it is not finished", e.block.ID, i.id)
		}
		b := &block{Block: e.block, owner: i, building: &building{}}
		f.blocks = append(f.blocks, b)
		s.blocks[b.ID] = b
	case f.last() == nil || e.index != len(f.blocks)-1 || f.last().ID != e.block.ID || f.last().building == nil:
		return fmt.Errorf("block %v is not the open block of file %d", e.block.ID, i.id)
	}
	s.nextID, s.gen = max(s.nextID, e.block.ID+1), max(s.gen, e.block.Gen)
	b := f.last()
	if b.Gen != e.block.Gen {
		b.building.reported = nil
	}
	b.Block, b.building.pipeline = e.block, e.pipeline
	if e.on {
		f.size += b.Len
		s.finish(b)
	}
	s.recharge(i, before)
	return nil
}

// finish ends the writing of a block. The nodes that have reported it become its replicas.
func (s *Service) finish(b *block) {
	u := b.building
	b.building = nil
	s.finished++
	for _, n := range s.nodes {
		if length, ok := u.reported[n]; ok {
			s.found(n, wire.Block{ID: b.ID, Gen: b.Gen, Len: length})
		}
	}
}

func (s *Service) applyDrop(i *inode) error {
	b := i.file.last()
	if b == nil || b.building == nil {
		return fmt.Errorf("file %d has no open block to drop", i.id)
	}
	before := i.own()
	i.file.blocks = i.file.blocks[:len(i.file.blocks)-1]
	s.free(b)
	s.recharge(i, before)
	return nil
}

// applyClose ends the writing of a file. What a shadow replaces is removed already.
func (s *Service) applyClose(seq uint64, i *inode, e *edit) error {
	f := i.file
	if f.last() != nil && f.last().building != nil {
		return fmt.Errorf("file %d is closed although its last block is open", i.id)
	}
	if f.writing.shadow && i.parent.dir.kids.get(i.name) != nil {
		return fmt.Errorf("file %d is closed although its name %q is taken", i.id, i.name)
	}
	s.release(i)
	s.unlink(i)
	f.writing = nil
	s.link(i)
	f.crc, f.hasCRC, i.mtime = e.crc, e.on, e.mtime
	s.touch(i.parent, seq, e.mtime)
	return nil
}

// applyRights gives an inode another owner, group and mode. From now on the new owner is charged for it.
func (s *Service) applyRights(i *inode, e *edit) {
	u := i.own()
	if i == s.root { // nobody is charged for the root
		u = usage{}
	}
	i.owner.use.add(u, -1)
	i.owner, i.group, i.mode = s.account(e.user), s.group(cmp.Or(e.group, s.cfg.Supergroup)), e.mode
	i.owner.use.add(u, 1)
}

func (s *Service) applyQuota(seq uint64, e *edit) error {
	q := quota{e.files, e.bytes}
	if e.id == 0 {
		a := s.account(e.user)
		a.quota, a.seq = q, seq
		return nil
	}
	i := s.inodes[e.id]
	if i == nil || i.dir == nil {
		return fmt.Errorf("quota of directory %d, which is not there", e.id)
	}
	i.dir.quota, i.seq = q, seq
	s.dirty[i.id] = struct{}{}
	return nil
}

// account returns the user called name.
func (t *tree) account(name string) *account {
	a := t.accounts[name]
	if a == nil {
		a = &account{name: name, quota: quota{noLimit, noLimit}}
		t.accounts[name] = a
	}
	return a
}
