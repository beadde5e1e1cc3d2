package shuffle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// blockIntake takes three segments into blocks, of frames as a writer with a pool of so many bytes makes them: some fit a block and some do not.
func blockIntake(t *testing.T, writer int64, value int) (*Intake, []pair) {
	t.Helper()
	dir, pool := t.TempDir(), NewPool(2*minBudget)
	in := newTestIntake(t, dir, pool, 2*minBudget-(8<<10), nil)
	var all []pair
	for i := range 3 {
		var list []pair
		for j := range 100 << 10 / (value + 20) {
			list = append(list, pair{fmt.Sprintf("%05d", (j*7919+i)%10000), strings.Repeat(string(rune('a'+i)), value) + fmt.Sprint(j)})
		}
		all = append(all, list...)
		cfg := Config{Dir: dir, Name: fmt.Sprintf("map-%03d", i), Pool: NewPool(writer), Partitions: 1, Compression: None}
		seg := segmentOf(t, collect(t, cfg, list), cfg.Name, 0, nil)
		seg.Map = i
		if err := in.Take(t.Context(), seg); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(all, comparePairs)
	used := int64(0)
	for _, s := range in.memory {
		if !s.room.inBlocks || s.room.used > s.room.bytes || s.room.used < s.bytes {
			t.Errorf("a segment of %d bytes has %+v", s.bytes, s.room)
		}
		used += s.room.used
	}
	if len(in.memory) != 3 || pool.InUse() < used {
		t.Errorf("%d segments in memory, %d bytes are in use of %d that are held", len(in.memory), pool.InUse(), used)
	}
	return in, all
}

// TestIntakeInBlocks: large segments are kept in blocks of the pool, which are counted, whatever size frames have, and come back.
func TestIntakeInBlocks(t *testing.T) {
	for _, writer := range []int64{minBudget, 2 << 20, 8 << 20} {
		for _, value := range []int{50, 3000, 9000} {
			t.Run(fmt.Sprintf("writer=%d,value=%d", writer, value), func(t *testing.T) {
				in, want := blockIntake(t, writer, value)
				run, err := in.Merge()
				if err != nil {
					t.Fatal(err)
				}
				got := drain(t, run)
				slices.SortFunc(got, comparePairs)
				wantPairs(t, "all", got, want)
				if err := in.Close(); err != nil {
					t.Fatal(err)
				}
				wantIdle(t, in.cfg.Merge.Pool)
				if n := len(in.cfg.Merge.Pool.free); writer == minBudget && value < 9000 && n < 3*roomy {
					t.Errorf("%d blocks came back", n)
				}
			})
		}
	}
}

// TestBlocksOfThoseLeftBehind: user code that is left behind may go on reading; nobody else gets the memory.
func TestBlocksOfThoseLeftBehind(t *testing.T) {
	in, want := blockIntake(t, minBudget, 50)
	run, err := in.Merge()
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	for range 64 {
		clear(in.cfg.Merge.Pool.block())
	}
	got := drain(t, run)
	slices.SortFunc(got, comparePairs)
	wantPairs(t, "all", got, want)
}

// TestNoMergeBegins: memory is merged to disk by one merge at a time, while segments come, once small ones have more than two thirds of the room.
func TestNoMergeBegins(t *testing.T) {
	for what, in := range map[string]*Intake{
		"one is under way":     {merging: true, held: 21},
		"no more segments":     {closed: true, held: 21},
		"two thirds are held":  {held: 20},
		"segments are large":   {held: 2 * largeSegment},
		"all is spoken for":    {held: 21, memory: []*memSegment{}},
		"both, and it is full": {merging: true, closed: true, held: 21},
	} {
		in.cfg.Memory = 30
		if in.memory == nil {
			in.memory = []*memSegment{{}, {}}
		}
		was, merging := len(in.memory), in.merging
		in.mergeIfFull()
		if in.merging != merging || len(in.memory) != was {
			t.Errorf("%s: a merge begins", what)
		}
	}
}
