package names

import (
	"cmp"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/wire"
)

// The length of a page if the caller does not say, and at most.
const (
	defaultPage = 1000
	maxPage     = 10_000
)

func page(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return min(limit, maxPage)
}

// walk finds a path if a may pass through the directories on the way. It notes in v what the answer depends on.
func (t *tree) walk(v *view, a *actor, path string) (*inode, error) {
	list, err := parts(path)
	if err != nil {
		return nil, err
	}
	return t.follow(v, a, path, list)
}

func (t *tree) follow(v *view, a *actor, path string, list []string) (*inode, error) {
	at := t.root
	for n := 0; n < len(list); n++ {
		name := list[n]
		v.saw(at.seq)
		if at.dir == nil {
			return nil, wire.Errorf(wire.NotFound, "%s: /%s is a file, not a directory", path, strings.Join(list[:n], "/"))
		}
		if err := t.must(a, at, execute); err != nil {
			return nil, err
		}
		next := at.dir.kids.get(name)
		if name == snapshotDir && n+1 < len(list) {
			n++
			next = at.dir.snaps[list[n]]
		}
		if next == nil {
			v.saw(at.dir.seq)
			return nil, wire.Errorf(wire.NotFound, "%s: no such file or directory", path)
		}
		at = next
	}
	v.saw(at.seq)
	return at, nil
}

// file finds a path that must name a file.
func (t *tree) file(v *view, a *actor, path string) (*inode, error) {
	i, err := t.walk(v, a, path)
	if err == nil && i.file == nil {
		err = wire.Errorf(wire.Invalid, "%s: is a directory", path)
	}
	return i, err
}

// Stat describes a file or directory.
func (s *Service) Stat(r wire.PathRequest) (wire.FileInfo, error) {
	return look(s, func(v *view) (wire.FileInfo, error) {
		dir, _ := ofSnapshots(r.Path)
		a := s.actor(r.User, r.Super)
		i, err := s.walk(v, a, dir)
		if err != nil {
			return wire.FileInfo{}, err
		}
		if i.dir != nil {
			v.saw(i.dir.seq) // its modification time
		}
		return s.info(a, i, r.Path), nil
	})
}

// ofSnapshots returns the directory whose snapshots a path names: DIR/.snapshot.
func ofSnapshots(path string) (dir string, ok bool) {
	if dir, ok = strings.CutSuffix(path, "/"+snapshotDir); ok && dir == "" {
		dir = "/"
	}
	return dir, ok
}

// List returns a page of a directory, sorted by name. A file lists itself.
func (s *Service) List(r wire.ListRequest) (wire.ListResponse, error) {
	return look(s, func(v *view) (out wire.ListResponse, err error) {
		a := s.actor(r.User, r.Super)
		dir, snaps := ofSnapshots(r.Path)
		i, err := s.walk(v, a, dir)
		if err != nil {
			return out, err
		}
		if i.dir == nil {
			out.Entries = []wire.FileInfo{s.info(a, i, r.Path)}
			return out, nil
		}
		if err := s.must(a, i, read|execute); err != nil {
			return out, err
		}
		v.saw(i.dir.seq)
		base := strings.TrimSuffix(r.Path, "/") + "/"
		limit := page(r.Limit)
		from := i.dir.kids.from(r.After)
		if snaps {
			from, base = slices.Values(i.snapshots()), strings.TrimSuffix(dir, "/")+"/"
		}
		for k := range from {
			if strings.TrimPrefix(k.name, snapshotDir+"/") <= r.After {
				continue
			}
			if len(out.Entries) == limit {
				out.More = true
				break
			}
			v.saw(k.seq)
			if k.dir != nil {
				v.saw(k.dir.seq)
			}
			out.Entries = append(out.Entries, s.info(a, k, base+k.name))
		}
		return out, nil
	})
}

