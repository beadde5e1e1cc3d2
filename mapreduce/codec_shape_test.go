package mapreduce

import (
	"bytes"
	"iter"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// tree has of everything that needs more than numbers and strings, and contains itself.
type tree struct {
	name     string
	Tags     []string
	hidden   map[string]int64 `json:"-"`
	children []*tree
	Raw      []byte
}

var oak = tree{"oak\xff", []string{"", "a\x00b"}, map[string]int64{"b": 2, "a": -1}, []*tree{nil, {Tags: []string{}}}, []byte{0, 0xff}}

// comesBack wants a value to be what it was, field by field.
func comesBack[T any](t *testing.T, v T) {
	t.Helper()
	c := CodecFor[T]()
	got, err := c.Decode(c.Append(nil, v))
	if err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%s: %+v came back as %+v, %v", c.TypeName(), v, got, err)
	}
}

// TestNoFieldIsLeftOut: a value comes back as it was, with its unexported fields, those that a tag hides from JSON, and text that is not UTF-8.
func TestNoFieldIsLeftOut(t *testing.T) {
	comesBack(t, oak)
	comesBack(t, tree{})
	comesBack(t, []string{"\xff", "\xfe"})
	comesBack(t, []string(nil))
	comesBack(t, map[string][]float32{"a": {1, -2}, "b": nil})
	comesBack(t, &oak)
	comesBack(t, [2000][]int8{7: {1}})
	comesBack(t, struct {
		when time.Time
		n    big.Int
		Of   []time.Duration
	}{time.Unix(1, 2).UTC(), *big.NewInt(-7), []time.Duration{3}})
}

// TestDifferentKeysStayApart: users that differ in a field, or in bytes that are not UTF-8, are different keys.
func TestDifferentKeysStayApart(t *testing.T) {
	type user struct {
		id   int64
		Tags []string
	}
	type hidden struct {
		ID   int64 `json:"-"`
		Tags []string
	}
	apart(t, user{1, nil}, user{2, nil}, user{2, []string{}}, user{2, []string{"a"}}, user{3, nil})
	apart(t, hidden{1, nil}, hidden{2, nil})
	apart(t, []string{"\xfe"}, []string{"\xff"}, []string{"\ufffd"})
}

// apart wants different bytes and texts of values, the bytes in ascending order if they are keys of slices.
func apart[T any](t *testing.T, values ...T) {
	t.Helper()
	c := CodecFor[T]()
	bytesOf, texts := map[string]bool{}, map[string]bool{}
	for _, v := range values {
		b := c.Append(nil, v)
		bytesOf[string(b)], texts[string(c.AppendText(nil, b))] = true, true
	}
	if len(bytesOf) != len(values) || len(texts) < len(values)-1 { // nil and empty print alike in Go
		t.Errorf("%+v have %d encodings and the texts %v", values, len(bytesOf), texts)
	}
}

// TestSlicesSortAsTheirElements: the bytes of a slice sort as Go compares slices.
func TestSlicesSortAsTheirElements(t *testing.T) {
	c := CodecFor[[]int16]()
	all := [][]int16{nil, {}, {-5}, {-5, 0}, {-5, 1, 1}, {0}, {0, -1}, {300}}
	if !slices.IsSortedFunc(all, func(a, b []int16) int { return bytes.Compare(c.Append(nil, a), c.Append(nil, b)) }) {
		t.Error("slices are out of order")
	}
}

// TestTypesWithoutAnEncoding: a job with a type that cannot be encoded is refused by type and field, wherever the type is.
func TestTypesWithoutAnEncoding(t *testing.T) {
	type session struct {
		User string
		Done struct{ notify []chan int }
	}
	for want, job := range map[string]Job{
		"mapreduce.session.Done.notify[] is of type chan int, which has no encoding: ": {Map: Lines(func([]byte, func(string, session)) {})},
		"map[string]interface {}[] is of type interface {}":                            {Map: Lines(func([]byte, func(map[string]any, string)) {})},
		"func() is of type func()":                                                     {Map: Records(func(func(), string, func(string, string)) {}), MapOnly: true},
		"complex128 is of type complex128":                                             {Map: Lines(func([]byte, func(string, string)) {}), Reduce: Groups(func(string, iter.Seq[string], func(string, complex128)) {})},
	} {
		job.Input, job.Output = []string{"in"}, "out"
		if err := job.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestAValueThatContainsItself ends the attempt, not the process.
func TestAValueThatContainsItself(t *testing.T) {
	round := &tree{}
	round.children = []*tree{round}
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, "nested more than 1000 deep") {
			t.Error(said)
		}
	}()
	CodecFor[*tree]().Append(nil, round)
}

// spelled marshals itself to text.
type spelled string

func (s spelled) MarshalText() ([]byte, error) { return []byte(s), nil }

func (s *spelled) UnmarshalText(b []byte) error {
	*s = spelled(b)
	return nil
}

// TestTextThatJSONWouldChange: a type that marshals itself to text cannot have text that is not UTF-8, and says so; the same character that was meant is kept.
func TestTextThatJSONWouldChange(t *testing.T) {
	comesBack(t, spelled("\ufffd \\ufffd"))
	comesBack(t, []spelled{"a"})
	for _, encode := range []func(){
		func() { CodecFor[spelled]().Append(nil, "a\xff") },
		func() { CodecFor[[]spelled]().Append(nil, []spelled{"a\xff"}) },
	} {
		func() {
			defer func() {
				if said, _ := recover().(string); !strings.Contains(said, "mapreduce.spelled: it holds text that is not UTF-8") {
					t.Error(said)
				}
			}()
			encode()
			t.Error("it was encoded")
		}()
	}
}
