package mapreduce

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unsafe"
)

// orderedCodec encodes structs, arrays, slices, maps and pointers field by field, the unexported ones, too. The bytes
// sort as the fields do, the first one first, so no comparison has to decode anything.
//
// Integers and floats are big-endian in their own size, with the sign flipped. A bool is a byte. A string ends with
// 00 01, and 00 in it is written as 00 ff. A slice, map or pointer is 00 if it is nil, else 01 and what is in it: of a
// slice each element behind a 01, then 00; of a map its entries, likewise, by the bytes of their keys. No encoding is a
// prefix of another of its type.
type orderedCodec[T any] struct {
	*shape
	exported bool // JSON shows every field
}

// exported reports whether JSON shows every field.
func exported(t reflect.Type, inside ...reflect.Type) bool {
	if marshalsItself(t) || slices.Contains(inside, t) {
		return true
	}
	inside = append(inside, t)
	switch t.Kind() {
	case reflect.Array, reflect.Slice, reflect.Pointer:
		return exported(t.Elem(), inside...)
	case reflect.Map:
		return exported(t.Key(), inside...) && exported(t.Elem(), inside...)
	case reflect.Struct:
		for f := range t.Fields() {
			if !f.IsExported() || f.Tag.Get("json") == "-" || !exported(f.Type, inside...) {
				return false
			}
		}
	}
	return true
}

func (c orderedCodec[T]) TypeName() string { return reflect.TypeFor[T]().String() }

func (c orderedCodec[T]) Append(dst []byte, v T) []byte {
	return c.append(dst, unsafe.Pointer(&v), 0)
}

func (c orderedCodec[T]) Decode(src []byte) (v T, err error) {
	rest, err := c.decode(src, unsafe.Pointer(&v), 0)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("decode %s: %d bytes too many", c.TypeName(), len(rest))
	}
	return v, err
}

// AppendText appends the value as JSON, or as Go prints it if JSON would leave out fields or change text.
func (c orderedCodec[T]) AppendText(dst, encoded []byte) []byte {
	v, err := c.Decode(encoded)
	if err != nil {
		return strconv.AppendQuote(dst, string(encoded))
	}
	if c.exported {
		if b, err := marshalJSON(v); err == nil {
			return append(dst, b...)
		}
	}
	return fmt.Appendf(dst, "%+v", v)
}

// refusedCodec is the codec of a type that has none. Jobs with such a type are refused.
type refusedCodec[T any] struct{ why error }

func (refusedCodec[T]) TypeName() string               { return reflect.TypeFor[T]().String() }
func (c refusedCodec[T]) refused() error               { return c.why }
func (c refusedCodec[T]) Append([]byte, T) []byte      { panic("mapreduce: " + c.why.Error()) }
func (c refusedCodec[T]) Decode([]byte) (v T, _ error) { return v, c.why }

func (refusedCodec[T]) AppendText(dst, encoded []byte) []byte {
	return strconv.AppendQuote(dst, string(encoded))
}

func (l *leaf) append(dst []byte, at unsafe.Pointer) []byte {
	switch l.kind {
	case reflect.String:
		return appendEnded(dst, *(*string)(at))
	case reflect.Bool, reflect.Uint8:
		return append(dst, *(*uint8)(at))
	case reflect.Int8:
		return append(dst, *(*uint8)(at)^1<<7)
	case reflect.Uint16:
		return binary.BigEndian.AppendUint16(dst, *(*uint16)(at))
	case reflect.Int16:
		return binary.BigEndian.AppendUint16(dst, *(*uint16)(at)^1<<15)
	case reflect.Uint32:
		return binary.BigEndian.AppendUint32(dst, *(*uint32)(at))
	case reflect.Int32:
		return binary.BigEndian.AppendUint32(dst, *(*uint32)(at)^1<<31)
	case reflect.Float32:
		return binary.BigEndian.AppendUint32(dst, orderFloat32(math.Float32bits(float32(oneFloat(float64(*(*float32)(at)))))))
	case reflect.Int:
		return Int64.Append(dst, int64(*(*int)(at)))
	case reflect.Uint:
		return binary.BigEndian.AppendUint64(dst, uint64(*(*uint)(at)))
	case reflect.Int64:
		return Int64.Append(dst, *(*int64)(at))
	case reflect.Float64:
		return Float64.Append(dst, *(*float64)(at))
	}
	return binary.BigEndian.AppendUint64(dst, *(*uint64)(at))
}

