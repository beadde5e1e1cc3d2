package shuffle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestRecordLargerThanEverything(t *testing.T) {
	for _, size := range []int{5 << 10, 70 << 10, 300 << 10, 2 << 20} {
		for _, codec := range []Compression{None, S2} {
			for _, keep := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d-%v-keep=%v", size, codec, keep), func(t *testing.T) {
					dir, pool := t.TempDir(), NewPool(256<<10)
					cfg := Config{Dir: dir, Name: "map", Pool: pool, Partitions: 2, Compression: codec, KeepInMemory: keep}
					cfg.Partition = func(k, _ []byte) int { return int(k[0]) & 1 }
					big := string(bytes.Repeat([]byte("0123456789abcdef"), size/16))
					var in []pair
					for i := range 300 {
						in = append(in, pair{fmt.Sprintf("%d", i%50), fmt.Sprint(i)})
						if i%100 == 50 {
							in = append(in, pair{"5" + big, "long key"}, pair{"5", big}, pair{big, big})
						}
					}
					out := collect(t, cfg, in)
					for p, want := range reference(in, 2, cfg.Partition, bytes.Compare) {
						wantPairs(t, "partition", mergeOutputs(t, cfg, []*Output{out}, p), want)
					}
					if err := out.Release(); err != nil {
						t.Fatal(err)
					}
					wantIdle(t, pool)
					wantEmptyDir(t, dir)
				})
			}
		}
	}
}

func TestBadRecords(t *testing.T) {
	tests := []struct {
		name       string
		cfg        Config
		key, value string
		want       string
		is         error
	}{
		{"negative partition", Config{Partitions: 4, Partition: func(_, _ []byte) int { return -3 }}, "k", "v", "partition -3", nil},
		{"large partition", Config{Partitions: 4, Partition: func(_, _ []byte) int { return 4 }}, "k", "v", "partition 4", nil},
		{"too large", Config{Partitions: 1, MaxRecord: 10}, "123456", "78901", "record of 11 bytes, limit 10", ErrRecordTooLarge},
		{"fold of no integer", Config{Partitions: 1, Fold: &Fold{Op: SumInt}}, "k", "1234567", "7 bytes", nil},
		{"fold too large", Config{Partitions: 1, MaxRecord: 10, Fold: &Fold{Bytes: func(a, v []byte) []byte { return append(a, v...) }}}, "k", "0123456789", "limit 10", ErrRecordTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Dir, tt.cfg.Name, tt.cfg.Pool = t.TempDir(), "map-3", NewPool(1<<20)
			c, err := NewCollector(t.Context(), tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = c.Add([]byte(tt.key), []byte(tt.value))
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if again := c.Add([]byte("a"), encodeInt(nil, 1)); !errors.Is(again, err) {
				t.Fatalf("the error is not final: %v", again)
			}
			if _, ferr := c.Finish(); !errors.Is(ferr, err) {
				t.Fatalf("Finish after an error: %v", ferr)
			}
			c.Discard()
			wantIdle(t, tt.cfg.Pool)
		})
	}
}

// TestMergeAcrossFrames has a key change exactly between two frames, whose records lie at the
// same places, so that the old key's memory holds the new key when they are compared.
func TestMergeAcrossFrames(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), Pool: NewPool(minBudget), Partitions: 1}
	perFrame := (cfg.Pool.frameSize() - frameHeader) / recordSize(9, 7)
	var a, b []pair
	for i := range 2 * perFrame {
		a = append(a, pair{"prefix-0" + string("ac"[i/perFrame]), "from  a"})
		b = append(b, pair{"prefix-0b", "from  b"})
	}
	cfg.Name = "a"
	outs := []*Output{collect(t, cfg, a)}
	cfg.Name = "b"
	outs = append(outs, collect(t, cfg, b))
	want := reference(append(a, b...), 1, func(_, _ []byte) int { return 0 }, bytes.Compare)[0]
	wantPairs(t, "merged", mergeOutputs(t, cfg, outs, 0), want)
}

