package scheduler

import (
	"iter"
	"math/bits"
	"slices"
)

// A localIndex finds the pending maps of one job that have a replica at a
// place; places are nodes or racks. It is built once, in compressed rows; a
// launched map is only counted out, and its entry is stepped over the next time
// a cursor passes. Looking a place up costs two loads, whether it has a row or
// not.
type localIndex struct {
	rows  []localRow
	items []int32 // map indices, ascending inside a row
	// words finds the row of a place: bit p&63 of word p>>6 is set iff place p
	// has a row, and before counts the rows of earlier words. With few rows keys
	// is used instead: the places, ascending.
	words []rankWord
	keys  []int32
}

// A localRow holds the maps at one place.
type localRow struct {
	start, end int32 // its items
	next       int32 // no item before it is pending
	left       int32 // how many items are pending. Invariant: exact.
}

type rankWord struct {
	bits   uint64
	before int32
}

const fewRows = 8

// build fills the index from pairs given by each, which must yield the maps in
// ascending order, the same twice. places is how many places exist; count is
// scratch of that length, zeroed before and after.
func (x *localIndex) build(places int, count []int32, each func(yield func(place, m int32))) {
	total, distinct := 0, 0
	each(func(p, _ int32) {
		if count[p] == 0 {
			distinct++
		}
		count[p]++
		total++
	})
	x.layout(places, distinct, count)
	x.items = make([]int32, total)
	each(func(p, m int32) {
		r := &x.rows[x.row(p)]
		x.items[r.next] = m
		r.next++
	})
	for i := range x.rows {
		x.rows[i].next = x.rows[i].start
	}
	clear(count[:places])
}

func (x *localIndex) layout(places, distinct int, count []int32) {
	x.rows = make([]localRow, 0, distinct)
	if distinct > fewRows {
		x.words = make([]rankWord, (places+63)/64)
	}
	at := int32(0)
	for p, n := range count[:places] {
		if x.words != nil && p&63 == 0 {
			x.words[p>>6].before = int32(len(x.rows))
		}
		if n == 0 {
			continue
		}
		if x.words != nil {
			x.words[p>>6].bits |= 1 << (p & 63)
		} else {
			x.keys = append(x.keys, int32(p))
		}
		x.rows = append(x.rows, localRow{start: at, end: at + n, next: at, left: n})
		at += n
	}
}

// row returns the row of place p, or -1.
func (x *localIndex) row(p int32) int {
	if x.words == nil {
		return slices.Index(x.keys, p)
	}
	if w := int(p >> 6); w < len(x.words) {
		word, bit := &x.words[w], uint64(1)<<(p&63)
		if word.bits&bit != 0 {
			return int(word.before) + bits.OnesCount64(word.bits&(bit-1))
		}
	}
	return -1
}

// count returns how many maps are pending at p.
func (x *localIndex) count(p int32) int32 {
	if r := x.row(p); r >= 0 {
		return x.rows[r].left
	}
	return 0
}

// first returns the lowest pending map at p, or -1.
func (x *localIndex) first(p int32, state []TaskState) int32 {
	i := x.row(p)
	if i < 0 || x.rows[i].left == 0 {
		return -1
	}
	r := &x.rows[i]
	for state[x.items[r.next]] != TaskPending {
		r.next++
	}
	return x.items[r.next]
}

// all yields every pending map at p, lowest first.
func (x *localIndex) all(p int32, state []TaskState) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		i := x.row(p)
		if i < 0 || x.rows[i].left == 0 {
			return
		}
		for _, m := range x.items[x.rows[i].next:x.rows[i].end] {
			if state[m] == TaskPending && !yield(m) {
				return
			}
		}
	}
}

// take counts out one map at p that stopped being pending.
func (x *localIndex) take(p int32) {
	if r := x.row(p); r >= 0 {
		x.rows[r].left--
	}
}

// put counts map m at p in again and steps the cursor back to it.
func (x *localIndex) put(p, m int32) {
	i := x.row(p)
	if i < 0 {
		return
	}
	r := &x.rows[i]
	r.left++
	at, _ := slices.BinarySearch(x.items[r.start:r.end], m)
	r.next = min(r.next, r.start+int32(at))
}
