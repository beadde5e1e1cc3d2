package shuffle

import (
	"bytes"
	"math/bits"
	"slices"
)

const (
	insertionMax = 20   // most entries sorted by insertion
	narrowBits   = 8    // digit of a range within one chunk
	wideBits     = 11   // digit of a range across chunks
	flatWideMin  = 8192 // entries in one chunk from which the wide digit pays
)

// radix sorts [lo,hi), which is in b if inB, into a, most significant digit first. All keys agree on their first
// depth bytes, and prefixes are of the eight bytes after them. Each level moves the entries to the other index by
// one digit, chosen just below the bits that all prefixes of the range share. So common prefixes and narrow
// alphabets cost no pass.
func (s *sorter) radix(lo, hi int, inB bool, depth int) error {
	if s.a.sameChunk(lo, hi) {
		return s.radixFlat(s.a.slice(lo, hi), s.b.slice(lo, hi), lo, inB, depth)
	}
	src, dst := s.a, s.b
	if inB {
		src, dst = dst, src
	}
	first, diff := src.at(lo).prefix, uint64(0)
	for i := lo; i < hi; i++ {
		diff |= src.at(i).prefix ^ first
	}
	if diff == 0 {
		return s.ties(lo, hi, inB, depth)
	}
	shift := max(bits.Len64(diff)-wideBits, 0)
	var next [1<<wideBits + 1]int
	for i := lo; i < hi; i++ {
		next[src.at(i).prefix>>shift&(1<<wideBits-1)+1]++
	}
	next[0] = lo
	for d := range 1 << wideBits {
		next[d+1] += next[d]
	}
	for i := lo; i < hi; i++ {
		e := src.at(i)
		d := e.prefix >> shift & (1<<wideBits - 1)
		*dst.at(next[d]) = *e
		next[d]++
	}
	return s.buckets(next[:1<<wideBits], lo, !inB, depth)
}

