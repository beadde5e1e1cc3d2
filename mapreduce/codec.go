package mapreduce

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// A Type describes encoded bytes where the Go type is no longer known: at the
// output, in folds, in error messages.
type Type interface {
	// TypeName is a short name such as "int64".
	TypeName() string
	// AppendText appends the readable form of encoded bytes. It never fails:
	// bytes that do not decode are quoted.
	AppendText(dst, encoded []byte) []byte
}

// A Codec turns values of T into bytes and back. The bytes of a key codec should
// sort as the values do.
//
// Implementations must be usable by several goroutines at once.
type Codec[T any] interface {
	Type
	Append(dst []byte, v T) []byte
	// Decode may return a value that shares memory with src.
	Decode(src []byte) (T, error)
}

// None is the type of "no value": text output then has no tab and no value.
type None struct{}

// CodecFor returns the codec of T. []byte, string, the integers, the floats, bool, [None] and types made of one of
// them (type UserID uint32) have built-in codecs. A type uses its own where *T implements encoding.BinaryUnmarshaler
// and T encoding.BinaryMarshaler. Structs, arrays, slices, maps and pointers of these are encoded field by field, in
// order, whatever their names and tags. Types that marshal themselves to JSON or text use JSON. Interfaces, functions,
// channels and complex numbers have no encoding: [Job.Validate] refuses them with the field.
func CodecFor[T any]() Codec[T] {
	var zero T
	if c, ok := builtin(any(zero)).(Codec[T]); ok {
		return c
	}
	_, marshals := any(zero).(encoding.BinaryMarshaler)
	_, unmarshals := any(&zero).(encoding.BinaryUnmarshaler)
	if marshals && unmarshals {
		return ownCodec[T]{}
	}
	if c := codecByKind[T](); c != nil {
		return c
	}
	return JSON[T]{}
}

// builtin returns the built-in codec of a value's type, or nil.
func builtin(zero any) any {
	switch zero.(type) {
	case []byte:
		return Bytes
	case string:
		return String
	case None:
		return noneCodec{}
	case bool:
		return boolCodec{}
	case float32:
		return float32Codec{}
	case float64:
		return Float64
	}
	return builtinInt(zero)
}

func builtinInt(zero any) any {
	switch zero.(type) {
	case int:
		return intCodec[int]{}
	case int8:
		return intCodec[int8]{}
	case int16:
		return intCodec[int16]{}
	case int32:
		return intCodec[int32]{}
	case int64:
		return Int64
	case uint:
		return uintCodec{}
	case uint8:
		return intCodec[uint8]{}
	case uint16:
		return intCodec[uint16]{}
	case uint32:
		return intCodec[uint32]{}
	case uint64:
		return Uint64
	}
	return nil
}

// The built-in codecs.
var (
	Bytes   Codec[[]byte]  = bytesCodec{}   // as it is; sorts as bytes
	String  Codec[string]  = stringCodec{}  // as it is; sorts as bytes
	Int64   Codec[int64]   = int64Codec{}   // 8 bytes, big-endian, sign flipped; sorts as numbers
	Uint64  Codec[uint64]  = uint64Codec{}  // 8 bytes, big-endian; sorts as numbers
	Float64 Codec[float64] = float64Codec{} // 8 bytes; sorts as numbers; -0 is 0, and NaN, of which there is one, comes last
)

type bytesCodec struct{}

func (bytesCodec) TypeName() string                      { return "bytes" }
func (bytesCodec) Append(dst, v []byte) []byte           { return append(dst, v...) }
func (bytesCodec) Decode(src []byte) ([]byte, error)     { return src, nil }
func (bytesCodec) AppendText(dst, encoded []byte) []byte { return append(dst, encoded...) }

type stringCodec struct{ bytesCodec }

func (stringCodec) TypeName() string                   { return "string" }
func (stringCodec) Append(dst []byte, v string) []byte { return append(dst, v...) }
func (stringCodec) Decode(src []byte) (string, error)  { return string(src), nil }

const signBit = 1 << 63

// EncodeInt returns the order-keeping form of an integer: [Int64] as a number.
func EncodeInt(v int64) uint64 { return uint64(v) ^ signBit }

// DecodeInt is the inverse of [EncodeInt].
func DecodeInt(u uint64) int64 { return int64(u ^ signBit) }

type int64Codec struct{}

func (int64Codec) TypeName() string { return "int64" }
func (int64Codec) int64s()          {} // marks its encoding, for folds

func (int64Codec) Append(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, EncodeInt(v))
}

func (int64Codec) Decode(src []byte) (int64, error) {
	if len(src) != 8 {
		return 0, badLength("int64", src, 8)
	}
	return DecodeInt(binary.BigEndian.Uint64(src)), nil
}

