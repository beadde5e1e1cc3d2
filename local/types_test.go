package local_test

import (
	"iter"
	"strings"
	"testing"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// lengths gives each line's length in a type.
func lengths[V int64 | uint64 | float64]() mapreduce.Map {
	return mapreduce.Lines(func(line []byte, emit func(string, V)) { emit(string(line), V(len(line))) })
}

// TestRecordsOfAnotherType: what one job wrote with RecordOutput is not read as another type, neither in a chain nor by another job.
func TestRecordsOfAnotherType(t *testing.T) {
	b := newBed(t)
	first := mapreduce.Job{Name: "first", Input: []string{b.write("in", "a\nbb\n")}, Map: lengths[uint64](), MapOnly: true}
	wrong := mapreduce.Job{Name: "second", MapOnly: true, Map: mapreduce.Records(func(line string, n int64, emit func(string, int64)) { emit(line, n) })}
	b.fails(local.Config{}, []string{`job "first": the map emits uint64 values, the map of job "second" takes int64: use one type for both`}, first, wrong)

	first.Format = mapreduce.RecordOutput
	if _, err := b.run(local.Config{}, first); err != nil {
		t.Fatal(err)
	}
	records := b.out
	b.out = b.dir + "/second"
	wrong.Input = []string{records}
	res, _ := b.fails(local.Config{}, []string{"part-m-00000 holds values of type uint64, the map takes int64: read it with the types that it was written with"}, wrong)
	if res.Retries != 0 {
		t.Errorf("it was tried %d times again", res.Retries)
	}
	right := mapreduce.Job{Input: wrong.Input, Map: mapreduce.Records(func(line string, n uint64, emit func(string, uint64)) { emit(line, n) })}
	if got := b.ok(local.Config{}, right); got != "a\t1\nbb\t2\n" {
		t.Errorf("read %q", got)
	}
}

// TestEachInputPrintsInItsOwnTypes: a map-only job with several inputs writes the pairs of each as what they are.
func TestEachInputPrintsInItsOwnTypes(t *testing.T) {
	b := newBed(t)
	got := b.ok(local.Config{}, mapreduce.Job{MapOnly: true, Inputs: []mapreduce.Input{
		{Paths: []string{b.write("left", "a\n")}, Map: lengths[int64]()},
		{Paths: []string{b.write("right", "bb\n")}, Map: lengths[float64]()},
		{Paths: []string{b.write("third", "ccc\n")}, Map: mapreduce.Lines(func(line []byte, emit func([]byte, string)) { emit(line, "x") })},
	}})
	if got != "a\t1\nbb\t2\nccc\tx\n" {
		t.Errorf("wrote %q", got)
	}
}

// TestWrongTypesRunNothing: the job is refused before user code is called.
func TestWrongTypesRunNothing(t *testing.T) {
	b := newBed(t)
	called := false
	job := mapreduce.Job{
		Input: []string{b.write("in", strings.Repeat("a\n", 1000))},
		Map: mapreduce.Lines(func(line []byte, emit func(string, uint64)) {
			called = true
			emit(string(line), 1)
		}),
		Reduce: mapreduce.Groups(func(word string, ns iter.Seq[int64], emit func(string, int64)) {}),
	}
	if b.fails(local.Config{}, []string{"the map emits uint64 values, the reduce takes int64"}, job); called {
		t.Error("the map was called")
	}
}