// buckets sorts each bucket of a scattered range; ends[d] is where bucket d ends.
func (s *sorter) buckets(ends []int, lo int, inB bool, depth int) error {
	for d, hi := range ends {
		if hi == lo {
			continue
		}
		if d%16 == 0 || hi-lo > 1<<s.a.shift {
			if err := canceled(s.ctx); err != nil {
				return err
			}
		}
		if err := s.radix(lo, hi, inB, depth); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// radixFlat is radix on a range within one chunk: a and b are its two places and
// lo is its position in the index.
func (s *sorter) radixFlat(a, b []entry, lo int, inB bool, depth int) error {
	src, dst := a, b
	if inB {
		src, dst = b, a
	}
	if len(src) <= insertionMax {
		copy(a, src)
		s.insertion(a, depth)
		return nil
	}
	diff := uint64(0)
	for i := range src {
		diff |= src[i].prefix ^ src[0].prefix
	}
	if diff == 0 {
		return s.ties(lo, lo+len(src), inB, depth)
	}
	if len(src) >= flatWideMin {
		return s.flatWide(src, dst, bits.Len64(diff), lo, inB, depth)
	}
	shift := max(bits.Len64(diff)-narrowBits, 0)
	var next [1<<narrowBits + 1]uint32
	scatter(src, dst, next[:], shift)
	return s.digits(a, b, next[:1<<narrowBits], lo, inB, depth)
}

// flatWide is a level of radixFlat with the wide digit; top is the highest bit that differs.
func (s *sorter) flatWide(src, dst []entry, top, lo int, inB bool, depth int) error {
	var next [1<<wideBits + 1]uint32
	scatter(src, dst, next[:], max(top-wideBits, 0))
	a, b := src, dst
	if inB {
		a, b = b, a
	}
	return s.digits(a, b, next[:1<<wideBits], lo, inB, depth)
}

// digits sorts the entries with the same digit, digit by digit; ends[d] is where digit d ends.
func (s *sorter) digits(a, b []entry, ends []uint32, lo int, inB bool, depth int) error {
	at := 0
	for _, end := range ends {
		end := int(end)
		if end == at {
			continue
		}
		if err := s.radixFlat(a[at:end], b[at:end], lo+at, !inB, depth); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// scatter moves src to dst by the digit above shift, stably. next is zero and has one more element than there are
// digits, a power of two. Afterwards next[d] is where digit d ends.
func scatter(src, dst []entry, next []uint32, shift int) {
	mask := uint64(len(next) - 2)
	for i := range src {
		next[src[i].prefix>>shift&mask+1]++
	}
	sum := uint32(0)
	for d := range next {
		sum += next[d]
		next[d] = sum
	}
	for i := range src {
		d := src[i].prefix >> shift & mask
		dst[next[d]] = src[i]
		next[d]++
	}
}

// insertion sorts a few entries in place, stably: by their prefixes, and then ties by their keys, all of which it
// prefetches.
func (s *sorter) insertion(es []entry, depth int) {
	tied := false
	for i := 1; i < len(es); i++ {
		e := es[i]
		j := i
		for j > 0 && e.prefix < es[j-1].prefix {
			es[j] = es[j-1]
			j--
		}
		es[j] = e
		tied = tied || j > 0 && e.prefix == es[j-1].prefix
	}
	if tied {
		s.insertionTied(es, depth)
	}
}

// insertionTied orders adjacent entries with equal prefixes.
func (s *sorter) insertionTied(es []entry, depth int) {
	for i := 1; i < len(es); i++ {
		if es[i].prefix == es[i-1].prefix {
			s.keys.prefetch(es[i-1].loc)
			s.keys.prefetch(es[i].loc)
		}
	}
	for i := 1; i < len(es); i++ {
		e := es[i]
		j := i
		for j > 0 && e.prefix == es[j-1].prefix && s.less(&e, &es[j-1], depth) {
			es[j] = es[j-1]
			j--
		}
		es[j] = e
	}
}

// ties sorts [lo,hi), whose prefixes are all equal, into a. Keys that end within the prefix come first, by length.
// The others are sorted by later bytes.
func (s *sorter) ties(lo, hi int, inB bool, depth int) error {
	s.settle(lo, hi, inB)
	rest := s.exhausted(lo, hi, depth)
	if hi-rest < 2 {
		return nil
	}
	shared := s.a.at(lo).prefix
	depth = s.sharedDepth(rest, hi, depth+8)
	for i := rest; i < hi; i++ {
		s.a.at(i).prefix = prefixOf(s.keyAt(s.a, i, hi)[depth:])
	}
	err := s.radix(rest, hi, false, depth)
	for i := rest; i < hi; i++ {
		s.a.at(i).prefix = shared
	}
	return err
}

// exhausted moves keys that end within the prefix to the front of [lo,hi), ordered by
// length, stably, and returns where the longer ones begin.
func (s *sorter) exhausted(lo, hi, depth int) int {
	var next [11]int // lengths depth..depth+8, and longer
	slot := func(e *entry) int { return min(s.keyLen(e)-depth, 9) }
	for i := lo; i < hi; i++ {
		next[slot(s.a.at(i))+1]++
	}
	if next[10] == hi-lo {
		return lo
	}
	if slices.Contains(next[:10], hi-lo) {
		return hi // all have the same length, and so are equal
	}
	next[0] = lo
	for d := range 10 {
		next[d+1] += next[d]
	}
	rest := next[9]
	for i := lo; i < hi; i++ {
		e := s.a.at(i)
		d := slot(e)
		*s.b.at(next[d]) = *e
		next[d]++
	}
	s.settle(lo, hi, true)
	return rest
}

// sharedDepth returns how many bytes all keys of [lo,hi) share, at least depth.
func (s *sorter) sharedDepth(lo, hi, depth int) int {
	first := s.keys.key(s.a.at(lo).loc)
	for i := lo + 1; i < hi && len(first) > depth; i++ {
		k := s.keyAt(s.a, i, hi)
		first = first[:min(len(first), len(k))]
		if bytes.Equal(first[depth:], k[depth:len(first)]) {
			continue
		}
		n := depth
		for first[n] == k[n] {
			n++
		}
		first = first[:n]
	}
	return len(first)
}
