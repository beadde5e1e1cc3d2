package mapreduce

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// A shape is how values of a type are encoded: their leaves one after another.
type shape struct{ leaves []leaf }

// leaf is a number, string or bool somewhere in a value, or what is encoded by a part of its own.
type leaf struct {
	offset uintptr
	kind   reflect.Kind
	name   string // for errors
	part   inner  // of slices, maps, pointers, large arrays and types that marshal themselves
}

// An inner encodes what is not a number, string or bool. No encoding is a prefix of another of its type.
type inner interface {
	append(dst []byte, at unsafe.Pointer, depth int) []byte
	decode(src []byte, at unsafe.Pointer, depth int) (rest []byte, err error)
}

const (
	// maxLeaves bounds the leaves of an array that are listed one by one.
	maxLeaves = 1024
	// maxDepth bounds how deep slices, maps and pointers are in each other, since a pointer may lead to itself.
	maxDepth = 1000
)

// Marks of slices, maps and pointers. A slice that is nil differs from one without elements, as in JSON.
const (
	absent  = 0 // nil, or the end
	present = 1 // not nil, or another element
)

// shapes makes the shapes of types that may contain themselves.
type shapes map[reflect.Type]*shape

// of returns the shape of a type, or an error that names the field that has none.
func (s shapes) of(t reflect.Type, name string) (*shape, error) {
	if known := s[t]; known != nil {
		return known, nil
	}
	made := &shape{}
	s[t] = made
	return made, s.add(made, t, 0, name)
}

func (s shapes) add(to *shape, t reflect.Type, offset uintptr, name string) error {
	part, err := s.part(t, name)
	switch kind := t.Kind(); {
	case err != nil:
		return err
	case part != nil:
		to.leaves = append(to.leaves, leaf{offset, kind, name, part})
		return nil
	case kind == reflect.Struct:
		for f := range t.Fields() {
			if err := s.add(to, f.Type, offset+f.Offset, name+"."+f.Name); err != nil {
				return err
			}
		}
		return nil
	case kind == reflect.Array:
		return s.addArray(to, t, offset, name)
	case kind == reflect.String, kind >= reflect.Bool && kind <= reflect.Float64 && kind != reflect.Uintptr:
		to.leaves = append(to.leaves, leaf{offset, kind, name, nil})
		return nil
	}
	return fmt.Errorf("%s is of type %s, which has no encoding: leave it out, use another type, or give it or what it is in the methods MarshalBinary and UnmarshalBinary", name, t)
}

// addArray lists the leaves of a small array, so that none of them needs a call.
func (s shapes) addArray(to *shape, t reflect.Type, offset uintptr, name string) error {
	elem, err := s.of(t.Elem(), name)
	if err != nil {
		return err
	}
	size := t.Elem().Size()
	if len(elem.leaves)*t.Len() > maxLeaves {
		to.leaves = append(to.leaves, leaf{offset, reflect.Array, name, arrayPart{t.Len(), size, elem}})
		return nil
	}
	for i := range t.Len() {
		for _, l := range elem.leaves {
			l.offset += offset + uintptr(i)*size
			to.leaves = append(to.leaves, l)
		}
	}
	return nil
}

// part returns what encodes a type that needs more than leaves, or nil.
func (s shapes) part(t reflect.Type, name string) (inner, error) {
	if marshalsItself(t) && t.Kind() != reflect.Interface {
		return ownPart{t}, nil
	}
	switch t.Kind() {
	case reflect.Slice:
		elem, err := s.of(t.Elem(), name+"[]")
		return slicePart{t, elem}, err
	case reflect.Pointer:
		elem, err := s.of(t.Elem(), name)
		return pointerPart{t.Elem(), elem}, err
	case reflect.Map:
		key, err := s.of(t.Key(), name+"[key]")
		if err != nil {
			return nil, err
		}
		elem, err := s.of(t.Elem(), name+"[]")
		return mapPart{t, key, elem}, err
	}
	return nil, nil //nolint:nilnil // leaves are enough
}

