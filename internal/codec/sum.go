// Package codec turns values into the bytes of our formats and back, with checksums. Each format has a page in
// docs/formats.
package codec

import (
	"hash"
	"hash/crc32"
)

// All our checksums are CRC32C, for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum returns the CRC32C of b.
func Sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// AddSum returns the CRC32C of data with checksum sum followed by b.
func AddSum(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }

// NewSum returns a CRC32C hash.
func NewSum() hash.Hash32 { return crc32.New(castagnoli) }

// Mix returns a number in which each bit depends on all bits of x: the finaliser of SplitMix64 (Steele, Lea, Flood
// 2014).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
