package shuffle

import (
	"bytes"
	"context"
)

// keyed looks up the key of an entry.
type keyed interface {
	// key is valid while the memory behind the location is.
	key(loc uint32) []byte
	// prefetch starts loading the key into the cache.
	prefetch(loc uint32)
}

// sorter sorts an index by partition and key, stably. Keys in byte order are sorted by
// radix, see radix.go; keys with an order of their own by merging, see mergesort.go.
type sorter struct {
	ctx     context.Context
	keys    keyed
	compare func(a, b []byte) int // nil: byte order
	a, b    *index                // same shape; the result is in a
}

// sortIndex sorts x, with b as scratch of the same size, and returns where each
// partition begins: partition p is [starts[p], starts[p+1]).
func sortIndex(ctx context.Context, x, b *index, partitions int, keys keyed, compare func(a, b []byte) int) ([]int, error) {
	s := &sorter{ctx: ctx, keys: keys, compare: compare, a: x, b: b}
	b.n = x.n
	if partitions == 1 {
		return []int{0, x.n}, s.sort(0, x.n, false)
	}
	starts := s.scatterPartitions(partitions)
	for p := range partitions {
		if err := s.sort(starts[p], starts[p+1], true); err != nil {
			return nil, err
		}
	}
	return starts, nil
}

// scatterPartitions moves the entries from a to b, grouped by partition.
func (s *sorter) scatterPartitions(partitions int) []int {
	starts := make([]int, partitions+1)
	for i := range s.a.n {
		starts[s.a.at(i).tag>>8+1]++
	}
	for p := range partitions {
		starts[p+1] += starts[p]
	}
	next := make([]int, partitions)
	copy(next, starts)
	for i := range s.a.n {
		e := s.a.at(i)
		p := e.tag >> 8
		*s.b.at(next[p]) = *e
		next[p]++
	}
	return starts
}

// sort sorts [lo,hi), which is in b if inB, into a.
func (s *sorter) sort(lo, hi int, inB bool) error {
	if err := canceled(s.ctx); err != nil {
		return err
	}
	if hi == lo {
		return nil
	}
	if s.compare != nil {
		return s.mergeSort(lo, hi, inB)
	}
	return s.radixShared(lo, hi, inB)
}

// settle moves [lo,hi) to a if it is not there yet.
func (s *sorter) settle(lo, hi int, inB bool) {
	if !inB {
		return
	}
	if s.a.sameChunk(lo, hi) {
		copy(s.a.slice(lo, hi), s.b.slice(lo, hi))
		return
	}
	for i := lo; i < hi; i++ {
		*s.a.at(i) = *s.b.at(i)
	}
}

// keyLen returns the length of the key of an entry.
func (s *sorter) keyLen(e *entry) int {
	if n := int(e.tag & longKey); n < longKey {
		return n
	}
	return len(s.keys.key(e.loc))
}

// less orders entries that agree on the first depth bytes of their keys and whose prefixes are of the eight bytes
// after those.
func (s *sorter) less(x, y *entry, depth int) bool {
	if x.prefix != y.prefix {
		return x.prefix < y.prefix
	}
	lx, ly := s.keyLen(x), s.keyLen(y)
	if depth += 8; lx <= depth || ly <= depth {
		return lx < ly
	}
	return bytes.Compare(s.keys.key(x.loc)[depth:], s.keys.key(y.loc)[depth:]) < 0
}
