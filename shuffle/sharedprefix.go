package shuffle

import "math/bits"

// leastShared is how many first bytes all keys of a range must share before it pays to take prefixes from behind
// them. With one byte, the gain is less than the cost of a pass over the keys.
const leastShared = 2

// radixShared sorts [lo,hi), which is in b if inB, into a. Of keys such as k00990218 most of an eight-byte prefix
// says nothing. Ties then cost more than all the rest, since each is a walk to a record that is in no cache. So if
// all keys share their first bytes, prefixes are of the bytes behind them while the range is sorted. The entries are
// still in the order of their records in the arena, which makes one look at each cheap.
func (s *sorter) radixShared(lo, hi int, inB bool) error {
	src := s.a
	if inB {
		src = s.b
	}
	n := 0
	if _, ok := s.keys.(*arena); ok && hi-lo > insertionMax {
		n = sharedPrefix(src, lo, hi)
	}
	if n < leastShared {
		return s.radix(lo, hi, inB, 0)
	}
	shared := src.at(lo).prefix &^ (1<<(64-8*n) - 1)
	for i := lo; i < hi; i++ {
		src.at(i).prefix = prefixOf(s.keyAt(src, i, hi)[n:])
	}
	err := s.radix(lo, hi, inB, n)
	for i := lo; i < hi; i++ {
		e := s.a.at(i)
		e.prefix = shared | e.prefix>>(8*n)
	}
	return err
}

// sharedPrefix returns how many first bytes, at most seven, all keys of [lo,hi) share. It stops at a zero byte,
// which may stand for the end of a key.
func sharedPrefix(x *index, lo, hi int) int {
	first, diff := x.at(lo).prefix, uint64(0)
	for i := lo; i < hi; i++ {
		if diff |= x.at(i).prefix ^ first; diff>>(64-8*leastShared) != 0 {
			return 0
		}
	}
	n := bits.LeadingZeros64(diff) / 8
	if n == 8 {
		return 0 // [sorter.ties] does that better
	}
	for i := range n {
		if byte(first>>(56-8*i)) == 0 {
			return i
		}
	}
	return n
}
