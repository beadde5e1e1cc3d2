package bare

import (
	"encoding/binary"
	"math/bits"
)

func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

// spaces64 returns a mask with bit i set if p[i] is ASCII white space.
func spaces64(p *[64]byte) (mask uint64) {
	for i := range 8 {
		mask |= spaces8(binary.LittleEndian.Uint64(p[8*i:])) << (8 * i)
	}
	return mask
}

// spaces8 does eight bytes at once. In each byte the high bit of a sum of seven
// low bits says whether they reach a bound; no carry crosses to the next byte.
func spaces8(w uint64) uint64 {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
	)
	low := w &^ high
	notBlank := (low ^ ' '*ones) + 0x7f*ones                          // high bit: not ' '
	control := (low + (0x80-'\t')*ones) &^ (low + (0x80-'\r'-1)*ones) // high bit: \t to \r
	space := (^notBlank | control) & high &^ w
	return (space >> 7) * 0x0102040810204080 >> 56 // gather the eight bits
}

// firstBit returns base plus the place of the lowest bit of mask, and mask
// without that bit.
func firstBit(base int, mask uint64) (int, uint64) {
	return base + bits.TrailingZeros64(mask), mask & (mask - 1)
}