// TestAccumulatorOutgrowsMemory folds values into ever longer accumulators.
func TestAccumulatorOutgrowsMemory(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(256<<10)
	cfg := Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1}
	cfg.Fold = &Fold{Bytes: func(acc, v []byte) []byte { return append(acc, v...) }}
	var in []pair
	for i := range 20000 {
		in = append(in, pair{fmt.Sprintf("key-%d", i%7), fmt.Sprintf("%06d,", i)})
	}
	out := collect(t, cfg, in)
	want := folded(reference(in, 1, func(_, _ []byte) int { return 0 }, bytes.Compare)[0], func(a, v string) string { return a + v })
	wantPairs(t, "folded", mergeOutputs(t, cfg, []*Output{out}, 0), want)
	if err := out.Release(); err != nil {
		t.Fatal(err)
	}
	wantIdle(t, pool)
}

func TestOneGiantKey(t *testing.T) {
	pool := NewPool(1 << 20)
	cfg := Config{Dir: t.TempDir(), Name: "map", Pool: pool, Partitions: 1}
	c, err := NewCollector(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Discard()
	const n = 1_000_000
	for i := range n {
		if err := c.AddInt([]byte("giant"), int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	run, err := out.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	i := int64(0)
	for ; run.Next(); i++ {
		if v, _ := decodeInt(run.Value()); v != i {
			t.Fatalf("value %d is %d: order of arrival is lost", i, v)
		}
	}
	if err := errors.Join(run.Err(), run.Close(), out.Release()); err != nil || i != n {
		t.Fatalf("%d values, %v", i, err)
	}
	wantIdle(t, pool)
}

func TestManyKeysLittleMemory(t *testing.T) {
	pool := NewPool(1 << 20)
	cfg := Config{Dir: t.TempDir(), Name: "map", Pool: pool, Partitions: 1, Fold: &Fold{Op: SumInt}, Compression: S2}
	c, err := NewCollector(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Discard()
	const keys = 300_000
	rng := rand.New(rand.NewPCG(1, 1))
	for _, i := range rng.Perm(2 * keys) {
		if err := c.AddInt(fmt.Appendf(nil, "%08d", i%keys), int64(i)); err != nil {
			t.Fatal(err)
		}
		if i%512 == 0 && pool.InUse() > pool.Budget() {
			t.Fatalf("%d bytes in use, budget %d", pool.InUse(), pool.Budget())
		}
	}
	out, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	run, err := out.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for ; run.Next(); i++ {
		if v, _ := decodeInt(run.Value()); string(run.Key()) != fmt.Sprintf("%08d", i) || v != int64(2*i+keys) {
			t.Fatalf("record %d is %s=%d", i, run.Key(), v)
		}
	}
	if err := errors.Join(run.Err(), run.Close(), out.Release()); err != nil || i != keys {
		t.Fatalf("%d keys, %v", i, err)
	}
	st := c.Stats()
	if st.Records != 2*keys || st.OutRecords != keys || st.Spills < 2 || st.CombineOut < keys {
		t.Fatalf("stats %+v", st)
	}
	wantIdle(t, pool)
}

func TestNoRecords(t *testing.T) {
	for _, keep := range []bool{false, true} {
		for _, m := range modes {
			pool, dir := NewPool(1<<20), t.TempDir()
			out := collect(t, Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1000, KeepInMemory: keep, Fold: m.fold, Combine: m.combine}, nil)
			for p := range 1000 {
				if out.Info(p).Records != 0 {
					t.Fatalf("partition %d: %+v", p, out.Info(p))
				}
			}
			run, err := out.Open(999)
			if err != nil {
				t.Fatal(err)
			}
			wantPairs(t, "empty", drain(t, run), nil)
			if err := errors.Join(out.SpillToDisk(), out.Release(), out.Release()); err != nil {
				t.Fatal(err)
			}
			wantIdle(t, pool)
			wantEmptyDir(t, dir)
		}
	}
	run, err := Merge(t.Context(), MergeConfig{Name: "reduce", Pool: NewPool(1 << 20)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantPairs(t, "nothing", drain(t, run), nil)
}

// TestManyCollectorsOneSmallPool runs collectors and merges at once on a pool that is
// too small for all of them. Some keep their output, so that they evict each other.
func TestManyCollectorsOneSmallPool(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir, pool := t.TempDir(), NewPool(1<<20)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for round := range 4 {
				if err := oneWorker(ctx, dir, pool, w, round); err != nil {
					t.Errorf("worker %d round %d: %v", w, round, err)
					return
				}
				if n := pool.InUse(); n > pool.Budget() {
					t.Errorf("%d bytes in use, budget %d", n, pool.Budget())
				}
			}
		})
	}
	wg.Wait()
	wantIdle(t, pool)
	wantEmptyDir(t, dir)
}

func oneWorker(ctx context.Context, dir string, pool *Pool, w, round int) error {
	cfg := Config{Dir: dir, Pool: pool, Partitions: 3, KeepInMemory: (w+round)%2 == 0, MergeFactor: 4}
	cfg.Partition = func(k, _ []byte) int { return int(k[len(k)-1]) % 3 }
	if w%3 == 0 {
		cfg.Fold = &Fold{Op: SumInt}
	}
	var outs []*Output
	total := int64(0)
	for i := range 3 {
		cfg.Name = fmt.Sprintf("w%d-%d-%d", w, round, i)
		c, err := NewCollector(ctx, cfg)
		if err != nil {
			return err
		}
		defer c.Discard()
		for j := range 4000 {
			if err := c.AddInt(fmt.Appendf(nil, "key-%d", (j*7919)%3000), int64(j)); err != nil {
				return err
			}
			total += int64(j)
		}
		out, err := c.Finish()
		if err != nil {
			return err
		}
		defer out.Release() //nolint:errcheck // checked by the empty directory
		outs = append(outs, out)
	}
	got := int64(0)
	for p := range 3 {
		var sources []Source
		for _, o := range outs {
			sources = append(sources, o.Source(p))
		}
		m := cfg.merge()
		m.Name = fmt.Sprintf("r%d-%d-%d", w, round, p)
		run, err := Merge(ctx, m, sources)
		if err != nil {
			return err
		}
		for run.Next() {
			v, _ := decodeInt(run.Value())
			got += v
		}
		if err := errors.Join(run.Err(), run.Close()); err != nil {
			return err
		}
	}
	if got != total {
		return fmt.Errorf("values add up to %d, want %d", got, total)
	}
	return nil
}

// TestFoldLargerThanMemory: keys that no table has room for are folded all the same, as often as they come.
func TestFoldLargerThanMemory(t *testing.T) {
	t.Parallel()
	dir, pool := t.TempDir(), NewPool(1<<20)
	c, err := NewCollector(t.Context(), Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1, Fold: &Fold{Op: SumInt}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Discard()
	large := strings.Repeat("k", 2<<20)
	for i := range int64(4) {
		if err := errors.Join(c.AddInt([]byte(large), i), c.AddInt([]byte("small"), 1)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	run, err := Merge(t.Context(), MergeConfig{Dir: dir, Name: "reduce", Pool: pool, Fold: &Fold{Op: SumInt}}, []Source{out.Source(0)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]int64{}
	for run.Next() {
		n, _ := decodeInt(run.Value())
		got[len(run.Key())] += n
	}
	if err := errors.Join(run.Err(), run.Close(), out.Release()); err != nil {
		t.Fatal(err)
	}
	if got[len(large)] != 6 || got[5] != 4 || len(got) != 2 {
		t.Errorf("sums by length of key are %v", got)
	}
}

// TestNothingIsLeftOfAPartition: a partition whose records the combiner drops takes no place, also behind one whose last record is larger than a frame and
// which therefore ends by a frame of its own.
func TestNothingIsLeftOfAPartition(t *testing.T) {
	giant := strings.Repeat("x", 3<<20)
	dir, pool := t.TempDir(), NewPool(16<<20)
	out := collect(t, Config{
		Dir: dir, Name: "map", Pool: pool, Partitions: 3,
		Partition: func(key, _ []byte) int { return int(key[0] - 'a') },
		Combine: func(key []byte, values Run, emit func(key, value []byte) error) error {
			if key[0] == 'b' {
				return nil
			}
			return emit(key, values.Value())
		},
	}, []pair{{"a", giant}, {"b", "dropped"}, {"c", "kept"}})
	for p, want := range []bool{true, false, true} {
		if info := out.Info(p); (info.StoredBytes > 0) != want || (info.Records == 1) != want {
			t.Errorf("partition %d: %+v", p, info)
		}
	}
	if err := out.Release(); err != nil {
		t.Fatal(err)
	}
	wantIdle(t, pool)
	wantEmptyDir(t, dir)
}

// TestFoldWithoutRoom: a record for which others leave no room in the table is within the limit all the same; it goes to disk.
func TestFoldWithoutRoom(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 600<<10)
	for name, fold := range map[string]*Fold{"integers": {Op: SumInt}, "bytes": {Bytes: func(acc, _ []byte) []byte { return acc }}} {
		dir, pool := t.TempDir(), NewPool(8<<20)
		c, err := NewCollector(t.Context(), Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1, Fold: fold})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Discard()
		others := &account{pool: pool}
		others.force(pool.limit - pool.InUse())
		one := encodeInt(nil, 1)
		for _, key := range []string{"a", long + "1", "b", long + "1", long + "2"} {
			if err := c.Add([]byte(key), one); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		others.close()
		out, err := c.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if n := out.Info(0).Records; n != 4 {
			t.Errorf("%s: %d keys, want 4", name, n)
		}
		if err := out.Release(); err != nil {
			t.Fatal(err)
		}
		wantIdle(t, pool)
		wantEmptyDir(t, dir)
	}
}

// TestFoldTablesAreNumbered in 16 bits: a table that would have a larger number is not made.
func TestFoldTablesAreNumbered(t *testing.T) {
	table := newFoldTable(NewPool(1<<20), &Fold{Op: SumInt})
	st := &subTable{}
	if table.tables = make([]*subTable, 1<<16-1); !table.splittable(st) {
		t.Error("the last table but one is not split")
	}
	if table.tables = append(table.tables, st); table.splittable(st) {
		t.Error("a table is made whose slots would pass for those of another")
	}
}

// TestSizeOfAClosedFile: a file that cannot be asked says so, and is not empty.
func TestSizeOfAClosedFile(t *testing.T) {
	f, err := osFS{}.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.Size(); n != 0 || err != nil {
		t.Errorf("a new file has %d bytes, %v", n, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Size(); err == nil {
		t.Errorf("a closed file has %d bytes", n)
	}
}

// TestFramesThatDoNotShrink: after three of them in a row 32 frames are stored as they are; one that shrinks in between begins the count anew.
func TestFramesThatDoNotShrink(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	hard, easy := make([]byte, 4096), make([]byte, 4096)
	for i := range hard {
		hard[i] = byte(rng.Uint32())
	}
	p := &packer{codec: S2}
	packs := func(b []byte) bool {
		_, codec := p.pack(b)
		return codec != None
	}
	for range missesMax {
		for range missesMax - 1 {
			if packs(hard) {
				t.Fatal("random bytes shrank")
			}
		}
		if !packs(easy) {
			t.Fatal("zeros are stored as they are, after two frames that did not shrink")
		}
	}
	for range missesMax {
		packs(hard)
	}
	for i := range skipFrames {
		if packs(easy) {
			t.Fatalf("frame %d after three that did not shrink was tried", i)
		}
	}
	if !packs(easy) {
		t.Error("frames are never tried again")
	}
}

// TestCancelledSegmentLeavesNothing: a segment whose task is stopped before its end is removed.
func TestCancelledSegmentLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	w, err := newSegmentWriter(ctx, osFS{}, filepath.Join(dir, "map"), "map", None, 1, newFrameBuffers(NewPool(minBudget), None))
	if err != nil {
		t.Fatal(err)
	}
	w.begin(0)
	if err := w.add([]byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := w.finish(); !errors.Is(err, context.Canceled) {
		t.Errorf("finish says %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}
