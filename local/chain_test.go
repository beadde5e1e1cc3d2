package local_test

import (
	"testing"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// TestChainCounts: a chain has read what its first stage read and written what its last one wrote.
func TestChainCounts(t *testing.T) {
	b := newBed(t)
	in := b.write("in", "a b c\na b\na\n")
	first := wordCount(in, "fold")
	second := mapreduce.Job{Name: "lengths", Map: mapreduce.Lines(func(line []byte, emit func([]byte, int64)) { emit([]byte("lines"), 1) }), Fold: mapreduce.Sum}
	res, err := b.run(local.Config{}, first, second)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{
		mapreduce.MapInputRecords: 3, mapreduce.MapInputBytes: 12, mapreduce.MapOutputRecords: 6 + 3, mapreduce.ReduceInputGroups: 3 + 1,
		mapreduce.OutputRecords: 1, mapreduce.OutputBytes: 8, mapreduce.ReduceOutputRecords: 1,
	} {
		if got := res.Counts.Get(mapreduce.TaskGroup, name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	for i, want := range []int64{3, 1} {
		if got := res.Stages[i].Counts.Get(mapreduce.TaskGroup, mapreduce.OutputRecords); got != want {
			t.Errorf("stage %d wrote %d records, want %d", i, got, want)
		}
	}
	b.take()

	// Of a chain that failed in its second stage there is an input and no output.
	second.Map, second.Fold, second.MapOnly = mapper(explodingMapper{true}), mapreduce.Fold{}, true
	second.MaxAttempts = 1
	res, err = b.run(local.Config{}, first, second)
	if err == nil {
		t.Fatal("the chain ran")
	}
	if in, out := res.Counts.Get(mapreduce.TaskGroup, mapreduce.MapInputRecords), res.Counts.Get(mapreduce.TaskGroup, mapreduce.OutputRecords); in != 3 || out != 0 {
		t.Errorf("read %d records and wrote %d, want 3 and 0", in, out)
	}
}