func (c int64Codec) AppendText(dst, encoded []byte) []byte {
	v, err := c.Decode(encoded)
	if err != nil {
		return strconv.AppendQuote(dst, string(encoded))
	}
	return strconv.AppendInt(dst, v, 10)
}

// intCodec is the codec of the integers whose values all fit in an int64.
type intCodec[T int | int8 | int16 | int32 | uint8 | uint16 | uint32] struct{ int64Codec }

func (intCodec[T]) TypeName() string                { return fmt.Sprintf("%T", T(0)) }
func (c intCodec[T]) Append(dst []byte, v T) []byte { return c.int64Codec.Append(dst, int64(v)) }

func (c intCodec[T]) Decode(src []byte) (T, error) {
	v, err := c.int64Codec.Decode(src)
	if err == nil && v != int64(T(v)) {
		err = fmt.Errorf("%d is no %T", v, T(0))
	}
	return T(v), err
}

type uint64Codec struct{}

func (uint64Codec) TypeName() string { return "uint64" }

func (uint64Codec) Append(dst []byte, v uint64) []byte {
	return binary.BigEndian.AppendUint64(dst, v)
}

func (uint64Codec) Decode(src []byte) (uint64, error) {
	if len(src) != 8 {
		return 0, badLength("uint64", src, 8)
	}
	return binary.BigEndian.Uint64(src), nil
}

func (c uint64Codec) AppendText(dst, encoded []byte) []byte {
	v, err := c.Decode(encoded)
	if err != nil {
		return strconv.AppendQuote(dst, string(encoded))
	}
	return strconv.AppendUint(dst, v, 10)
}

type uintCodec struct{ uint64Codec }

func (uintCodec) TypeName() string                   { return "uint" }
func (c uintCodec) Append(dst []byte, v uint) []byte { return c.uint64Codec.Append(dst, uint64(v)) }

func (c uintCodec) Decode(src []byte) (uint, error) {
	v, err := c.uint64Codec.Decode(src)
	return uint(v), err
}

type float64Codec struct{}

func (float64Codec) TypeName() string { return "float64" }
func (float64Codec) float64s()        {}

func (float64Codec) Append(dst []byte, v float64) []byte {
	u := math.Float64bits(oneFloat(v))
	if u&signBit != 0 {
		u = ^u
	} else {
		u |= signBit
	}
	return binary.BigEndian.AppendUint64(dst, u)
}

// oneFloat returns the one form that is encoded of floats that are equal, and of all that are not a number.
func oneFloat(v float64) float64 {
	switch {
	case v == 0:
		return 0
	case v != v:
		return math.NaN()
	}
	return v
}

func (float64Codec) Decode(src []byte) (float64, error) {
	if len(src) != 8 {
		return 0, badLength("float64", src, 8)
	}
	u := binary.BigEndian.Uint64(src)
	if u&signBit != 0 {
		u &^= signBit
	} else {
		u = ^u
	}
	return math.Float64frombits(u), nil
}

func (c float64Codec) AppendText(dst, encoded []byte) []byte {
	v, err := c.Decode(encoded)
	if err != nil {
		return strconv.AppendQuote(dst, string(encoded))
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

type float32Codec struct{ float64Codec }

func (float32Codec) TypeName() string { return "float32" }
func (c float32Codec) Append(dst []byte, v float32) []byte {
	return c.float64Codec.Append(dst, float64(v))
}

func (c float32Codec) Decode(src []byte) (float32, error) {
	v, err := c.float64Codec.Decode(src)
	return float32(v), err
}

func (c float32Codec) AppendText(dst, encoded []byte) []byte {
	v, err := c.Decode(encoded)
	if err != nil {
		return strconv.AppendQuote(dst, string(encoded))
	}
	return strconv.AppendFloat(dst, float64(v), 'g', -1, 32)
}

type boolCodec struct{}

func (boolCodec) TypeName() string { return "bool" }

func (boolCodec) Append(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func (boolCodec) Decode(src []byte) (bool, error) {
	if len(src) != 1 {
		return false, badLength("bool", src, 1)
	}
	return src[0] != 0, nil
}

func (c boolCodec) AppendText(dst, encoded []byte) []byte {
	v, err := c.Decode(encoded)
	if err != nil {
		return strconv.AppendQuote(dst, string(encoded))
	}
	return strconv.AppendBool(dst, v)
}

type noneCodec struct{}

func (noneCodec) TypeName() string                 { return "none" }
func (noneCodec) Append(dst []byte, _ None) []byte { return dst }
func (noneCodec) AppendText(dst, _ []byte) []byte  { return dst }
func (noneCodec) Decode([]byte) (None, error)      { return None{}, nil }

func badLength(typ string, src []byte, want int) error {
	return fmt.Errorf("decode %s: have %d bytes, want %d", typ, len(src), want)
}
