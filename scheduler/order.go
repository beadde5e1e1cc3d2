package scheduler

import (
	"cmp"
	"slices"
)

// An Item can be put in an Order: *Job and *Group.
type Item interface {
	comparable
	Slot() int  // index for side tables; unique among the items of one Order
	Seq() int64 // breaks ties
}

// An Order keeps items sorted by a key of the policy's, smallest first, ties by
// Seq. Policies use it to find the next job without sorting at each decision.
// Set and Remove cost a binary search and one move of the entries between old
// and new place; walking is a loop over At. It allocates only when it grows.
type Order[T Item, K any] struct {
	compare func(a, b K) int
	entries []entry[T, K]
	keys    []K    // by slot: the key under which the item was last set
	in      []bool // by slot
}

type entry[T Item, K any] struct {
	key  K
	seq  int64
	item T
}

// NewOrder returns an empty order by compare, which must be a strict weak order
// on the keys in use.
func NewOrder[T Item, K any](compare func(a, b K) int) *Order[T, K] {
	return &Order[T, K]{compare: compare}
}

// Len returns the number of items.
func (o *Order[T, K]) Len() int { return len(o.entries) }

// At returns the i-th item, the smallest being 0.
func (o *Order[T, K]) At(i int) T { return o.entries[i].item }

// KeyAt returns the key of the i-th item.
func (o *Order[T, K]) KeyAt(i int) K { return o.entries[i].key }

// Has reports whether item is in the order.
func (o *Order[T, K]) Has(item T) bool {
	s := item.Slot()
	return s < len(o.in) && o.in[s]
}

// find returns where (key, seq) is or would be.
func (o *Order[T, K]) find(key K, seq int64) int { return o.findIn(0, len(o.entries), key, seq) }

// findIn is find for a place known to be in lo..hi.
func (o *Order[T, K]) findIn(lo, hi int, key K, seq int64) int {
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		e := &o.entries[mid]
		if c := o.compare(e.key, key); c < 0 || c == 0 && e.seq < seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Set puts item under key, or moves it there.
func (o *Order[T, K]) Set(item T, key K) {
	s, seq := item.Slot(), item.Seq()
	if s >= len(o.in) {
		o.in = slices.Grow(o.in, s+1-len(o.in))[:s+1]
		o.keys = slices.Grow(o.keys, s+1-len(o.keys))[:s+1]
	}
	e := entry[T, K]{key, seq, item}
	if !o.in[s] {
		o.entries = slices.Insert(o.entries, o.find(key, seq), e)
	} else if c := o.compare(o.keys[s], key); c != 0 {
		from, to := o.find(o.keys[s], seq), 0
		if c < 0 { // the item moves up
			to = o.findIn(from+1, len(o.entries), key, seq) - 1
			copy(o.entries[from:to], o.entries[from+1:to+1])
		} else {
			to = o.findIn(0, from, key, seq)
			copy(o.entries[to+1:from+1], o.entries[to:from])
		}
		o.entries[to] = e
	}
	o.keys[s], o.in[s] = key, true
}

// Remove takes item out; it need not be in.
func (o *Order[T, K]) Remove(item T) {
	s := item.Slot()
	if !o.Has(item) {
		return
	}
	at := o.find(o.keys[s], item.Seq())
	o.entries = slices.Delete(o.entries, at, at+1)
	o.in[s] = false
}

// A FloatKey is the common key of an Order: a number, then a second one.
type FloatKey struct {
	First  float64
	Second int64
}

// CompareFloatKeys orders by First, then Second. NaN is smallest.
func CompareFloatKeys(a, b FloatKey) int {
	switch {
	case a.First < b.First:
		return -1
	case a.First > b.First:
		return 1
	case a.First != b.First: // NaN is rare, and the test below is expensive
		if c := cmp.Compare(a.First, b.First); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Second, b.Second)
}
