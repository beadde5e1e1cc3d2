package mapreduce

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"strconv"
)

// JSON encodes T as compact JSON. Keys encoded so sort as their JSON text does.
type JSON[T any] struct{}

// TypeName names the Go type.
func (JSON[T]) TypeName() string { var v T; return fmt.Sprintf("json(%T)", v) }

// Append appends the JSON of v. A value that JSON cannot express is a mistake in
// the program and panics, which fails the attempt with the stack. So does text
// that is not UTF-8, of which JSON would make something else.
func (JSON[T]) Append(dst []byte, v T) []byte {
	b, err := marshalJSON(v)
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