// Usage returns what a directory holds below it, or what a user has, and the quota.
func (s *Service) Usage(r wire.QuotaRequest) (wire.Usage, error) {
	return look(s, func(v *view) (wire.Usage, error) {
		v.saw(s.applied)
		a := s.actor(r.User, r.Super)
		if r.Of != "" {
			if r.Of != a.user && !a.super {
				return wire.Usage{}, wire.Errorf(wire.Denied, "user %s may not see what user %s has", a.user, r.Of)
			}
			if a := s.accounts[r.Of]; a != nil {
				return a.use.wire(a.quota), nil
			}
			return usage{}.wire(quota{noLimit, noLimit}), nil
		}
		i, err := s.walk(v, a, r.Path)
		switch {
		case err != nil:
			return wire.Usage{}, err
		case i.dir == nil:
			return i.own().wire(quota{noLimit, noLimit}), nil
		}
		if err := s.must(a, i, read|execute); err != nil {
			return wire.Usage{}, err
		}
		return i.dir.use.wire(i.dir.quota), nil
	})
}

// Owners returns the usage and quota of every user that has either.
func (s *Service) Owners() (map[string]wire.Usage, error) {
	return look(s, func(v *view) (map[string]wire.Usage, error) {
		v.saw(s.applied)
		out := make(map[string]wire.Usage, len(s.accounts))
		for name, a := range s.accounts {
			out[name] = a.use.wire(a.quota)
		}
		return out, nil
	})
}

func (u usage) wire(q quota) wire.Usage {
	return wire.Usage{Files: u.files, Dirs: u.dirs, Len: u.len, Bytes: u.bytes, QuotaFiles: q.files, QuotaBytes: q.bytes}
}

// Locate returns where the blocks of a file are, nearest to the reader first. Of an open file it returns only
// finished blocks. In safe mode, a block without a known replica is Unavailable: its nodes may still report.
func (s *Service) Locate(r wire.LocateRequest) (wire.LocateResponse, error) {
	return look(s, func(v *view) (out wire.LocateResponse, err error) {
		a := s.actor(r.User, r.Super)
		i, err := s.file(v, a, r.Path)
		if err == nil {
			err = s.must(a, i, read)
		}
		if err != nil {
			return out, err
		}
		if r.Off < 0 || r.Len < -1 {
			return out, wire.Errorf(wire.Invalid, "%s: the range %d+%d", r.Path, r.Off, r.Len)
		}
		end := i.file.size
		if r.Len >= 0 && r.Len < end-r.Off {
			end = r.Off + r.Len
		}
		out.File = s.info(a, i, r.Path)
		out.Blocks, err = s.locateRange(i, &r, end)
		return out, err
	})
}

func (s *Service) locateRange(i *inode, r *wire.LocateRequest, end int64) (list []wire.LocatedBlock, err error) {
	var off int64
	limit := page(r.Count)
	for _, b := range i.file.blocks {
		if b.building != nil || off >= end || len(list) == limit {
			break
		}
		if off+b.Len > r.Off {
			lb := wire.LocatedBlock{Block: b.Block, Off: off, Places: s.places(b, r.Reader)}
			if len(lb.Places) == 0 && s.safe.on {
				return nil, wire.Errorf(wire.Unavailable, "%s: safe mode: nobody has reported %v yet", r.Path, b.ID)
			}
			list = append(list, lb)
		}
		off += b.Len
	}
	return list, nil
}

// places lists the good replicas of a block: on the reader's node, in its rack, elsewhere. Nodes being emptied come
// last. Equal places take turns by block.
func (f *fleet) places(b *block, reader wire.NodeName) []wire.Place {
	type ranked struct {
		rank int
		n    *node
	}
	from := f.byName[reader]
	var list []ranked
	for k, r := range b.replicas {
		if r.corrupt {
			continue
		}
		rank := 2
		switch {
		case r.node == from:
			rank = 0
		case from != nil && r.node.rack == from.rack:
			rank = 1
		}
		if r.node.draining {
			rank += 3
		}
		turn := (k + int(b.ID)) % len(b.replicas)
		list = append(list, ranked{rank<<8 | turn, r.node})
	}
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	places := make([]wire.Place, len(list))
	for k, r := range list {
		places[k] = r.n.place()
	}
	return places
}