func orderFloat32(u uint32) uint32 {
	if u&(1<<31) != 0 {
		return ^u
	}
	return u | 1<<31
}

func restoreFloat32(u uint32) uint32 {
	if u&(1<<31) != 0 {
		return u &^ (1 << 31)
	}
	return ^u
}

var errShort = errors.New("the bytes end in it")

// size returns how many bytes a leaf other than a string takes.
func (l *leaf) size() int {
	switch l.kind {
	case reflect.Bool, reflect.Uint8, reflect.Int8:
		return 1
	case reflect.Uint16, reflect.Int16:
		return 2
	case reflect.Uint32, reflect.Int32, reflect.Float32:
		return 4
	}
	return 8
}

func (l *leaf) decode(src []byte, at unsafe.Pointer) (rest []byte, err error) {
	if l.kind == reflect.String {
		*(*string)(at), rest, err = cutEnded(src)
		return rest, err
	}
	n := l.size()
	if len(src) < n {
		return nil, errShort
	}
	b, rest := src[:n], src[n:]
	switch n {
	case 1:
		err = l.decode8(b[0], at)
	case 2:
		*(*uint16)(at) = binary.BigEndian.Uint16(b) ^ uint16(l.sign()<<15)
	case 4:
		u := binary.BigEndian.Uint32(b)
		if l.kind == reflect.Float32 {
			*(*uint32)(at) = restoreFloat32(u)
		} else {
			*(*uint32)(at) = u ^ uint32(l.sign()<<31)
		}
	default:
		err = l.decode64(b, at)
	}
	return rest, err
}

// sign returns 1 for signed integers, else 0.
func (l *leaf) sign() uint64 {
	if l.kind >= reflect.Int && l.kind <= reflect.Int64 {
		return 1
	}
	return 0
}

func (l *leaf) decode8(b byte, at unsafe.Pointer) error {
	if l.kind == reflect.Bool && b > 1 {
		return fmt.Errorf("%d is no bool", b)
	}
	*(*uint8)(at) = b ^ uint8(l.sign()<<7)
	return nil
}

func (l *leaf) decode64(b []byte, at unsafe.Pointer) (err error) {
	u := binary.BigEndian.Uint64(b)
	switch l.kind {
	case reflect.Float64:
		*(*float64)(at), err = Float64.Decode(b)
	case reflect.Int:
		v := DecodeInt(u)
		if v != int64(int(v)) {
			return fmt.Errorf("%d is no int of this machine", v)
		}
		*(*int)(at) = int(v)
	case reflect.Uint:
		if u != uint64(uint(u)) {
			return fmt.Errorf("%d is no uint of this machine", u)
		}
		*(*uint)(at) = uint(u)
	default:
		*(*uint64)(at) = u ^ l.sign()<<63
	}
	return err
}

// appendEnded appends a string with a mark at its end, such that strings still sort as they do alone.
func appendEnded(dst []byte, s string) []byte {
	for i := range len(s) {
		if dst = append(dst, s[i]); s[i] == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 1)
}

// cutEnded is the inverse of appendEnded.
func cutEnded(src []byte) (s string, rest []byte, err error) {
	var text []byte // only if something must be left out
	for {
		i := bytes.IndexByte(src, 0)
		if i < 0 || i+1 == len(src) {
			return "", nil, errShort
		}
		switch src[i+1] {
		case 1:
			if text == nil {
				return string(src[:i]), src[i+2:], nil
			}
			return string(append(text, src[:i]...)), src[i+2:], nil
		case 0xff:
			text = append(text, src[:i+1]...)
			src = src[i+2:]
		default:
			return "", nil, fmt.Errorf("a string with 00 %02x in it", src[i+1])
		}
	}
}
