package names

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/wire"
)

// A snapshot of a directory is a read-only copy of the tree below it. Closed files never change, so the copies
// share their blocks. A block is freed when the last file that has it is gone. The copy hangs beside the
// entries of its directory and is found as DIR/.snapshot/NAME. It has the directory's owner, who is charged for
// all of it.
const snapshotDir = ".snapshot"

// frozen reports whether i is in a snapshot: only the top of one has a name of the form .snapshot/NAME.
func (i *inode) frozen() bool {
	for ; i != nil; i = i.parent {
		if i.snapshot() {
			return true
		}
	}
	return false
}

// snapshot reports whether i is the top of a snapshot.
func (i *inode) snapshot() bool { return strings.HasPrefix(i.name, snapshotDir+"/") }

// Snapshot makes a snapshot of a directory, or removes one.
func (s *Service) Snapshot(r wire.SnapshotRequest) (wire.FileInfo, error) {
	return do(s, func() (none wire.FileInfo, err error) {
		a, i, err := s.toChange(r.User, r.Super, r.Path)
		switch {
		case err != nil:
			return none, err
		case i.dir == nil:
			return none, wire.Errorf(wire.Invalid, "%s: is a file; snapshots are of directories", r.Path)
		case !a.super && i.owner.name != a.user:
			return none, s.denied(a, i, "make or remove snapshots of")
		case badName(r.Name) != "" || strings.Contains(r.Name, "/"):
			return none, wire.Errorf(wire.Invalid, "snapshot %.40q of %s: is no name for one", r.Name, r.Path)
		}
		there := i.dir.snaps[r.Name]
		if r.Remove {
			if there == nil {
				return none, wire.Errorf(wire.NotFound, "%s has no snapshot %s", r.Path, r.Name)
			}
			return none, s.commit(edit{op: opRemove, id: there.id, mtime: s.nowMillis()})
		}
		if there != nil {
			return none, wire.Errorf(wire.Exists, "%s has a snapshot %s already", r.Path, r.Name)
		}
		return s.takeSnapshot(a, i, &r)
	})
}

func (s *Service) takeSnapshot(a *actor, i *inode, r *wire.SnapshotRequest) (none wire.FileInfo, err error) {
	if err := s.room(i, nil, i.owner.name, closedUse(i)); err != nil {
		return none, wire.Errorf(wire.Quota, "snapshot of %s: %w", r.Path, err)
	}
	if err := s.commit(edit{op: opSnapshot, id: i.id, name: r.Name, mtime: s.nowMillis()}); err != nil {
		return none, err
	}
	c := i.dir.snaps[r.Name]
	return s.info(a, c, c.path()), nil
}

// closedUse returns what a snapshot of i would count.
func closedUse(i *inode) usage {
	u := i.own()
	if i.dir != nil {
		for k := range i.dir.kids.all() {
			if k.file == nil || k.file.writing == nil {
				u.add(closedUse(k), 1)
			}
		}
	}
	return u
}

// applySnapshot copies a tree. It gives out ids in the order of names, so that a replay gives the same ids.
func (s *Service) applySnapshot(seq uint64, e *edit) error {
	i := s.inodes[e.id]
	if i == nil || i.dir == nil || i.dir.snaps[e.name] != nil || badName(e.name) != "" || i.frozen() {
		return fmt.Errorf("snapshot %q of directory %d, which is not there, or has it", e.name, e.id)
	}
	c := s.freeze(i, i, seq)
	c.name = snapshotDir + "/" + e.name
	c.mtime = e.mtime
	s.link(c)
	s.touch(i, seq, e.mtime)
	chargeDirs(i, c.total(), 1)
	c.owner.use.add(c.total(), 1)
	return nil
}

// freeze copies i below parent. Files that are being written are left out.
func (s *Service) freeze(i, parent *inode, seq uint64) *inode {
	c := &inode{id: s.nextFile, parent: parent, name: i.name, owner: i.owner, group: i.group, mode: i.mode, mtime: i.mtime, seq: seq}
	s.nextFile++
	s.inodes[c.id] = c
	s.dirty[c.id] = struct{}{}
	if f := i.file; f != nil {
		c.file = &content{blocks: f.blocks, size: f.size, blockSize: f.blockSize, crc: f.crc, hasCRC: f.hasCRC, replicas: f.replicas}
		for _, b := range f.blocks {
			s.shared[b.ID] = append(s.shared[b.ID], c)
		}
		return c
	}
	c.dir = &directory{quota: quota{noLimit, noLimit}, seq: seq}
	var list []*inode
	for k := range i.dir.kids.all() {
		if k.file == nil || k.file.writing == nil {
			k = s.freeze(k, c, seq)
			list = append(list, k)
			c.dir.use.add(k.total(), 1)
		}
	}
	c.dir.kids.build(list)
	return c
}

// unshare notes that i no longer has a block. It is false if no other file has it.
func (s *Service) unshare(b *block, i *inode) bool {
	list := s.shared[b.ID]
	if len(list) == 0 {
		return false
	}
	if b.owner == i {
		b.owner = list[0]
	}
	list = slices.DeleteFunc(list, func(o *inode) bool { return o == i || o == b.owner })
	if s.shared[b.ID] = list; len(list) == 0 {
		delete(s.shared, b.ID)
	}
	s.settle(b) // the new owner may have another replication
	return true
}

// checkShared makes the file that is not in a snapshot the owner of each shared block. Two such files with one
// block are damage.
func (t *tree) checkShared() error {
	for id, list := range t.shared {
		b := t.blocks[id]
		live := 0
		for n, i := range list {
			if i.frozen() {
				continue
			}
			if live++; b.owner.frozen() {
				b.owner, list[n] = i, b.owner
				live--
			}
		}
		if live > 0 {
			return wire.Errorf(wire.Corrupt, "entry %x: block %v belongs to another file too", inodeKey(b.owner.id), id)
		}
	}
	return nil
}

// hasSnapshots returns i or a directory below it that has snapshots, or nil.
func hasSnapshots(i *inode) *inode {
	if i.dir == nil || len(i.dir.snaps) > 0 {
		if i.dir == nil {
			return nil
		}
		return i
	}
	for k := range i.dir.kids.all() {
		if found := hasSnapshots(k); found != nil {
			return found
		}
	}
	return nil
}

// walkToChange is walk for a change, which nothing in a snapshot allows.
func (t *tree) walkToChange(a *actor, path string) (*inode, error) {
	i, err := t.walk(&view{}, a, path)
	if err == nil && i.frozen() {
		return nil, wire.Errorf(wire.Invalid, "%s: is in a snapshot, which is read-only", path)
	}
	return i, err
}

// toChange finds the inode that a caller wants to change.
func (s *Service) toChange(user string, super bool, path string) (*actor, *inode, error) {
	a := s.actor(user, super)
	if err := s.errNow(); err != nil {
		return a, nil, err
	}
	i, err := s.walkToChange(a, path)
	return a, i, err
}

// snapshots lists the snapshots of a directory, by name.
func (i *inode) snapshots() (list []*inode) {
	if i.dir == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(i.dir.snaps)) {
		list = append(list, i.dir.snaps[name])
	}
	return list
}