func (s *shape) append(dst []byte, at unsafe.Pointer, depth int) []byte {
	if depth > maxDepth {
		panic(fmt.Sprintf("mapreduce: a value is nested more than %d deep: does it contain itself?", maxDepth))
	}
	for i := range s.leaves {
		l := &s.leaves[i]
		if p := unsafe.Add(at, l.offset); l.part == nil {
			dst = l.append(dst, p)
		} else {
			dst = l.part.append(dst, p, depth+1)
		}
	}
	return dst
}

func (s *shape) decode(src []byte, at unsafe.Pointer, depth int) (rest []byte, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	rest = src
	for i := range s.leaves {
		l := &s.leaves[i]
		if p := unsafe.Add(at, l.offset); l.part == nil {
			rest, err = l.decode(rest, p)
		} else {
			rest, err = l.part.decode(rest, p, depth+1)
		}
		if err != nil {
			return nil, l.named(err)
		}
	}
	return rest, nil
}

// named adds the innermost place to an error.
func (l *leaf) named(err error) error {
	if _, ok := errors.AsType[*leafError](err); ok {
		return err
	}
	return &leafError{l.name, err}
}

type leafError struct {
	name string
	err  error
}

func (e *leafError) Error() string { return fmt.Sprintf("decode %s: %v", e.name, e.err) }
func (e *leafError) Unwrap() error { return e.err }

// mark reads whether something is there.
func mark(src []byte) (there bool, rest []byte, err error) {
	switch {
	case len(src) == 0:
		return false, nil, errShort
	case src[0] > present:
		return false, nil, fmt.Errorf("%02x where 00 or 01 belongs", src[0])
	}
	return src[0] == present, src[1:], nil
}

type arrayPart struct {
	n    int
	size uintptr
	elem *shape
}

func (p arrayPart) append(dst []byte, at unsafe.Pointer, depth int) []byte {
	for i := range p.n {
		dst = p.elem.append(dst, unsafe.Add(at, uintptr(i)*p.size), depth)
	}
	return dst
}

func (p arrayPart) decode(src []byte, at unsafe.Pointer, depth int) (_ []byte, err error) {
	for i := range p.n {
		if src, err = p.elem.decode(src, unsafe.Add(at, uintptr(i)*p.size), depth); err != nil {
			return nil, err
		}
	}
	return src, nil
}

type slicePart struct {
	t    reflect.Type
	elem *shape
}

func (p slicePart) append(dst []byte, at unsafe.Pointer, depth int) []byte {
	v := reflect.NewAt(p.t, at).Elem()
	if v.IsNil() {
		return append(dst, absent)
	}
	if dst = append(dst, present); p.t.Elem().Kind() == reflect.Uint8 {
		return appendEnded(dst, unsafe.String((*byte)(v.UnsafePointer()), v.Len()))
	}
	for i := range v.Len() {
		dst = p.elem.append(append(dst, present), v.Index(i).Addr().UnsafePointer(), depth)
	}
	return append(dst, absent)
}

func (p slicePart) decode(src []byte, at unsafe.Pointer, depth int) ([]byte, error) {
	v := reflect.NewAt(p.t, at).Elem()
	there, src, err := mark(src)
	if err != nil || !there {
		return src, err
	}
	if p.t.Elem().Kind() == reflect.Uint8 {
		s, rest, err := cutEnded(src)
		v.SetBytes([]byte(s))
		return rest, err
	}
	v.Set(reflect.MakeSlice(p.t, 0, 0))
	zero := reflect.Zero(p.t.Elem())
	for {
		if there, src, err = mark(src); err != nil || !there {
			return src, err
		}
		v.Set(reflect.Append(v, zero))
		if src, err = p.elem.decode(src, v.Index(v.Len()-1).Addr().UnsafePointer(), depth); err != nil {
			return nil, err
		}
	}
}

type pointerPart struct {
	t    reflect.Type // of what it points to
	elem *shape
}

func (p pointerPart) append(dst []byte, at unsafe.Pointer, depth int) []byte {
	to := *(*unsafe.Pointer)(at)
	if to == nil {
		return append(dst, absent)
	}
	return p.elem.append(append(dst, present), to, depth)
}

