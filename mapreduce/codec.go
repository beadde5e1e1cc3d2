package mapreduce

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/json"
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

// CodecFor returns the codec of T: the built-in one for []byte, string, the
// integers, float64, bool and [None]; the type's own where *T implements
// encoding.BinaryUnmarshaler and T encoding.BinaryMarshaler; JSON otherwise.
func CodecFor[T any]() Codec[T] {
	var zero T
	switch any(zero).(type) {
	case []byte:
		return any(Bytes).(Codec[T])
	case string:
		return any(String).(Codec[T])
	case int64:
		return any(Int64).(Codec[T])
	case int:
		return any(intCodec{}).(Codec[T])
	case int32:
		return any(int32Codec{}).(Codec[T])
	case uint64:
		return any(Uint64).(Codec[T])
	case float64:
		return any(Float64).(Codec[T])
	case bool:
		return any(boolCodec{}).(Codec[T])
	case None:
		return any(noneCodec{}).(Codec[T])
	}
	_, marshals := any(zero).(encoding.BinaryMarshaler)
	_, unmarshals := any(&zero).(encoding.BinaryUnmarshaler)
	if marshals && unmarshals {
		return ownCodec[T]{}
	}
	return JSON[T]{}
}

// The built-in codecs.
var (
	Bytes   Codec[[]byte]  = bytesCodec{}   // as it is; sorts as bytes
	String  Codec[string]  = stringCodec{}  // as it is; sorts as bytes
	Int64   Codec[int64]   = int64Codec{}   // 8 bytes, big-endian, sign flipped; sorts as numbers
	Uint64  Codec[uint64]  = uint64Codec{}  // 8 bytes, big-endian; sorts as numbers
	Float64 Codec[float64] = float64Codec{} // 8 bytes; sorts as numbers, -0 before 0, NaN at the ends
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

// EncodeInt is the order-keeping form of an integer: [Int64] as a number.
func EncodeInt(v int64) uint64 { return uint64(v) ^ signBit }

// DecodeInt is the inverse of [EncodeInt].
func DecodeInt(u uint64) int64 { return int64(u ^ signBit) }

type int64Codec struct{}

func (int64Codec) TypeName() string { return "int64" }

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

type intCodec struct{ int64Codec }

func (intCodec) TypeName() string                  { return "int" }
func (c intCodec) Append(dst []byte, v int) []byte { return c.int64Codec.Append(dst, int64(v)) }

func (c intCodec) Decode(src []byte) (int, error) {
	v, err := c.int64Codec.Decode(src)
	return int(v), err
}

type int32Codec struct{ int64Codec }

func (int32Codec) TypeName() string                    { return "int32" }
func (c int32Codec) Append(dst []byte, v int32) []byte { return c.int64Codec.Append(dst, int64(v)) }

func (c int32Codec) Decode(src []byte) (int32, error) {
	v, err := c.int64Codec.Decode(src)
	if err == nil && v != int64(int32(v)) {
		err = fmt.Errorf("%d is no int32", v)
	}
	return int32(v), err
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

type float64Codec struct{}

func (float64Codec) TypeName() string { return "float64" }

func (float64Codec) Append(dst []byte, v float64) []byte {
	u := math.Float64bits(v)
	if u&signBit != 0 {
		u = ^u
	} else {
		u |= signBit
	}
	return binary.BigEndian.AppendUint64(dst, u)
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

// JSON encodes T as compact JSON. Keys encoded so sort as their JSON text does.
type JSON[T any] struct{}

// TypeName names the Go type.
func (JSON[T]) TypeName() string { var v T; return fmt.Sprintf("json(%T)", v) }

// Append appends the JSON of v. A value that JSON cannot express is a mistake in
// the program and panics, which fails the attempt with the stack.
func (JSON[T]) Append(dst []byte, v T) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("mapreduce: encode %T: %v", v, err))
	}
	return append(dst, b...)
}

// Decode parses JSON.
func (JSON[T]) Decode(src []byte) (v T, err error) {
	if err = json.Unmarshal(src, &v); err != nil {
		err = fmt.Errorf("decode %T: %w", v, err)
	}
	return v, err
}

// AppendText appends the JSON text.
func (JSON[T]) AppendText(dst, encoded []byte) []byte { return append(dst, encoded...) }

// ownCodec serves types that marshal themselves.
type ownCodec[T any] struct{}

func (ownCodec[T]) TypeName() string { var v T; return fmt.Sprintf("%T", v) }

func (ownCodec[T]) Append(dst []byte, v T) []byte {
	b, err := any(v).(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		panic(fmt.Sprintf("mapreduce: encode %T: %v", v, err))
	}
	return append(dst, b...)
}

func (ownCodec[T]) Decode(src []byte) (v T, err error) {
	if err = any(&v).(encoding.BinaryUnmarshaler).UnmarshalBinary(bytes.Clone(src)); err != nil {
		err = fmt.Errorf("decode %T: %w", v, err)
	}
	return v, err
}

func (c ownCodec[T]) AppendText(dst, encoded []byte) []byte {
	v, err := c.Decode(encoded)
	if err != nil {
		return strconv.AppendQuote(dst, string(encoded))
	}
	return fmt.Append(dst, v)
}

func badLength(typ string, src []byte, want int) error {
	return fmt.Errorf("decode %s: have %d bytes, want %d", typ, len(src), want)
}
