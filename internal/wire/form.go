package wire

import "encoding/binary"

// A Form takes numbers and texts off the front of bytes that may hold anything. Behind the first that does not fit
// it is bad, and all is zero.
type Form struct {
	rest []byte
	bad  bool
}

// NewForm reads b, which it does not change; texts are copies.
func NewForm(b []byte) Form { return Form{rest: b} }

// open begins a message of a kind.
func open(b []byte, kind byte) Form {
	if len(b) == 0 || b[0] != kind {
		return Form{bad: true}
	}
	return Form{rest: b[1:]}
}

// Fail makes the form bad.
func (f *Form) Fail() { f.rest, f.bad = nil, true }

// Bad reports whether something did not fit.
func (f *Form) Bad() bool { return f.bad }

// Len is how many bytes are left.
func (f *Form) Len() int { return len(f.rest) }

// Number reads what binary.AppendUvarint wrote.
func (f *Form) Number() uint64 {
	v, n := binary.Uvarint(f.rest)
	if n <= 0 {
		f.Fail()
		return 0
	}
	f.rest = f.rest[n:]
	return v
}

// AtMost is Number for one that may not be above most.
func (f *Form) AtMost(most uint64) uint64 {
	v := f.Number()
	if v > most {
		f.Fail()
		return 0
	}
	return v
}

// Signed reads what binary.AppendVarint wrote.
func (f *Form) Signed() int64 {
	v, n := binary.Varint(f.rest)
	if n <= 0 {
		f.Fail()
		return 0
	}
	f.rest = f.rest[n:]
	return v
}

// Text reads a length and as many bytes.
func (f *Form) Text() string {
	n := f.Number()
	if n > uint64(len(f.rest)) {
		f.Fail()
		return ""
	}
	s := string(f.rest[:n])
	f.rest = f.rest[n:]
	return s
}

// Byte reads one.
func (f *Form) Byte() byte {
	if len(f.rest) == 0 {
		f.Fail()
		return 0
	}
	v := f.rest[0]
	f.rest = f.rest[1:]
	return v
}

// Bits reads a byte of which only the lowest n bits may be set.
func (f *Form) Bits(n int) byte {
	v := f.Byte()
	if v>>n != 0 {
		f.Fail()
		return 0
	}
	return v
}

// End is an error unless all was there and nothing follows.
func (f *Form) End(what string) error {
	if f.bad || len(f.rest) > 0 {
		return Errorf(Invalid, "the binary form of %s is damaged", what)
	}
	return nil
}
