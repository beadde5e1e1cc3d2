package codec

import (
	"encoding/binary"
	"errors"
)

// ErrDamaged says that bytes do not have their format.
var ErrDamaged = errors.New("the bytes are damaged")

// A Reader decodes numbers and texts from the front of untrusted bytes. After the first error it is bad, and all
// values are zero. So a decoder can read all its fields and check once, at the end.
type Reader struct {
	rest []byte
	bad  bool
}

// NewReader reads b, which it does not change.
func NewReader(b []byte) Reader { return Reader{rest: b} }

// Fail makes the reader bad.
func (r *Reader) Fail() { r.rest, r.bad = nil, true }

// Bad reports whether there was an error.
func (r *Reader) Bad() bool { return r.bad }

// Len returns how many bytes are left.
func (r *Reader) Len() int { return len(r.rest) }

// End returns ErrDamaged unless all was read well and nothing is left.
func (r *Reader) End() error {
	if r.bad || len(r.rest) > 0 {
		return ErrDamaged
	}
	return nil
}

// Uint reads what binary.AppendUvarint wrote.
func (r *Reader) Uint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// AtMost is Uint for a number that may not exceed most.
func (r *Reader) AtMost(most uint64) uint64 {
	v := r.Uint()
	if v > most {
		r.Fail()
		return 0
	}
	return v
}

// Int reads what binary.AppendVarint wrote.
func (r *Reader) Int() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Count reads how many things follow. Each takes at least a byte, so there may not be more than bytes.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.rest)) {
		r.Fail()
		return 0
	}
	return int(n)
}

// Bytes reads a length and returns that many bytes. They share memory with the input.
func (r *Reader) Bytes() []byte {
	n := r.Count()
	out := r.rest[:n:n]
	r.rest = r.rest[n:]
	return out
}

// Text is Bytes as a string of its own.
func (r *Reader) Text() string { return string(r.Bytes()) }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.rest) == 0 {
		r.Fail()
		return 0
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

// Bits reads n booleans written by AppendBits: a byte of which only the lowest n bits may be set.
func (r *Reader) Bits(n int) byte {
	v := r.Byte()
	if v>>n != 0 {
		r.Fail()
		return 0
	}
	return v
}

// Uint32 reads four bytes, lowest first.
func (r *Reader) Uint32() uint32 {
	if len(r.rest) < 4 {
		r.Fail()
		return 0
	}
	v := binary.LittleEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return v
}

// AppendText appends the length of s, and s. Reader.Text and Bytes read it.
func AppendText[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendBits appends up to eight booleans as one byte, the first in the lowest bit.
func AppendBits(b []byte, bits ...bool) []byte {
	var all byte
	for i, on := range bits {
		if on {
			all |= 1 << i
		}
	}
	return append(b, all)
}
