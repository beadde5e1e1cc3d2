package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Fields writes fields to bytes, or reads them. One description of a record serves both, so that the two cannot
// differ. End returns the first error; fields after it are zero.
type Fields struct {
	Version byte // of the bytes; a description may depend on it
	maxText int
	reading bool
	from    Reader
	to      []byte
	err     error
}

// Write returns fields that append to b.
func Write(b []byte, version byte) Fields { return Fields{Version: version, to: b} }

// Read returns fields that read b, in which no text is longer than maxText.
func Read(b []byte, version byte, maxText int) Fields {
	return Fields{Version: version, maxText: maxText, reading: true, from: NewReader(b)}
}

// Reading reports whether fields are read.
func (f *Fields) Reading() bool { return f.reading }

// Written returns Write's bytes with the fields appended.
func (f *Fields) Written() []byte { return f.to }

// Fail records the first error.
func (f *Fields) Fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
	f.from.Fail()
}

// End returns the first error. Bytes behind the last field are an error, too.
func (f *Fields) End() error {
	if f.err == nil && f.from.Bad() {
		f.err = errors.New("ends in the middle of a field")
	}
	if f.err == nil && f.from.Len() > 0 {
		f.err = fmt.Errorf("has %d bytes behind its end", f.from.Len())
	}
	return f.err
}

// Uint codes a number in one to ten bytes.
func (f *Fields) Uint(v *uint64) {
	if f.reading {
		*v = f.from.Uint()
		return
	}
	f.to = binary.AppendUvarint(f.to, *v)
}

// Number codes any whole number; negative ones take ten bytes.
func Number[T ~int | ~int32 | ~int64 | ~uint64 | ~uint32 | ~uint16 | ~uint8](f *Fields, p *T) {
	v := uint64(*p)
	f.Uint(&v)
	if *p = T(v); uint64(*p) != v {
		f.Fail("has the number %d, which is out of range", v)
	}
}

// Int codes a number that may be negative; small ones of both signs take few bytes.
func (f *Fields) Int(v *int64) {
	if f.reading {
		*v = f.from.Int()
		return
	}
	f.to = binary.AppendVarint(f.to, *v)
}

// OneOf codes a value as its index in a list, in one byte.
func OneOf[T comparable](f *Fields, p *T, list []T) {
	i := byte(max(0, slices.Index(list, *p)))
	if f.Byte(&i); int(i) < len(list) {
		*p = list[i]
		return
	}
	f.Fail("has the value %d of a list of %d", i, len(list))
}

// Byte codes one byte.
func (f *Fields) Byte(p *byte) {
	if f.reading {
		*p = f.from.Byte()
		return
	}
	f.to = append(f.to, *p)
}

// Flags codes up to eight booleans in one byte, as AppendBits does.
func (f *Fields) Flags(list ...*bool) {
	var v byte
	for i, p := range list {
		if *p {
			v |= 1 << i
		}
	}
	f.Byte(&v)
	for i, p := range list {
		*p = v&(1<<i) != 0
	}
	if v>>len(list) != 0 {
		f.Fail("has an unknown flag")
	}
}

// Text codes a string.
func Text[T ~string](f *Fields, p *T) {
	if !f.reading {
		f.to = AppendText(f.to, *p)
		return
	}
	b := f.from.Bytes()
	if len(b) > f.maxText {
		f.Fail("has a text of %d bytes, where %d are allowed", len(b), f.maxText)
		b = nil
	}
	*p = T(b)
}

// PassText skips a string while reading.
func (f *Fields) PassText() {
	if n := len(f.from.Bytes()); n > f.maxText {
		f.Fail("has a text of %d bytes, where %d are allowed", n, f.maxText)
	}
}

// PassList skips a list while reading.
func (f *Fields) PassList(item func(f *Fields)) {
	for range f.from.Count() {
		item(f)
	}
}

// More reports whether there is anything left to read.
func (f *Fields) More() bool { return f.from.Len() > 0 }

// List codes the number of items, and each item. Every item takes at least one byte, so a reader never allocates
// more items than there are bytes.
func List[T any](f *Fields, p *[]T, item func(f *Fields, p *T)) {
	if !f.reading {
		f.to = binary.AppendUvarint(f.to, uint64(len(*p)))
	} else if n := f.from.Count(); n > 0 {
		*p = make([]T, n)
	} else {
		*p = nil
	}
	for i := range *p {
		item(f, &(*p)[i])
	}
}
