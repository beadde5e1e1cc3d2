package flow

import "math/bits"

// set is a set of small numbers, by bits.
type set []uint64

const wordBits = 64

// wordsOf returns how many words hold n numbers.
func wordsOf(n int) int { return (n + wordBits - 1) / wordBits }

func newSet(n int) set { return make(set, wordsOf(n)) }

func (s set) add(i int32)      { s[i/wordBits] |= 1 << (i % wordBits) }
func (s set) remove(i int32)   { s[i/wordBits] &^= 1 << (i % wordBits) }
func (s set) has(i int32) bool { return s[i/wordBits]&(1<<(i%wordBits)) != 0 }

// fill adds the first n numbers.
func (s set) fill(n int) {
	for i := range s {
		s[i] = ^uint64(0)
	}
	if k := n % wordBits; k > 0 {
		s[n/wordBits] = 1<<k - 1
	}
}

// all yields the numbers in order.
func (s set) all(yield func(int32) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !yield(int32(i*wordBits + bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}
