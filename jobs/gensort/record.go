package gensort

import "encoding/binary"

const (
	// RecordSize is the length of every record in bytes, in both forms.
	RecordSize = 100
	// KeySize is the length of the key, which is the record's first bytes.
	KeySize = 10
)

// Form is the form of a record.
type Form uint8

const (
	// Binary is the record of TeraGen and of gensort without flags.
	Binary Form = iota
	// ASCII is the record of gensort -a: printable, ending in CR LF.
	ASCII
)

// String returns the name of the form.
func (f Form) String() string {
	if f == ASCII {
		return "ascii"
	}
	return "binary"
}

// Offsets of the parts of a record; the filler starts earlier in ASCII records
// because it has one digit more and the gap before it is shorter.
const (
	rowAt         = 12
	afterRow      = 44
	binaryFiller  = 48
	asciiFiller   = 46
	asciiKeyChars = 95 // ' ' to '~'
)

// putBinary writes the record of a row whose random number is r.
func putBinary(dst *[RecordSize]byte, r, row Uint128) {
	binary.BigEndian.PutUint64(dst[0:], r.Hi)
	binary.BigEndian.PutUint16(dst[8:], uint16(r.Lo>>48))
	binary.BigEndian.PutUint16(dst[10:], 0x0011)
	putHex(dst, row)
	binary.BigEndian.PutUint32(dst[afterRow:], 0x8899aabb)
	for i := range 12 {
		digit := uint8(r.Lo>>(44-4*i)) & 15
		binary.LittleEndian.PutUint32(dst[binaryFiller+4*i:], fourDigits[digit])
	}
	binary.BigEndian.PutUint32(dst[96:], 0xccddeeff)
}

// putASCII writes the printable record of a row whose random number is r.
func putASCII(dst *[RecordSize]byte, r, row Uint128) {
	putPrintable(dst[0:8], r.Hi)
	putPrintable(dst[8:10], r.Lo)
	dst[10], dst[11] = ' ', ' '
	putHex(dst, row)
	dst[afterRow], dst[afterRow+1] = ' ', ' '
	for i := range 13 {
		digit := uint8(r.Lo>>(48-4*i)) & 15
		binary.LittleEndian.PutUint32(dst[asciiFiller+4*i:], fourDigits[digit])
	}
	dst[98], dst[99] = '\r', '\n'
}

// putPrintable fills dst with the digits of x in base 95, the lowest first.
func putPrintable(dst []byte, x uint64) {
	for i := range dst {
		dst[i] = ' ' + byte(x%asciiKeyChars)
		x /= asciiKeyChars
	}
}

// putHex writes the row number as 32 upper-case digits.
func putHex(dst *[RecordSize]byte, row Uint128) {
	binary.BigEndian.PutUint64(dst[rowAt:], hex8(uint32(row.Hi>>32)))
	binary.BigEndian.PutUint64(dst[rowAt+8:], hex8(uint32(row.Hi)))
	binary.BigEndian.PutUint64(dst[rowAt+16:], hex8(uint32(row.Lo>>32)))
	binary.BigEndian.PutUint64(dst[rowAt+24:], hex8(uint32(row.Lo)))
}

// hex8 returns the eight hexadecimal digits of x, one per byte, the first in the highest.
func hex8(x uint32) uint64 {
	const ones = 0x0101010101010101
	v := uint64(x)
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & (0x0f * ones)
	letters := (v + 6*ones) >> 4 & ones // 1 in each byte that is 10 or more
	return v + '0'*ones + letters*('A'-'0'-10)
}

// fourDigits holds each hexadecimal digit four times over, the unit of filler.
var fourDigits = func() (t [16]uint32) {
	for i := range t {
		t[i] = uint32("0123456789ABCDEF"[i]) * 0x01010101
	}
	return t
}()
