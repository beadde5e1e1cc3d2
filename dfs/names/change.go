package names

import (
	"fmt"

	"github.com/millrace/millrace/internal/wire"
)

// refuses returns why adding to what is used would break the quota, or "".
func (q quota) refuses(used, add usage) string {
	if n := add.files + add.dirs; q.files >= 0 && n > 0 && used.files+used.dirs+n > q.files {
		return fmt.Sprintf("%d files and directories are used of %d allowed", used.files+used.dirs, q.files)
	}
	if n := add.bytes + add.reserved; q.bytes >= 0 && n > 0 && used.bytes+used.reserved+n > q.bytes {
		return fmt.Sprintf("%d bytes are used of %d allowed (with replication), and %d more are wanted", used.bytes+used.reserved, q.bytes, n)
	}
	return ""
}

// Rename moves a file or directory in one step. A client that lost the answer and asks again gets NotFound for
// From. It can then check whether To is what it moved.
func (s *Service) Rename(r wire.RenameRequest) (wire.FileInfo, error) {
	return do(s, func() (wire.FileInfo, error) { return s.rename(s.actor(r.User, r.Super), &r) })
}

// maxMoves bounds the moves of one call: others wait meanwhile.
const maxMoves = 1000

// RenameAll renames files one by one, each replacing what is there, and waits for the disk once. It stops at
// the first failure. A file that is gone but exists under its new name counts as moved already.
func (s *Service) RenameAll(r wire.RenameAllRequest) error {
	if len(r.Moves) > maxMoves {
		return wire.Errorf(wire.Invalid, "%d moves in one call: at most %d", len(r.Moves), maxMoves)
	}
	_, err := do(s, func() (none struct{}, err error) {
		a := s.actor(r.User, r.Super)
		for _, m := range r.Moves {
			_, err := s.rename(a, &wire.RenameRequest{From: m.From, To: m.To, User: r.User, Replace: true, Super: r.Super})
			if wire.KindOf(err) == wire.NotFound {
				if _, there := s.walk(&view{}, a, m.To); there == nil {
					continue
				}
			}
			if err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

// rename is Rename under the lock.
func (s *Service) rename(a *actor, r *wire.RenameRequest) (none wire.FileInfo, err error) {
	if err := s.errNow(); err != nil {
		return none, err
	}
	i, err := s.walkToChange(a, r.From)
	if err != nil {
		return none, wire.Errorf(wire.KindOf(err), "rename %w", err)
	}
	if i == s.root {
		return none, wire.Errorf(wire.Invalid, "rename %s: the root has no other name", r.From)
	}
	c, err := s.claim(a, r.To, false)
	if err == nil {
		err = s.mustTake(a, i)
	}
	if err != nil {
		return none, wire.Errorf(wire.KindOf(err), "rename %s: %w", r.From, err)
	}
	if c.there == i {
		return s.info(a, i, r.To), nil
	}
	edits, err := s.move(r, i, c)
	if err == nil {
		err = s.mayAdd(a, c)
	}
	if err == nil && c.there != nil && c.there.dir != nil {
		err = s.mayReplace(a, c.there)
	}
	if err != nil {
		return none, err
	}
	if err := s.commit(edits...); err != nil {
		return none, err
	}
	return s.info(a, i, r.To), nil
}

// mayReplace returns an error unless a may remove a directory and all below it.
func (s *Service) mayReplace(a *actor, i *inode) error {
	if top := hasSnapshots(i); top != nil {
		return wire.Errorf(wire.Invalid, "replace %s: %s has snapshots: remove them first (millrace dfs snapshot rm)", i.path(), top.path())
	}
	return s.mustRemove(a, i)
}

// move checks a rename and makes its edits.
func (s *Service) move(r *wire.RenameRequest, i *inode, c claim) ([]edit, error) {
	now := s.nowMillis()
	var edits []edit
	switch {
	case c.there != nil && c.there.dir != nil && (!r.Tree || i.dir == nil):
		return nil, wire.Errorf(wire.Exists, "rename %s: %s is a directory", r.From, r.To)
	case c.there != nil && c.there.dir == nil && (!r.Replace || i.dir != nil):
		return nil, wire.Errorf(wire.Exists, "rename %s: %s exists", r.From, r.To)
	case c.there != nil && i.below(c.there):
		return nil, wire.Errorf(wire.Invalid, "rename %s: it lies inside %s, which it would replace", r.From, r.To)
	case c.at.below(i):
		return nil, wire.Errorf(wire.Invalid, "rename %s: %s lies inside it", r.From, r.To)
	case c.there != nil:
		edits = append(edits, edit{op: opRemove, id: c.there.id, mtime: now})
	}
	made, parent, _ := s.dirs(c, r.User, now)
	edits = append(edits, made...)
	common := c.at
	for !i.below(common) {
		common = common.parent
	}
	add := i.total()
	add.dirs += int64(len(c.make))
	if c.there != nil {
		add.add(c.there.total(), -1)
	}
	if err := s.room(c.at, common, "", add); err != nil {
		return nil, wire.Errorf(wire.Quota, "rename %s to %s: %w", r.From, r.To, err)
	}
	return append(edits, edit{op: opMove, id: i.id, parent: parent, name: c.name, mtime: now}), nil
}

// Delete removes a file, or with Recursive a directory and all below it. A second Delete of the same name
// returns NotFound.
func (s *Service) Delete(r wire.DeleteRequest) error {
	_, err := do(s, func() (none struct{}, err error) {
		a, i, err := s.toChange(r.User, r.Super, r.Path)
		if err != nil {
			return none, wire.Errorf(wire.KindOf(err), "delete %w", err)
		}
		if i == s.root {
			return none, wire.Errorf(wire.Invalid, "delete %s: the root cannot be deleted", r.Path)
		}
		if i.dir != nil && !r.Recursive && i.dir.kids.n > 0 {
			return none, wire.Errorf(wire.Invalid, "delete %s: the directory is not empty", r.Path)
		}
		if top := hasSnapshots(i); top != nil {
			return none, wire.Errorf(wire.Invalid, "delete %s: %s has snapshots: remove them first (millrace dfs snapshot rm)", r.Path, top.path())
		}
		if err := s.mustRemove(a, i); err != nil {
			return none, wire.Errorf(wire.KindOf(err), "delete %s: %w", r.Path, err)
		}
		if r.Trash {
			return none, s.discardTo(a, i, &r)
		}
		return none, s.commit(edit{op: opRemove, id: i.id, mtime: s.nowMillis()})
	})
	return err
}

// SetReplication changes how many replicas a file is to have.
func (s *Service) SetReplication(r wire.SetReplicationRequest) (wire.FileInfo, error) {
	return do(s, func() (none wire.FileInfo, err error) {
		if err := s.errNow(); err != nil {
			return none, err
		}
		a := s.actor(r.User, r.Super)
		i, err := s.file(&view{}, a, r.Path)
		if err == nil {
			err = s.must(a, i, write)
		}
		if err == nil && i.frozen() {
			err = wire.Errorf(wire.Invalid, "%s: is in a snapshot, which is read-only", r.Path)
		}
		if err != nil {
			return none, err
		}
		if err := s.checkReplication(r.Path, r.Replication); err != nil {
			return none, err
		}
		more := int64(r.Replication) - int64(i.file.replicas)
		if more > 0 {
			if err := s.room(i.parent, nil, i.owner.name, usage{bytes: more * i.file.size}); err != nil {
				return none, wire.Errorf(wire.Quota, "%s: %w", r.Path, err)
			}
		}
		if err := s.commit(edit{op: opReplica, id: i.id, replicas: uint8(r.Replication)}); err != nil {
			return none, err
		}
		for _, b := range i.file.blocks {
			s.settle(b)
		}
		return s.info(a, i, r.Path), nil
	})
}

// SetQuota bounds what is below a directory, or what a user has.
func (s *Service) SetQuota(r wire.QuotaRequest) error {
	_, err := do(s, func() (none struct{}, err error) {
		if err := s.errNow(); err != nil {
			return none, err
		}
		e := edit{op: opQuota, user: r.Of, files: max(r.Files, noLimit), bytes: max(r.Bytes, noLimit)}
		if why := badWord(r.Of); why != "" {
			return none, wire.Errorf(wire.Invalid, "user %.40q: %s", r.Of, why)
		}
		if r.Of == "" {
			i, err := s.walk(&view{}, s.actor("", true), r.Path)
			if err != nil {
				return none, err
			}
			if i.dir == nil {
				return none, wire.Errorf(wire.Invalid, "%s: is a file; quotas are for directories and users", r.Path)
			}
			e.id = i.id
		}
		s.keepQuota(&r, &e)
		return none, s.commit(e)
	})
	return err
}

// keepQuota fills in the limits that stay as they are.
func (t *tree) keepQuota(r *wire.QuotaRequest, e *edit) {
	have := quota{noLimit, noLimit}
	if i := t.inodes[e.id]; r.Of == "" {
		have = i.dir.quota
	} else if a := t.accounts[r.Of]; a != nil {
		have = a.quota
	}
	if r.KeepFiles {
		e.files = have.files
	}
	if r.KeepBytes {
		e.bytes = have.bytes
	}
}
