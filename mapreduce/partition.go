package mapreduce

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/zeebo/xxh3"
)

// A Partitioner decides to which reduce a pair goes: a number in 0..n-1. It must depend only on its arguments and be
// usable by several goroutines at once. With a [Fold] the value is nil.
type Partitioner interface {
	Partition(key, value []byte, n int) int
}

// PartitionFunc is a [Partitioner].
type PartitionFunc func(key, value []byte, n int) int

// Partition calls f.
func (f PartitionFunc) Partition(key, value []byte, n int) int { return f(key, value, n) }

// HashPartition distributes keys evenly by their hash. It is the default.
type HashPartition struct{}

// Partition hashes the key.
func (HashPartition) Partition(key, _ []byte, n int) int {
	return int(xxh3.Hash(key) % uint64(n))
}

// HashBy distributes keys evenly by the hash of a part of them. Keys with the same part go to the same reduce.
func HashBy[K any](part func(key K) string) Partitioner {
	c := CodecFor[K]()
	return PartitionFunc(func(key, _ []byte, n int) int {
		return int(xxh3.HashString(part(mustDecode(c, key))) % uint64(n))
	})
}

// TotalOrder gives each reduce one range of the sorted keys, so that the concatenated parts of the output are sorted
// as a whole. The bounds come from keys sampled before the job starts.
type TotalOrder struct {
	// Samples is how many keys are sampled. Larger: more even parts, later start. 0 means 5,000 for each reduce,
	// 10,000 at least and 100,000 (as Hadoop's TeraSort) at most.
	Samples int
}

// Partition must not be called: engines replace a TotalOrder by a [RangePartition]
// made from samples before any task runs.
func (TotalOrder) Partition([]byte, []byte, int) int {
	panic("mapreduce: TotalOrder used before its bounds were sampled")
}

// RangePartition divides keys at its bounds: part i holds keys k with
// Bounds[i-1] <= k < Bounds[i].
type RangePartition struct {
	Bounds  [][]byte // ascending
	Compare Compare  // nil means bytes
	// Group, if set, keeps keys together that it calls equal: a group with bounds in it belongs to the part behind them.
	Group Compare
}

// Partition finds the key's range by binary search.
func (p RangePartition) Partition(key, _ []byte, _ int) int {
	i := sort.Search(len(p.Bounds), func(i int) bool { return p.Compare.Of(p.Bounds[i], key) > 0 })
	for p.Group != nil && i < len(p.Bounds) && p.Group(key, p.Bounds[i]) == 0 {
		i++
	}
	return i
}

// Finder returns a faster version of Partition for many keys. It compares the first eight bytes as a number, and
// whole keys only if these are equal.
func (p RangePartition) Finder() func(key []byte) int {
	if p.Compare != nil || p.Group != nil {
		return func(key []byte) int { return p.Partition(key, nil, 0) }
	}
	prefixes := make([]uint64, len(p.Bounds))
	for i, b := range p.Bounds {
		prefixes[i] = prefix(b)
	}
	return func(key []byte) int {
		k := prefix(key)
		lo, hi := 0, len(prefixes)
		for lo < hi {
			mid := int(uint(lo+hi) >> 1)
			if b := prefixes[mid]; b < k || b == k && bytes.Compare(p.Bounds[mid], key) <= 0 {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		return lo
	}
}

// prefix returns the first eight bytes as a number that sorts as they do. Short keys are padded with zeros.
func prefix(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// BoundsOf returns n-1 bounds that divide the sampled keys evenly, or fewer if there are not enough distinct keys.
// It sorts samples in place.
func BoundsOf(samples [][]byte, n int, order Compare) [][]byte {
	slices.SortFunc(samples, order.Of)
	var bounds [][]byte
	for i := 1; i < n && len(samples) > 0; i++ {
		b := samples[i*len(samples)/n]
		if len(bounds) == 0 || order.Of(bounds[len(bounds)-1], b) < 0 {
			bounds = append(bounds, bytes.Clone(b))
		}
	}
	return bounds
}

// Compare is an [Order] made of a function. Nil means the order of bytes, which is the natural order of every built-in codec, and
// the fast one.
type Compare func(a, b []byte) int

// Of compares under c, or as bytes when c is nil.
func (c Compare) Of(a, b []byte) int {
	if c == nil {
		return bytes.Compare(a, b)
	}
	return c(a, b)
}

// By orders keys of a Go type. It does not say what keys have in common that compare calls equal: see [ByKey].
func By[K any](compare func(a, b K) int) Compare {
	c := CodecFor[K]()
	return func(a, b []byte) int { return compare(mustDecode(c, a), mustDecode(c, b)) }
}

// CheckPartition returns an error if a partitioner's result is out of range.
func CheckPartition(p, n int) error {
	if p < 0 || p >= n {
		return fmt.Errorf("partitioner returned %d, must be in 0..%d", p, n-1)
	}
	return nil
}
