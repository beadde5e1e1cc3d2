package mapreduce

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// encodingOf names how values of a type are encoded, and what the bytes mean: two types may take each other's bytes
// exactly if the names are equal, or one is narrower than the other (see fits). Types of which one is made of the
// other have the same name, and structs the names of their fields. Bytes of no declared type are plain bytes.
func encodingOf(t Type) string {
	switch e := t.(type) {
	case nil:
		return Bytes.TypeName()
	case interface{ encoding() string }:
		return e.encoding()
	}
	return t.TypeName()
}

func (bytesCodec) encoding() string         { return "bytes" }
func (int64Codec) encoding() string         { return "int64" }
func (intCodec[T]) encoding() string        { return kindEncoding(reflect.TypeFor[T]().Kind()) }
func (uint64Codec) encoding() string        { return "uint64" }
func (c namedCodec[T, B]) encoding() string { return encodingOf(c.of) }
func (orderedCodec[T]) encoding() string    { return layoutOf(reflect.TypeFor[T]()) }
func (ownCodec[T]) encoding() string        { return fullName(reflect.TypeFor[T]()) }
func (JSON[T]) encoding() string            { return "json " + layoutOf(reflect.TypeFor[T]()) }
func (t listType) encoding() string         { return "list(" + encodingOf(t.of) + ")" }

// narrower lists, for encodings of numbers, those whose values all are values of it in the same bytes.
var narrower = map[string][]string{
	"int64":   {"int32", "int16", "int8", "uint32", "uint16", "uint8"},
	"int32":   {"int16", "int8", "uint16", "uint8"},
	"int16":   {"int8", "uint8"},
	"uint32":  {"uint16", "uint8"},
	"uint16":  {"uint8"},
	"float64": {"float32"},
}

// fits reports whether bytes of one encoding can be taken as those of another.
func fits(given, taken string) bool {
	return given == taken || slices.Contains(narrower[taken], given)
}

// kindEncoding names a kind. The integers of a machine's size are encoded as the largest.
func kindEncoding(k reflect.Kind) string {
	switch k {
	case reflect.Int:
		return "int64"
	case reflect.Uint:
		return "uint64"
	}
	return k.String()
}

// layoutOf describes a type by what it is made of. Names of types count only where they marshal themselves, or
// contain themselves: two programs may call different structs main.visit.
func layoutOf(t reflect.Type) string {
	var b strings.Builder
	writeLayout(&b, t, nil)
	return b.String()
}

func writeLayout(b *strings.Builder, t reflect.Type, inside []reflect.Type) {
	if t.PkgPath() != "" && (marshalsItself(t) || slices.Contains(inside, t)) {
		b.WriteString(fullName(t))
		return
	}
	inside = append(inside, t)
	switch t.Kind() {
	case reflect.Struct:
		b.WriteString("struct{")
		for i := range t.NumField() {
			f := t.Field(i)
			if i > 0 {
				b.WriteString("; ")
			}
			b.WriteString(f.Name + " ")
			writeLayout(b, f.Type, inside)
		}
		b.WriteByte('}')
	case reflect.Array:
		b.WriteString("[" + strconv.Itoa(t.Len()) + "]")
		writeLayout(b, t.Elem(), inside)
	case reflect.Slice:
		b.WriteString("[]")
		writeLayout(b, t.Elem(), inside)
	case reflect.Pointer:
		b.WriteByte('*')
		writeLayout(b, t.Elem(), inside)
	case reflect.Map:
		b.WriteString("map[")
		writeLayout(b, t.Key(), inside)
		b.WriteByte(']')
		writeLayout(b, t.Elem(), inside)
	default:
		b.WriteString(kindEncoding(t.Kind()))
	}
}

// fullName is the name of a type with the path of its package.
func fullName(t reflect.Type) string {
	if t.PkgPath() == "" {
		return t.String()
	}
	return t.PkgPath() + "." + t.Name()
}
