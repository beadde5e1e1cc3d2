package shuffle

import (
	"encoding/binary"
	"math/bits"
)

// A record is stored, in memory as in files, as
//
//	uvarint(len(key)) uvarint(len(value)) key value
//
// so that a spill copies whole records without looking inside.

// uvarintLen returns the size of n as a uvarint.
func uvarintLen(n int) int { return (bits.Len32(uint32(n)|1) + 6) / 7 }

// recordSize returns the stored size of a record.
func recordSize(keyLen, valueLen int) int {
	return uvarintLen(keyLen) + uvarintLen(valueLen) + keyLen + valueLen
}

// putRecord writes a record at the start of dst, which has room, and returns its size.
func putRecord(dst, key, value []byte) int {
	h := 2
	if len(key) < 0x80 && len(value) < 0x80 && len(dst) >= 2 {
		dst[0], dst[1] = byte(len(key)), byte(len(value))
	} else {
		h = binary.PutUvarint(dst, uint64(len(key)))
		h += binary.PutUvarint(dst[h:], uint64(len(value)))
	}
	h += copy(dst[h:], key)
	return h + copy(dst[h:], value)
}

// appendLengths appends what precedes the key of a stored record.
func appendLengths(dst []byte, keyLen, valueLen int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(keyLen)), uint64(valueLen))
}

// parseHeader returns the lengths at the start of b and where the key begins. ok is false if b does not hold a whole
// record.
func parseHeader(b []byte) (keyLen, valueLen, start int, ok bool) {
	if len(b) >= 2 && b[0] < 0x80 && b[1] < 0x80 {
		keyLen, valueLen = int(b[0]), int(b[1])
		return keyLen, valueLen, 2, 2+keyLen+valueLen <= len(b)
	}
	return parseLongHeader(b)
}

func parseLongHeader(b []byte) (keyLen, valueLen, start int, ok bool) {
	k, n := binary.Uvarint(b)
	if n <= 0 || k > uint64(len(b)) {
		return 0, 0, 0, false
	}
	v, m := binary.Uvarint(b[n:])
	if m <= 0 || v > uint64(len(b)) {
		return 0, 0, 0, false
	}
	start = n + m
	keyLen, valueLen = int(k), int(v)
	return keyLen, valueLen, start, start+keyLen+valueLen <= len(b)
}

// prefixOf returns the first eight bytes of a key as a big-endian number, padded with zeros. Prefixes that differ
// order as their keys do.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	return shortPrefix(key)
}

func shortPrefix(key []byte) uint64 {
	n := len(key)
	if n >= 4 {
		hi := uint64(binary.BigEndian.Uint32(key))
		lo := uint64(binary.BigEndian.Uint32(key[n-4:]))
		return hi<<32 | lo<<(64-8*n)
	}
	p := uint64(0)
	for i := range n {
		p |= uint64(key[i]) << (56 - 8*i)
	}
	return p
}

// encodeInt returns the value form of an integer: eight bytes that order as the numbers do.
func encodeInt(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v)^1<<63)
}

// decodeInt is the inverse of encodeInt. ok is false unless b has eight bytes.
func decodeInt(b []byte) (v int64, ok bool) {
	if len(b) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(b) ^ 1<<63), true
}