func (p pointerPart) decode(src []byte, at unsafe.Pointer, depth int) ([]byte, error) {
	there, src, err := mark(src)
	if err != nil || !there {
		return src, err
	}
	to := reflect.New(p.t).UnsafePointer()
	*(*unsafe.Pointer)(at) = to
	return p.elem.decode(src, to, depth)
}

// mapPart encodes the entries of a map in the order of their keys' bytes.
type mapPart struct {
	t         reflect.Type
	key, elem *shape
}

func (p mapPart) append(dst []byte, at unsafe.Pointer, depth int) []byte {
	v := reflect.NewAt(p.t, at).Elem()
	if v.IsNil() {
		return append(dst, absent)
	}
	key, elem := reflect.New(p.t.Key()), reflect.New(p.t.Elem())
	var entries [][]byte
	for it := v.MapRange(); it.Next(); {
		key.Elem().Set(it.Key())
		elem.Elem().Set(it.Value())
		e := p.key.append(nil, key.UnsafePointer(), depth)
		entries = append(entries, p.elem.append(e, elem.UnsafePointer(), depth))
	}
	slices.SortFunc(entries, bytes.Compare)
	dst = append(dst, present)
	for _, e := range entries {
		dst = append(append(dst, present), e...)
	}
	return append(dst, absent)
}

func (p mapPart) decode(src []byte, at unsafe.Pointer, depth int) ([]byte, error) {
	v := reflect.NewAt(p.t, at).Elem()
	there, src, err := mark(src)
	if err != nil || !there {
		return src, err
	}
	v.Set(reflect.MakeMap(p.t))
	for last := []byte(nil); ; {
		if there, src, err = mark(src); err != nil || !there {
			return src, err
		}
		key, elem := reflect.New(p.t.Key()), reflect.New(p.t.Elem())
		rest, err := p.key.decode(src, key.UnsafePointer(), depth)
		if err != nil {
			return nil, err
		}
		if now := src[:len(src)-len(rest)]; last != nil && bytes.Compare(last, now) >= 0 {
			return nil, errors.New("keys of a map are out of order")
		} else {
			last = now
		}
		if src, err = p.elem.decode(rest, elem.UnsafePointer(), depth); err != nil {
			return nil, err
		}
		v.SetMapIndex(key.Elem(), elem.Elem())
	}
}

// ownPart is what marshals itself: to bytes or, if it cannot, to JSON or text.
type ownPart struct{ t reflect.Type }

func (p ownPart) append(dst []byte, at unsafe.Pointer, _ int) []byte {
	v := reflect.NewAt(p.t, at).Interface()
	var b []byte
	var err error
	if m, ok := v.(encoding.BinaryMarshaler); ok && p.binary() {
		b, err = m.MarshalBinary()
	} else {
		b, err = marshalJSON(v)
	}
	if err != nil {
		panic(fmt.Sprintf("mapreduce: encode %s: %v", p.t, err))
	}
	return appendEnded(dst, string(b))
}

func (p ownPart) binary() bool {
	pointer := reflect.PointerTo(p.t)
	return pointer.Implements(marshalers[0]) && pointer.Implements(marshalers[3])
}

func (p ownPart) decode(src []byte, at unsafe.Pointer, _ int) ([]byte, error) {
	s, rest, err := cutEnded(src)
	if err != nil {
		return nil, err
	}
	v := reflect.NewAt(p.t, at).Interface()
	if u, ok := v.(encoding.BinaryUnmarshaler); ok && p.binary() {
		return rest, u.UnmarshalBinary([]byte(s))
	}
	return rest, json.Unmarshal([]byte(s), v)
}

// errNotUTF8 is the error for text that JSON would change.
var errNotUTF8 = errors.New("it holds text that is not UTF-8, which JSON cannot say: give its type MarshalBinary and UnmarshalBinary")

// marshalJSON refuses text that JSON would change: bytes that are not UTF-8 would all become the same character, and
// different keys the same key.
func marshalJSON(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err == nil && replaced(b) {
		err = errNotUTF8
	}
	return b, err
}

// replaced reports whether JSON has a character that stands for bytes that are not UTF-8. The same character is
// written as it is where it was meant.
func replaced(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(b[i:], []byte(`\ufffd`)) {
			return true
		}
		i++ // the escaped character
	}
	return false
}
