package scheduler

import (
	"iter"
	"math/bits"
	"slices"
)

// A localIndex finds the pending maps of one job that have a replica at a place; places are nodes or racks. It is built
// once, in compressed rows. A launched map is only counted out, and its entry is skipped. Looking a place up costs two
// loads, whether it has a row or not.
type localIndex struct {
	rows  []localRow
	items []int32 // map indices, ascending inside a row
	// next, if a row is long, gives for each row the earliest place of its first pending item. Short rows are searched
	// from their start: what makes this index slow is the memory that it touches.
	next []int32
	// bits finds the row of a place: bit p&63 of word p>>6 is set iff place p has a row, and before counts the rows of
	// earlier words. They are apart because the bit alone answers most questions with "no". If there are few rows, keys
	// is used instead: the places, ascending.
	bits   []uint64
	before []int32
	keys   []int32
}

// A localRow holds the maps at one place.
type localRow struct {
	start int32 // its items end where those of the row behind it begin
	left  int32 // how many items are pending. Invariant: exact.
}

const (
	fewRows = 8
	longRow = 8
)

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
		x.items[r.start+r.left] = m
		r.left++
	})
	clear(count[:places])
}

func (x *localIndex) layout(places, distinct int, count []int32) {
	x.rows = make([]localRow, 0, distinct)
	if distinct > fewRows {
		x.bits = make([]uint64, (places+63)/64)
		x.before = make([]int32, len(x.bits))
	}
	at, longest := int32(0), int32(0)
	for p, n := range count[:places] {
		if x.bits != nil && p&63 == 0 {
			x.before[p>>6] = int32(len(x.rows))
		}
		if n == 0 {
			continue
		}
		if x.bits != nil {
			x.bits[p>>6] |= 1 << (p & 63)
		} else {
			x.keys = append(x.keys, int32(p))
		}
		x.rows = append(x.rows, localRow{start: at})
		at += n
		longest = max(longest, n)
	}
	if longest > longRow {
		x.next = make([]int32, len(x.rows))
		for i := range x.rows {
			x.next[i] = x.rows[i].start
		}
	}
}

// row returns the row of place p, or -1, also for a p that is no place.
func (x *localIndex) row(p int32) int {
	if x.bits == nil {
		return slices.Index(x.keys, p)
	}
	if w := int(uint32(p) >> 6); w < len(x.bits) {
		word, bit := x.bits[w], uint64(1)<<(p&63)
		if word&bit != 0 {
			return int(x.before[w]) + bits.OnesCount64(word&(bit-1))
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
	at := x.from(i)
	for state[x.items[at]] != TaskPending {
		at++
	}
	if x.next != nil {
		x.next[i] = at
	}
	return x.items[at]
}

// from returns where the pending items of row i can begin.
func (x *localIndex) from(i int) int32 {
	if x.next != nil {
		return x.next[i]
	}
	return x.rows[i].start
}

// end returns where the items of row i end.
func (x *localIndex) end(i int) int32 {
	if i+1 < len(x.rows) {
		return x.rows[i+1].start
	}
	return int32(len(x.items))
}

// all yields every pending map at p, lowest first.
func (x *localIndex) all(p int32, state []TaskState) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		i := x.row(p)
		if i < 0 || x.rows[i].left == 0 {
			return
		}
		for _, m := range x.items[x.from(i):x.end(i)] {
			if state[m] == TaskPending && !yield(m) {
				return
			}
		}
	}
}

// take counts out one map at p that is no longer pending, and returns how many are left.
func (x *localIndex) take(p int32) int32 {
	r := x.row(p)
	if r < 0 {
		return 0
	}
	x.rows[r].left--
	return x.rows[r].left
}

// places yields every place that has a row.
func (x *localIndex) places(yield func(p int32) bool) {
	for _, p := range x.keys {
		if !yield(p) {
			return
		}
	}
	for w, word := range x.bits {
		for ; word != 0; word &= word - 1 {
			if !yield(int32(w<<6 + bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}

// put counts map m at p in again and moves the cursor back to it.
func (x *localIndex) put(p, m int32) {
	i := x.row(p)
	if i < 0 {
		return
	}
	r := &x.rows[i]
	r.left++
	if x.next != nil {
		at, _ := slices.BinarySearch(x.items[r.start:x.end(i)], m)
		x.next[i] = min(x.next[i], r.start+int32(at))
	}
}
