package mapreduce_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	. "github.com/millrace/millrace/mapreduce"
)

type (
	userID uint64
	name   string
	spot   struct{ X, Y int64 }
	place  struct{ X, Y int64 } // as spot, with another name
	span   struct{ From, To int64 }
)

func lines[K, V any]() Map { return Lines(func([]byte, func(K, V)) {}) }

func groups[K, V any]() Reduce { return Groups(func(K, iter.Seq[V], func(string, string)) {}) }

func combine[K, V, KO, VO any]() Reduce { return Groups(func(K, iter.Seq[V], func(KO, VO)) {}) }

func concat[V any](acc, _ V) V { return acc }

// plainMap is of the bytes core, and says nothing of its types.
var plainMap = Map{New: func(*Task) (Mapper, error) { return nil, nil }}

var plainReduce = Reduce{New: func(*Task) (Reducer, error) { return nil, nil }}

// TestTypesAreComparedBeforeAnythingRuns: what emits pairs and what takes them agree on the types, or the job is refused with both names and the place.
func TestTypesAreComparedBeforeAnythingRuns(t *testing.T) {
	two := func(a, b Map) []Input {
		return []Input{{Paths: []string{"a.csv"}, Map: a}, {Name: "users", Paths: []string{"b"}, Map: b}}
	}
	for what, tt := range map[string]struct {
		job  Job
		want string // "" if it may run
	}{
		"uint64 as int64":          {Job{Map: lines[string, uint64](), Reduce: groups[string, int64]()}, "the map emits uint64 values, the reduce takes int64: "},
		"float64 as int64":         {Job{Map: lines[string, float64](), Reduce: groups[string, int64]()}, "the map emits float64 values, the reduce takes int64: "},
		"int64 as float64":         {Job{Map: lines[string, int64](), Reduce: groups[string, float64]()}, "the map emits int64 values, the reduce takes float64: "},
		"float64 as float32":       {Job{Map: lines[string, float64](), Reduce: groups[string, float32]()}, "the map emits float64 values, the reduce takes float32: "},
		"int64 as int32":           {Job{Map: lines[string, int64](), Reduce: groups[string, int32]()}, "the map emits int64 values, the reduce takes int32: "},
		"keys":                     {Job{Map: lines[int64, string](), Reduce: groups[string, string]()}, "the map emits int64 keys, the reduce takes string: "},
		"structs":                  {Job{Map: lines[spot, string](), Reduce: groups[span, string]()}, "the map emits mapreduce_test.spot keys, the reduce takes mapreduce_test.span: "},
		"slices":                   {Job{Map: lines[string, []string](), Reduce: groups[string, []int64]()}, "emits []string values, the reduce takes []int64: "},
		"none as bytes":            {Job{Map: lines[string, None](), Reduce: groups[string, []byte]()}, "the map emits none values, the reduce takes bytes: "},
		"a named type of another":  {Job{Map: lines[userID, string](), Reduce: groups[int64, string]()}, "the map emits mapreduce_test.userID keys, the reduce takes int64: "},
		"combiner takes":           {Job{Map: lines[string, uint64](), Combine: combine[string, int64, string, int64]()}, "the map emits uint64 values, the combiner takes int64: "},
		"combiner gives":           {Job{Map: lines[string, int64](), Combine: combine[string, int64, string, string](), Reduce: groups[string, int64]()}, "the combiner emits string values, the combiner takes int64: "},
		"combiner to reduce":       {Job{Map: lines[string, int64](), Combine: Reduce{New: plainReduce.New, Value: Uint64}, Reduce: groups[string, int64]()}, "the combiner emits uint64 values, the reduce takes int64: "},
		"fold count to reduce":     {Job{Map: lines[string, string](), Fold: Count, Reduce: groups[string, string]()}, "the fold count, behind the map, emits int64 values, the reduce takes string: "},
		"fold of another type":     {Job{Map: lines[string, uint64](), Fold: FoldOf("last", concat[int64])}, "the map: fold last: values are uint64, it takes int64: "},
		"top 3 to reduce":          {Job{Map: lines[string, int64](), Fold: TopK(3), Reduce: groups[string, int64]()}, "the fold top-3, behind the map, emits list(int64) values, the reduce takes int64: "},
		"sum of text":              {Job{Map: lines[string, string](), Fold: Sum}, "the map: fold sum: values are string, must be numbers"},
		"undeclared":               {Job{Map: plainMap, Reduce: groups[string, int64]()}, "the map emits bytes values, the reduce takes int64: say in its Key and Value what it emits"},
		"second of two inputs":     {Job{Inputs: two(lines[string, int64](), lines[string, uint64]()), Reduce: groups[string, int64]()}, "the map of input users emits uint64 values, the reduce takes int64: "},
		"first of two inputs":      {Job{Inputs: two(lines[string, uint64](), lines[string, int64]()), Reduce: groups[string, int64]()}, "the map of input a.csv emits uint64 values, the reduce takes int64: "},
		"two inputs, no reduce":    {Job{Inputs: two(lines[string, int64](), lines[string, string]())}, "the map of input users emits string values, the map of input a.csv int64: without a Reduce both would be printed as int64"},
		"two keys under a fold":    {Job{Inputs: two(lines[string, int64](), lines[int64, int64]()), Fold: Sum}, "the fold sum, behind the map of input users, emits int64 keys, the fold sum, behind the map of input a.csv, string: without a Reduce"},
		"two numbers under a fold": {Job{Inputs: two(lines[string, int64](), lines[string, float64]()), Fold: Sum}, "emits float64 values, the fold sum, behind the map of input a.csv, int64: "},
		"types of one name":        {Job{Map: local1(), Reduce: local2()}, "the map emits struct{A int64} keys, the reduce takes struct{B string}: "},

		"the same":                     {Job{Map: lines[string, int64](), Reduce: groups[string, int64]()}, ""},
		"string and []byte":            {Job{Map: lines[[]byte, string](), Reduce: groups[string, []byte]()}, ""},
		"named and what it is made of": {Job{Map: lines[name, userID](), Reduce: groups[string, uint64]()}, ""},
		"int and int64":                {Job{Map: lines[int, int64](), Reduce: groups[int64, int]()}, ""},
		"narrower":                     {Job{Map: lines[uint8, float32](), Reduce: groups[int64, float64]()}, ""},
		"structs of the same fields":   {Job{Map: lines[spot, string](), Reduce: groups[place, string]()}, ""},
		"count of anything":            {Job{Map: lines[string, spot](), Fold: Count, Reduce: groups[string, int64]()}, ""},
		"bytes core takes anything":    {Job{Map: lines[spot, float64](), Reduce: plainReduce}, ""},
		"bytes core gives bytes":       {Job{Map: plainMap, Reduce: groups[string, []byte]()}, ""},
		"untyped combiner":             {Job{Map: lines[string, int64](), Combine: plainReduce, Reduce: groups[string, int64]()}, ""},
		"combiner of its own":          {Job{Map: lines[string, int64](), Combine: combine[string, int64, string, int64]()}, ""},
		"two inputs of one type":       {Job{Inputs: two(lines[string, int](), lines[[]byte, int64]()), Fold: Sum}, ""},
		"two inputs, untyped reduce":   {Job{Inputs: two(lines[string, int64](), lines[string, string]()), Reduce: plainReduce}, ""},
		"two inputs of a map-only job": {Job{Inputs: two(lines[string, int64](), lines[string, string]()), MapOnly: true}, ""},
		"a fold of the type it is for": {Job{Map: lines[string, string](), Fold: FoldOf("last", concat[string]), Reduce: groups[string, string]()}, ""},
		"a fold of narrower numbers":   {Job{Map: lines[string, int32](), Fold: FoldOf("last", concat[int64]), Reduce: groups[string, int64]()}, ""},
	} {
		tt.job.Output = "out"
		if len(tt.job.Inputs) == 0 {
			tt.job.Input = []string{"in"}
		}
		err := tt.job.Validate()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", what, err, tt.want)
		}
	}
}

func local1() Map {
	type key struct{ A int64 }
	return lines[key, string]()
}

func local2() Reduce {
	type key struct{ B string }
	return groups[key, string]()
}

// TestTypeErrorsAreFinal: another attempt would find the same.
func TestTypeErrorsAreFinal(t *testing.T) {
	job := Job{Input: []string{"in"}, Output: "out", Map: lines[string, uint64](), Reduce: groups[string, int64]()}
	if e, ok := errors.AsType[interface {
		error
		Final() bool
	}](job.Validate()); !ok || !e.Final() {
		t.Error(job.Validate())
	}
}
