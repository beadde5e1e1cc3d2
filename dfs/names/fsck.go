package names

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/wire"
)

// Fsck reports the health of the files below a path, a page at a time, in the order of
// a walk through the tree by name.
func (s *Service) Fsck(r wire.FsckRequest) (wire.FsckResponse, error) {
	return look(s, func(v *view) (out wire.FsckResponse, err error) {
		a := s.actor(r.User, r.Super)
		i, err := s.walk(v, a, r.Path)
		if err != nil {
			return out, err
		}
		v.saw(s.applied)
		var after []string
		if r.After != "" {
			if after, err = s.afterParts(i, r.After); err != nil {
				return out, err
			}
		}
		limit := page(r.Limit)
		s.files(a, i, strings.TrimSuffix(r.Path, "/"), after, func(f *inode, path string) bool {
			if len(out.Files) == limit || out.Scanned == maxPage {
				out.More = true
				return false
			}
			s.fsckFile(f, path, r.All, &out)
			return true
		})
		return out, nil
	})
}

// afterParts returns the components of after below dir.
func (s *Service) afterParts(dir *inode, after string) ([]string, error) {
	list, err := parts(after)
	if err != nil {
		return nil, err
	}
	base, err := parts(dir.path())
	if err != nil || len(list) < len(base) || !slices.Equal(list[:len(base)], base) {
		return nil, wire.Errorf(wire.Invalid, "%s: does not lie below %s", after, dir.path())
	}
	return list[len(base):], nil
}

// files visits the files below i that a can see, starting behind after.
func (t *tree) files(a *actor, i *inode, path string, after []string, fn func(*inode, string) bool) bool {
	if i.file != nil {
		return fn(i, path)
	}
	if !t.may(a, i, read|execute) {
		return true
	}
	from := ""
	if len(after) > 0 {
		from = after[0]
	}
	for k := range i.dir.kids.from(from) {
		var rest []string
		if len(after) > 0 && k.name == from {
			if rest = after[1:]; k.file != nil {
				continue
			}
		}
		if !t.files(a, k, path+"/"+k.name, rest, fn) {
			return false
		}
	}
	return true
}

// The health of a block, worst first.
var healths = []string{"missing", "corrupt", "under", "misplaced", "over", "healthy"}

func (f *fleet) health(c count) string {
	switch {
	case c.live+c.leaving == 0 && c.corrupt > 0:
		return "corrupt"
	case c.live+c.leaving == 0:
		return "missing"
	case c.live < c.wanted:
		return "under"
	case c.racks == 1 && c.wanted > 1 && f.liveRacks() > 1:
		return "misplaced"
	case c.live > c.wanted:
		return "over"
	}
	return "healthy"
}

// fsckFile looks at one file and adds it to the page.
func (fl *fleet) fsckFile(i *inode, path string, all bool, out *wire.FsckResponse) {
	f := wire.FsckFile{Path: path, Len: i.file.size, Status: "healthy"}
	worst := len(healths) - 1
	out.Scanned++
	out.Bytes += i.file.size
	for _, b := range i.file.blocks {
		if b.building != nil {
			continue
		}
		c := b.count()
		h := fl.health(c)
		out.Blocks++
		tally(out, h)
		if rank := slices.Index(healths, h); rank < worst {
			worst, f.Status = rank, h
			f.Problem = fmt.Sprintf("%v has %d good replicas of %d in %d racks, %d corrupt", b.ID, c.live+c.leaving, c.wanted, c.racks, c.corrupt)
		}
		if all || h != "healthy" {
			f.Blocks = append(f.Blocks, fsckBlock(b, c))
		}
	}
	if i.file.writing != nil && f.Status == "healthy" {
		f.Status = "open"
	}
	if out.Last = path; all || f.Status != "healthy" {
		out.Files = append(out.Files, f)
	}
}

func tally(out *wire.FsckResponse, health string) {
	switch health {
	case "missing":
		out.Missing++
	case "corrupt":
		out.Corrupt++
	case "under":
		out.Under++
	case "over":
		out.Over++
	}
}

func fsckBlock(b *block, c count) wire.FsckBlock {
	fb := wire.FsckBlock{Block: b.Block, Want: c.wanted, Racks: c.racks, Live: []wire.NodeName{}}
	for _, r := range b.replicas {
		if r.corrupt {
			fb.Corrupt = append(fb.Corrupt, r.node.name)
		} else {
			fb.Live = append(fb.Live, r.node.name)
		}
	}
	slices.Sort(fb.Live)
	slices.Sort(fb.Corrupt)
	return fb
}
