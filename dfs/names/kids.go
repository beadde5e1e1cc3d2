package names

import (
	"iter"
	"slices"
	"sort"
)

// chunk is the maximum number of entries in one piece of a directory.
const chunk = 512

// kids are the entries of a directory, sorted by name. Their pieces make a directory of a million entries cheap to
// change and to page through.
type kids struct {
	pieces [][]*inode // none is empty
	n      int
}

// locate returns the piece and the index in it where name is or belongs.
func (k *kids) locate(name string) (p, at int, ok bool) {
	p = max(sort.Search(len(k.pieces), func(i int) bool { return k.pieces[i][0].name > name })-1, 0)
	if p == len(k.pieces) {
		return p, 0, false
	}
	piece := k.pieces[p]
	at = sort.Search(len(piece), func(i int) bool { return piece[i].name >= name })
	return p, at, at < len(piece) && piece[at].name == name
}

// get returns the entry called name, or nil.
func (k *kids) get(name string) *inode {
	if p, at, ok := k.locate(name); ok {
		return k.pieces[p][at]
	}
	return nil
}

// add inserts an entry whose name is free.
func (k *kids) add(i *inode) {
	k.n++
	p, at, _ := k.locate(i.name)
	if p == len(k.pieces) {
		k.pieces = append(k.pieces, []*inode{i})
		return
	}
	piece := slices.Insert(k.pieces[p], at, i)
	k.pieces[p] = piece
	if len(piece) > chunk {
		half := len(piece) / 2
		if at == len(piece)-1 {
			half = len(piece) - 1 // fill the pieces when names arrive in order
		}
		k.pieces[p] = slices.Clip(piece[:half])
		k.pieces = slices.Insert(k.pieces, p+1, slices.Clone(piece[half:]))
	}
}

// remove removes the entry called name.
func (k *kids) remove(name string) {
	p, at, ok := k.locate(name)
	if !ok {
		return
	}
	k.n--
	k.pieces[p] = slices.Delete(k.pieces[p], at, at+1)
	if len(k.pieces[p]) == 0 {
		k.pieces = slices.Delete(k.pieces, p, p+1)
	}
}

// from yields the entries from name on.
func (k *kids) from(name string) iter.Seq[*inode] {
	return func(yield func(*inode) bool) {
		p, at, _ := k.locate(name)
		for ; p < len(k.pieces); p, at = p+1, 0 {
			for _, i := range k.pieces[p][min(at, len(k.pieces[p])):] {
				if !yield(i) {
					return
				}
			}
		}
	}
}

// all yields every entry.
func (k *kids) all() iter.Seq[*inode] { return k.from("") }

// build makes kids of entries in any order.
func (k *kids) build(list []*inode) {
	slices.SortFunc(list, func(a, b *inode) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	k.n, k.pieces = len(list), nil
	for piece := range slices.Chunk(list, chunk/2) {
		k.pieces = append(k.pieces, slices.Clone(piece))
	}
}
