package tracker

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler/policies"
)

func randomSplits(rng *rand.Rand, n int) []wire.Split {
	out := make([]wire.Split, n)
	for i := range out {
		s := &out[i]
		s.Input = rng.IntN(3)
		for range rng.IntN(4) {
			s.Ranges = append(s.Ranges, wire.Range{Path: fmt.Sprint("/in/", rng.IntN(50)), Offset: rng.Int64(), Length: max(0, rng.Int64N(1<<40)-1<<39)})
		}
		for range rng.IntN(4) {
			s.Hosts = append(s.Hosts, fmt.Sprint("w", rng.IntN(20)))
		}
	}
	return out
}

// TestSplitTable: what goes in comes out, however it is cut into pieces, and a table made of pieces is the same.
func TestSplitTable(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		want := randomSplits(rng, rng.IntN(200))
		var table splitTable
		for at := 0; at < len(want); {
			n := min(1+rng.IntN(60), len(want)-at)
			piece := table.encode(want[at : at+n])
			if err := table.add(piece[:len(piece)-1]); wire.KindOf(err) != wire.Corrupt || table.len() != at {
				t.Fatalf("half a piece: %v; %d splits of %d", err, table.len(), at)
			}
			if err := table.add(piece); err != nil {
				t.Fatal(err)
			}
			at += n
		}
		if n := len(table.names); n != len(slices.Compact(slices.Sorted(slices.Values(table.names)))) {
			t.Errorf("seed %d: of %d names some are there twice", seed, n)
		}
		var again splitTable
		pieces, _ := table.pieces()
		for _, p := range pieces {
			if err := again.add(p); err != nil {
				t.Fatal(err)
			}
		}
		again.settle()
		var bytes int64
		for i := range want {
			bytes += want[i].Bytes()
			if len(want[i].Ranges) == 0 {
				want[i].Ranges = []wire.Range{}
			}
			for _, tb := range []*splitTable{&table, &again} {
				if d := cmp.Diff(&want[i], tb.get(int32(i))); d != "" {
					t.Fatalf("seed %d: split %d: %s", seed, i, d)
				}
			}
		}
		if table.bytes != bytes || again.bytes != bytes || again.len() != len(want) {
			t.Errorf("seed %d: %d splits of %d bytes, want %d of %d", seed, again.len(), again.bytes, len(want), bytes)
		}
	}
}

// TestSettledTablesAreSmall: a table that is whole keeps no room for more than an eighth beyond what is in it, and no index.
func TestSettledTablesAreSmall(t *testing.T) {
	var table splitTable
	for range 100 {
		if err := table.add(table.encode(splitsOf(35))); err != nil {
			t.Fatal(err)
		}
	}
	table.data = slices.Grow(table.data, 1<<16)
	table.ends = slices.Grow(table.ends, 1<<16)
	table.names = slices.Grow(table.names, 1<<16)
	table.settle()
	for what, x := range map[string][2]int{
		"bytes": {len(table.data), cap(table.data)}, "ends": {len(table.ends), cap(table.ends)}, "names": {len(table.names), cap(table.names)},
	} {
		if x[0] == 0 || x[1] > x[0]+x[0]/8 {
			t.Errorf("%d %s have room for %d", x[0], what, x[1])
		}
	}
	if table.index != nil {
		t.Error("the index of names is kept")
	}
	c := newCore(t)
	c.Resume(0)
	report(t, c, 0)
	if p := c.placesOf(&table).Replicas; len(p) != 3500 || cap(p) > len(p)+len(p)/8 {
		t.Errorf("%d places have room for %d", len(p), cap(p))
	}
}

// TestPackedTasks: finished tasks are read as this master writes them and as masters before wrote them: 1 without when they were done, 2 without
// the sum of the output, 0 and 4 where the result does not count.
func TestPackedTasks(t *testing.T) {
	num := func(parts ...any) (b []byte) { // uint64 as it is, int64 with a sign
		for _, p := range parts {
			switch p := p.(type) {
			case int:
				b = binary.AppendUvarint(b, uint64(p))
			case int64:
				b = binary.AppendVarint(b, p)
			}
		}
		return b
	}
	const at, in, out = int64(5000), int64(11), int64(12)
	full := task{try: 9, millis: 70, in: 11, out: 12, at: 5 * time.Second, sum: 99, node: 1}
	for name, x := range map[string]struct {
		entry []byte
		want  task
		done  int32
	}{
		"as now":           {num(3, 1, int64(70), in, out, at, 99), full, 1},
		"without a sum":    {num(2, 1, int64(70), in, out, at), task{try: 9, millis: 70, in: 11, out: 12, at: 5 * time.Second, node: 1}, 1},
		"without a time":   {num(1, 1, int64(70), in, out), task{try: 9, millis: 70, in: 11, out: 12, node: 1}, 1},
		"does not count":   {num(4, 99), task{sum: 99}, 0},
		"nor did it":       {num(0), task{}, 0},
		"of no node":       {num(3, 2, int64(70), in, out, at, 99), task{}, 0},
		"it is cut off":    {num(3, 1, int64(70), in), task{}, 0},
		"beyond the stage": {num(3, 1, int64(70), in, out, at, 99), task{}, 0},
	} {
		c := newCore(t)
		st := &stage{job: &job{}, maps: make([]task, 3)}
		index := int64(2)
		if name == "beyond the stage" {
			index = 3
		}
		head := append(num(2), codec.AppendText(codec.AppendText(codec.AppendText(codec.AppendText(nil, "a"), "r"), "b"), "r")...)
		packed := append(append(head, num(1, index, int64(9))...), x.entry...)
		c.applyTasks(st, wire.MapTask, packed)
		got := st.maps[2]
		if counted := got.counted; counted != (x.done > 0 || name == "does not count" || name == "nor did it") {
			t.Errorf("%s: it is counted: %v", name, counted)
		}
		if got.counted = false; got != x.want || st.doneCount != [2]int32{x.done, 0} {
			t.Errorf("%s: %+v, %v are done, want %+v", name, got, st.doneCount, x.want)
		}
	}
}

