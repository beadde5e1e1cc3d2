package local

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// TestWhatARunMayUse: what is not said has its default, what cannot be is refused by the name of its field, and the bounds themselves can be.
func TestWhatARunMayUse(t *testing.T) {
	for _, x := range []struct {
		cfg     Config
		field   string // "": it can be
		workers int
		timeout time.Duration
	}{
		{Config{}, "", runtime.GOMAXPROCS(0), DefaultTaskTimeout},
		{Config{Workers: 1, TaskTimeout: -1}, "", 1, -1},
		{Config{Workers: 1024, TaskTimeout: 1}, "", 1024, 1},
		{Config{Workers: 1025}, "Workers", 0, 0},
		{Config{Workers: -1}, "Workers", 0, 0},
		{Config{Memory: MinMemory - 1}, "Memory", 0, 0},
		{Config{Memory: MinMemory}, "", runtime.GOMAXPROCS(0), DefaultTaskTimeout},
		{Config{Sort: -1}, "Memory", 0, 0},
	} {
		got, err := x.cfg.withDefaults()
		r, newErr := New(x.cfg)
		if x.field != "" {
			f, ok := errors.AsType[*mapreduce.FieldError](err)
			if !ok || f.Field != x.field || newErr == nil || !strings.Contains(newErr.Error(), x.field) {
				t.Errorf("%+v: %v, %v", x.cfg, err, newErr)
			}
			if _, err := Run(t.Context(), x.cfg, mapreduce.Job{}); err == nil {
				t.Errorf("%+v: it runs", x.cfg)
			}
			continue
		}
		if err != nil || got.Workers != x.workers || got.TaskTimeout != x.timeout {
			t.Errorf("%+v: %d workers, %s, %v", x.cfg, got.Workers, got.TaskTimeout, err)
		}
		want := x.cfg.Memory
		if want == 0 {
			want = DefaultMemory
		}
		if newErr != nil || r.Budget().Total() != want {
			t.Errorf("%+v: a budget of %d, %v", x.cfg, r.Budget().Total(), newErr)
		}
	}
}

// TestLayout: a few splits for each worker, none smaller or larger than is good, for jobs that sort none larger than sorts in memory; one reduce for little
// input; and what the job says.
func TestLayout(t *testing.T) {
	r, err := New(Config{Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	sorts := r.cfg.budget.SortBytes() / 4 / 2
	if sorts < 8<<20 || sorts > 200<<20 {
		t.Fatalf("a sort has %d bytes: the test does not bite", sorts)
	}
	folds := mapreduce.Job{Fold: mapreduce.Sum}
	for _, x := range []struct {
		what     string
		job      mapreduce.Job
		bytes    int64
		split    int64
		reducers int
	}{
		{"nothing", folds, 0, minSplit, 1},
		{"little", folds, smallInput - 1, minSplit, 1},
		{"enough", folds, smallInput, minSplit, 4},
		{"four for each", folds, 16 * 100 << 20, 100 << 20, 4},
		{"much", folds, 1 << 40, maxSplit, 4},
		{"that sorts", mapreduce.Job{}, 1 << 40, sorts, 4},
		{"that sorts little", mapreduce.Job{}, 16 * 3 << 20, 3 << 20, 4},
		{"without reduces", mapreduce.Job{MapOnly: true}, 1 << 40, maxSplit, 4},
		{"as it says", mapreduce.Job{SplitBytes: 77, Reducers: 9}, 1 << 40, 77, 9},
		{"as it says of little", mapreduce.Job{SplitBytes: 77, Reducers: 9}, 5, 77, 9},
	} {
		if split, reducers := r.layout(&x.job, x.bytes); split != x.split || reducers != x.reducers {
			t.Errorf("%s: %d bytes and %d reduces, want %d and %d", x.what, split, reducers, x.split, x.reducers)
		}
	}
}

// TestFractions: how much of a phase is done is told by bytes where there are some, by tasks else, and never more than all.
func TestFractions(t *testing.T) {
	for p, want := range map[Progress]float64{
		{}:                                  0,
		{Phase: Finished}:                   1,
		{Phase: Mapping, Total: 4}:          0,
		{Phase: Mapping, Done: 1, Total: 4}: 0.25,
		{Phase: Mapping, Done: 1, Total: 4, Bytes: 3, TotalBytes: 6}: 0.5,
		{Phase: Mapping, Bytes: 7, TotalBytes: 6}:                    1,
		{Phase: Committing, Done: 1, Total: 1}:                       1,
		{Phase: Queued, Bytes: 5}:                                    0,
	} {
		if got := p.Fraction(); got != want {
			t.Errorf("%+v: %g, want %g", p, got, want)
		}
	}
	names := []string{"waits for the master", "queued", "plan", "map", "reduce", "commit", "done"}
	for i, want := range names {
		if got := Phase(i - 1).String(); got != want {
			t.Errorf("phase %d is called %q, want %q", i-1, got, want)
		}
	}
}

// TestCountsOfChains: what the first stage takes in and the last gives out counts, what is between them does not, and all else is summed; until the last has
// ended nothing is given out.
func TestCountsOfChains(t *testing.T) {
	stage := StageResult{Counts: mapreduce.Counts{
		mapreduce.TaskGroup: {mapreduce.MapInputBytes: 10, mapreduce.MapInputRecords: 1, mapreduce.OutputBytes: 7, mapreduce.OutputRecords: 2, mapreduce.ReduceOutputRecords: 2, mapreduce.Spills: 3},
		"own":               {mapreduce.MapInputBytes: 5},
	}}
	for _, x := range []struct {
		ended, stages        int
		in, out, spills, own int64
	}{
		{0, 2, 0, 0, 0, 0}, {1, 2, 10, 0, 3, 5}, {2, 2, 10, 7, 6, 10}, {1, 1, 10, 7, 3, 5}, {2, 3, 10, 0, 6, 10}, {3, 3, 10, 7, 9, 15},
	} {
		var list []StageResult
		for range x.ended {
			list = append(list, stage)
		}
		got := ChainCounts(list, x.stages)
		in, out := got.Get(mapreduce.TaskGroup, mapreduce.MapInputBytes), got.Get(mapreduce.TaskGroup, mapreduce.OutputBytes)
		if spills, own := got.Get(mapreduce.TaskGroup, mapreduce.Spills), got.Get("own", mapreduce.MapInputBytes); in != x.in || out != x.out || spills != x.spills || own != x.own {
			t.Errorf("%d of %d: in %d, out %d, spills %d, own %d; want %+v", x.ended, x.stages, in, out, spills, own, x)
		}
	}
	for name, want := range map[string]shuffle.Compression{"": shuffle.None, "s2": shuffle.S2, "none": shuffle.None} {
		if got, err := compressionOf(&mapreduce.Job{Compression: name}); got != want || err != nil {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	if _, err := compressionOf(&mapreduce.Job{Compression: "zip"}); err == nil {
		t.Error("a compression that nobody knows is taken")
	}
}
