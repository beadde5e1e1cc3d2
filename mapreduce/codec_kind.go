package mapreduce

import (
	"encoding"
	"encoding/json"
	"reflect"
	"unsafe"
)

// codecByKind returns the codec of types made of a built-in one, and of structs and others in order, or nil for types
// that marshal themselves.
func codecByKind[T any]() Codec[T] {
	t := reflect.TypeFor[T]()
	if marshalsItself(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		return named[T](String)
	case reflect.Bool:
		return named[T](boolCodec{})
	case reflect.Float32:
		return named[T](float32Codec{})
	case reflect.Float64:
		return named[T](Float64)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return named[T](Bytes)
		}
	}
	if c := namedInt[T](t.Kind()); c != nil {
		return c
	}
	s, err := shapes{}.of(t, t.String())
	if err != nil {
		return refusedCodec[T]{err}
	}
	return orderedCodec[T]{s, exported(t)}
}

func namedInt[T any](kind reflect.Kind) Codec[T] {
	switch kind {
	case reflect.Int:
		return named[T](intCodec[int]{})
	case reflect.Int8:
		return named[T](intCodec[int8]{})
	case reflect.Int16:
		return named[T](intCodec[int16]{})
	case reflect.Int32:
		return named[T](intCodec[int32]{})
	case reflect.Int64:
		return named[T](Int64)
	case reflect.Uint:
		return named[T](uintCodec{})
	case reflect.Uint8:
		return named[T](intCodec[uint8]{})
	case reflect.Uint16:
		return named[T](intCodec[uint16]{})
	case reflect.Uint32:
		return named[T](intCodec[uint32]{})
	case reflect.Uint64:
		return named[T](Uint64)
	}
	return nil
}

// marshalers are the interfaces by which a type marshals itself.
var marshalers = []reflect.Type{
	reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[json.Marshaler](),
	reflect.TypeFor[encoding.BinaryUnmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](), reflect.TypeFor[json.Unmarshaler](),
}

func marshalsItself(t reflect.Type) bool {
	for _, m := range marshalers {
		if reflect.PointerTo(t).Implements(m) {
			return true
		}
	}
	return false
}

// namedCodec encodes T as the built-in type B of which it is made.
type namedCodec[T, B any] struct{ of Codec[B] }

// named needs a T whose underlying type is B's.
func named[T, B any](of Codec[B]) Codec[T] { return namedCodec[T, B]{of} }

func (c namedCodec[T, B]) TypeName() string { return reflect.TypeFor[T]().String() }
func (c namedCodec[T, B]) plain() Type      { return c.of }

func (c namedCodec[T, B]) Append(dst []byte, v T) []byte {
	return c.of.Append(dst, *(*B)(unsafe.Pointer(&v)))
}

func (c namedCodec[T, B]) Decode(src []byte) (T, error) {
	v, err := c.of.Decode(src)
	return *(*T)(unsafe.Pointer(&v)), err
}

func (c namedCodec[T, B]) AppendText(dst, encoded []byte) []byte {
	return c.of.AppendText(dst, encoded)
}
