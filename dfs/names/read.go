package names

import (
	"cmp"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/wire"
)

// Pages are this long where the caller does not say, and never longer than the limit.
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

// walk finds a path. It notes in v what the answer depends on.
func (s *Service) walk(v *view, path string) (*inode, error) {
	list, err := parts(path)
	if err != nil {
		return nil, err
	}
	return s.follow(v, path, list)
}

func (s *Service) follow(v *view, path string, list []string) (*inode, error) {
	at := s.root
	for n, name := range list {
		v.saw(at.seq)
		if at.dir == nil {
			return nil, wire.Errorf(wire.NotFound, "%s: /%s is a file, not a directory", path, strings.Join(list[:n], "/"))
		}
		next := at.dir.kids.get(name)
		if next == nil {
			v.saw(at.dir.seq)
			return nil, wire.Errorf(wire.NotFound, "%s: no such file or directory", path)
		}
		at = next
	}
	v.saw(at.seq)
	return at, nil
}

// file finds a path that must be a file.
func (s *Service) file(v *view, path string) (*inode, error) {
	i, err := s.walk(v, path)
	if err == nil && i.file == nil {
		err = wire.Errorf(wire.Invalid, "%s: is a directory", path)
	}
	return i, err
}

// Stat describes a file or directory.
func (s *Service) Stat(r wire.PathRequest) (wire.FileInfo, error) {
	return look(s, func(v *view) (wire.FileInfo, error) {
		i, err := s.walk(v, r.Path)
		if err != nil {
			return wire.FileInfo{}, err
		}
		if i.dir != nil {
			v.saw(i.dir.seq) // its modification time
		}
		return i.info(r.Path), nil
	})
}

// List returns a page of a directory, by name. A file lists itself.
func (s *Service) List(r wire.ListRequest) (wire.ListResponse, error) {
	return look(s, func(v *view) (out wire.ListResponse, err error) {
		i, err := s.walk(v, r.Path)
		if err != nil {
			return out, err
		}
		if i.dir == nil {
			out.Entries = []wire.FileInfo{i.info(r.Path)}
			return out, nil
		}
		v.saw(i.dir.seq)
		base := strings.TrimSuffix(r.Path, "/") + "/"
		limit := page(r.Limit)
		for k := range i.dir.kids.from(r.After) {
			if k.name == r.After {
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
			out.Entries = append(out.Entries, k.info(base+k.name))
		}
		return out, nil
	})
}

// Usage says what a directory holds below it, or a user in all, and may hold.
func (s *Service) Usage(r wire.QuotaRequest) (wire.Usage, error) {
	return look(s, func(v *view) (wire.Usage, error) {
		v.saw(s.applied)
		if r.Of != "" {
			if a := s.accounts[r.Of]; a != nil {
				return a.use.wire(a.quota), nil
			}
			return usage{}.wire(quota{noLimit, noLimit}), nil
		}
		i, err := s.walk(v, r.Path)
		switch {
		case err != nil:
			return wire.Usage{}, err
		case i.dir == nil:
			return i.own().wire(quota{noLimit, noLimit}), nil
		}
		return i.dir.use.wire(i.dir.quota), nil
	})
}

func (u usage) wire(q quota) wire.Usage {
	return wire.Usage{Files: u.files, Dirs: u.dirs, Len: u.len, Bytes: u.bytes, QuotaFiles: q.files, QuotaBytes: q.bytes}
}

// Locate says where the blocks of a file are, nearest to the reader first. Of an open
// file only finished blocks are told. In safe mode a block without a known place is
// Unavailable: its nodes may still report.
func (s *Service) Locate(r wire.LocateRequest) (wire.LocateResponse, error) {
	return look(s, func(v *view) (out wire.LocateResponse, err error) {
		i, err := s.file(v, r.Path)
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
		out.File = i.info(r.Path)
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

// places lists the good replicas of a block: on the reader's node, in its rack,
// elsewhere; nodes that are being emptied last. Readers without a rack are spread.
func (s *Service) places(b *block, reader wire.NodeName) []wire.Place {
	type ranked struct {
		rank int
		n    *node
	}
	from := s.byName[reader]
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