// FuzzSplits: packed splits are bytes from the disk.
func FuzzSplits(f *testing.F) {
	var table splitTable
	f.Add(table.encode(randomSplits(rand.New(rand.NewPCG(1, 1)), 9)))
	f.Add([]byte{0, 1, 3, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var table splitTable
		if table.add(b) != nil {
			if table.len() != 0 || len(table.names) != 0 {
				t.Fatal("a table keeps what it refused")
			}
			return
		}
		for i := range table.len() {
			table.get(int32(i))
		}
		c := newCore(t)
		c.placesOf(&table)
	})
}

// FuzzTasks: packed tasks are bytes from the disk.
func FuzzTasks(f *testing.F) {
	f.Add([]byte{1, 1, 'w', 1, 'r', 1, 2, 2, 1, 0, 2, 2, 2}, true)
	f.Fuzz(func(t *testing.T, b []byte, maps bool) {
		st := &stage{job: &job{}, maps: make([]task, 3), reduces: make([]task, 2)}
		kind := wire.ReduceTask
		if maps {
			kind = wire.MapTask
		}
		newCore(t).applyTasks(st, kind, b)
		if st.doneCount[0] > 3 || st.doneCount[1] > 2 {
			t.Fatalf("%v tasks are done", st.doneCount)
		}
	})
}

func newCore(t testing.TB) *Tracker {
	t.Helper()
	p, err := policies.Policy("fifo", nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(DefaultConfig(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// BenchmarkMillionTasks measures the memory of a job of 10^6 maps, three replicas each on a thousand nodes, with every
// map done: all that the tracker and the policies keep, per task.
func BenchmarkMillionTasks(b *testing.B) {
	for b.Loop() {
		before := heap()
		c := bigJob(b, 1_000_000)
		b.ReportMetric(float64(heap()-before)/1e6, "B/task")
		runtime.KeepAlive(c)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// bigJob is a tracker with one job of n maps that are all done and one reduce that is not.
func bigJob(tb testing.TB, n int) *Tracker {
	c := newCore(tb)
	c.Resume(0)
	for i := range 1000 {
		report(tb, c, i)
	}
	id, err := c.Submit(1, wire.JobSpec{Name: "big", User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}})
	if err != nil {
		tb.Fatal(err)
	}
	driver := runningDriver(c, id)
	var split []wire.Split
	for at := 0; at < n; {
		split = split[:0]
		for i := at; i < min(at+5000, n); i++ {
			s := wire.Split{Ranges: []wire.Range{{Path: fmt.Sprint("/in/part-", i/16), Offset: int64(i%16) << 26, Length: 1 << 26}}}
			for k := range 3 {
				s.Hosts = append(s.Hosts, fmt.Sprint("n", (i*7+k*331)%1000))
			}
			split = append(split, s)
		}
		if at, err = c.PlanPart(2, driver, &wire.PlanPart{First: at, Total: n, Splits: split}); err != nil {
			tb.Fatal(err)
		}
		c.Take()
	}
	if next, err := c.Plan(3, driver, &wire.StagePlan{Parts: n, Reducers: 1}); err != nil || next != n {
		tb.Fatal(next, err)
	}
	for i := range n {
		ended := wire.Ended{ID: wire.AttemptID{Job: id, Kind: wire.MapTask, Index: int32(i), Try: uint64(1<<32 + i + 10_000)}, OK: true, Millis: 100, InBytes: 1 << 26, OutBytes: 1 << 20}
		c.takeEnd(4, c.nodes[i%1000], &ended)
		if i%1000 == 0 {
			c.Take()
		}
	}
	c.Take()
	return c
}
