package shuffle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// mapOutputs makes files of map output and lists the segments of one partition. mangle, if
// not nil, changes what a fetch delivers.
func mapOutputs(t testingT, dir string, maps, records int, codec Compression, mangle func(name string, b []byte) []byte) ([]Segment, []pair) {
	t.Helper()
	var segs []Segment
	var all []pair
	for i := range maps {
		cfg := Config{Dir: dir, Name: fmt.Sprintf("map-%03d", i), Pool: NewPool(256 << 10), Partitions: 2, Compression: codec}
		cfg.Partition = func(k, _ []byte) int { return int(k[0]) & 1 }
		var in []pair
		for j := range records {
			p := pair{fmt.Sprintf("%c%05d", 'a'+j%2, (j*7919+i)%10000), strings.Repeat("x", j%60) + fmt.Sprint(i, j)}
			in = append(in, p)
			if p.key[0] == 'a' {
				all = append(all, p)
			}
		}
		seg := segmentOf(t, collect(t, cfg, in), cfg.Name, 1, mangle)
		seg.Map = i
		segs = append(segs, seg)
	}
	slices.SortFunc(all, comparePairs)
	return segs, all
}

func comparePairs(x, y pair) int { return strings.Compare(x.key+"\x00"+x.value, y.key+"\x00"+y.value) }

// segmentOf is one partition of an output file as a segment.
func segmentOf(t testingT, out *Output, name string, p int, mangle func(name string, b []byte) []byte) Segment {
	t.Helper()
	content, err := os.ReadFile(out.Path())
	if err != nil {
		t.Fatalf("read output: %v", err)
	}
	if err := out.Release(); err != nil {
		t.Fatalf("release: %v", err)
	}
	info := out.Info(p)
	stored := content[info.Offset : info.Offset+info.StoredBytes]
	return Segment{Name: name, Partition: p, Info: info, Fetch: func(context.Context) (io.ReadCloser, error) {
		b := stored
		if mangle != nil {
			b = mangle(name, bytes.Clone(b))
		}
		return io.NopCloser(bytes.NewReader(b)), nil
	}}
}

// TestIntake takes segments with several fetchers, into much and into little memory.
func TestIntake(t *testing.T) {
	for _, memory := range []int64{1, 8 << 10, 100 << 10, 0} {
		for _, codec := range []Compression{None, S2} {
			t.Run(fmt.Sprintf("memory=%d-%v", memory, codec), func(t *testing.T) {
				dir, pool := t.TempDir(), NewPool(1<<20)
				segs, want := mapOutputs(t, dir, 30, 200, codec, nil)
				in := newTestIntake(t, dir, pool, memory, nil)
				takeAll(t, in, segs)
				if err := in.Take(t.Context(), segs[3]); !errors.Is(err, ErrDuplicate) {
					t.Fatalf("second take: %v", err)
				}
				run, err := in.Merge()
				if err != nil {
					t.Fatal(err)
				}
				got := drain(t, run)
				if !slices.IsSortedFunc(got, func(x, y pair) int { return strings.Compare(x.key, y.key) }) {
					t.Fatal("not in order")
				}
				slices.SortFunc(got, comparePairs)
				wantPairs(t, "all", got, want)
				if err := errors.Join(in.Close(), in.Close()); err != nil {
					t.Fatal(err)
				}
				wantIdle(t, pool)
				wantEmptyDir(t, dir)
			})
		}
	}
}

func newTestIntake(t *testing.T, dir string, pool *Pool, memory int64, fs FS) *Intake {
	t.Helper()
	in, err := NewIntake(t.Context(), IntakeConfig{
		Merge:  MergeConfig{Dir: dir, Name: "reduce-1", Pool: pool, MergeFactor: 4, FS: fs},
		Memory: memory,
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// takeAll takes segments with four fetchers.
func takeAll(t *testing.T, in *Intake, segs []Segment) {
	t.Helper()
	var wg sync.WaitGroup
	for f := range 4 {
		wg.Go(func() {
			for i := f; i < len(segs); i += 4 {
				if err := in.Take(t.Context(), segs[i]); err != nil {
					t.Errorf("take %s: %v", segs[i].Name, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestIntakeRefusesDamage delivers damaged bytes on both paths and wants each of them refused, and
// a second, clean fetch accepted.
func TestIntakeRefusesDamage(t *testing.T) {
	damages := map[string]func(b []byte, i int) []byte{
		"flip":      func(b []byte, i int) []byte { b[i] ^= 0x40; return b },
		"cut":       func(b []byte, i int) []byte { return b[:i] },
		"duplicate": func(b []byte, i int) []byte { return slices.Insert(b, i, b[i]) },
		"drop":      func(b []byte, i int) []byte { return slices.Delete(b, i, i+1) },
		"repeat":    func(b []byte, _ int) []byte { return append(b, b...) },
		"longer":    func(b []byte, _ int) []byte { return append(b, 0) },
	}
	for _, memory := range []int64{1, 1 << 20} {
		for name, damage := range damages {
			t.Run(fmt.Sprintf("memory=%d-%s", memory, name), func(t *testing.T) {
				dir, pool := t.TempDir(), NewPool(8<<20)
				at := -1
				segs, want := mapOutputs(t, dir, 1, 60, S2, func(_ string, b []byte) []byte {
					if at >= 0 {
						b = damage(b, at)
					}
					return b
				})
				in := newTestIntake(t, dir, pool, memory, nil)
				for at = 0; at < int(segs[0].Info.StoredBytes); at++ {
					if err := in.Take(t.Context(), segs[0]); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "map-000") {
						t.Fatalf("damage at %d: %v", at, err)
					}
				}
				at = -1
				takeAll(t, in, segs)
				run, err := in.Merge()
				if err != nil {
					t.Fatal(err)
				}
				wantPairs(t, "after all", drain(t, run), want)
				if err := in.Close(); err != nil {
					t.Fatal(err)
				}
				wantIdle(t, pool)
				wantEmptyDir(t, dir)
			})
		}
	}
}

// TestIntakeRefusesStrangers has whole, undamaged frames of the wrong place.
func TestIntakeRefusesStrangers(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(8<<20)
	segs, _ := mapOutputs(t, dir, 2, 60, None, nil)
	in := newTestIntake(t, dir, pool, 0, nil)
	defer in.Close() //nolint:errcheck // nothing was taken
	otherMap, otherPart := segs[0], segs[0]
	otherMap.Name = segs[1].Name
	otherPart.Partition = 0
	fewer := segs[0]
	fewer.Info.Records--
	for _, s := range []Segment{otherMap, otherPart, fewer} {
		if err := in.Take(t.Context(), s); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s/%d: %v", s.Name, s.Partition, err)
		}
	}
	for _, s := range []Segment{{}, {Name: "m", Info: PartitionInfo{Records: 1}, Fetch: segs[0].Fetch}, {Name: "m", Info: PartitionInfo{Records: -1}, Fetch: segs[0].Fetch}} {
		if err := in.Take(t.Context(), s); err == nil || errors.Is(err, ErrCorrupt) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestIntakeBlamesTheRightSide separates the fetch's errors from those of our own disk.
func TestIntakeBlamesTheRightSide(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(1<<20)
	segs, _ := mapOutputs(t, dir, 1, 100, None, nil)
	full := newTestIntake(t, dir, pool, 1, &faultFS{kinds: "w", at: 1, err: syscall.ENOSPC})
	if err := full.Take(t.Context(), segs[0]); !errors.Is(err, ErrScratch) || errors.Is(err, ErrCorrupt) {
		t.Errorf("full disk: %v", err)
	}
	if err := full.Close(); err != nil {
		t.Error(err)
	}
	in := newTestIntake(t, dir, pool, 0, nil)
	refused := errors.New("connection refused")
	seg := segs[0]
	seg.Fetch = func(context.Context) (io.ReadCloser, error) { return nil, refused }
	if err := in.Take(t.Context(), seg); !errors.Is(err, refused) || errors.Is(err, ErrScratch) || errors.Is(err, ErrCorrupt) {
		t.Errorf("refused: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seg.Fetch = func(ctx context.Context) (io.ReadCloser, error) {
		r, w := io.Pipe()
		context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
		cancel()
		return r, nil
	}
	if err := in.Take(ctx, seg); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := in.Take(t.Context(), segs[0]); err == nil {
		t.Error("closed intake takes on")
	}
	wantIdle(t, pool)
	wantEmptyDir(t, dir)
}

// intakeOnce takes segments one after the other, and gives them back.
func intakeOnce(t *testing.T, in *Intake, segs []Segment) (got []pair, err error) {
	t.Helper()
	for _, s := range segs {
		err = errors.Join(err, in.Take(t.Context(), s))
		in.bg.Wait() // so that the operations have the same order in every run
	}
	run, mergeErr := in.Merge()
	if err = errors.Join(err, mergeErr); run != nil {
		for run.Next() {
			got = append(got, pair{string(run.Key()), string(run.Value())})
		}
		err = errors.Join(err, run.Err(), run.Close())
	}
	slices.SortFunc(got, comparePairs)
	return got, errors.Join(err, in.Close())
}

// TestEveryOperationOfAnIntakeFails: whether a fetch writes, a merge in the background does, or the last one reads, a bad disk is
// never a reduce that lacks records, and nothing stays open or reserved.
func TestEveryOperationOfAnIntakeFails(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(1<<20)
	segs, want := mapOutputs(t, dir, 30, 200, None, nil)
	clean := &faultFS{kinds: "cwoldr"}
	in := newTestIntake(t, dir, pool, 32<<10, clean)
	got, err := intakeOnce(t, in, segs)
	if err != nil || clean.n.Load() < 20 {
		t.Fatalf("%d operations, %v", clean.n.Load(), err)
	}
	wantPairs(t, "all", got, want)
	if s := in.Stats(); s.Spills < 2 || s.SpilledRecords < 100*s.Spills || s.SpilledRecords > int64(len(want)) || s.SpilledBytes < 10*s.SpilledRecords {
		t.Errorf("of %d records: %+v", len(want), s)
	}
	for at := range clean.n.Load() {
		dir := t.TempDir()
		fault := &faultFS{kinds: clean.kinds, at: at + 1, err: syscall.ENOSPC}
		if _, err := intakeOnce(t, newTestIntake(t, dir, pool, 32<<10, fault), segs); !errors.Is(err, ErrScratch) || fault.hits.Load() == 0 {
			t.Errorf("operation %d of %d: %v", at+1, clean.n.Load(), err)
		}
		if n := fault.open.Load(); n != 0 {
			t.Fatalf("operation %d: %d files are open still", at+1, n)
		}
		wantIdle(t, pool)
	}
}

// TestIntakeKeepsWithinItsMemory: a segment of just a quarter of it is kept, and as many as it has room for; the others go to disk, and all come back.
func TestIntakeKeepsWithinItsMemory(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(16<<20)
	var segs []Segment
	for i := range 6 {
		cfg := Config{Dir: dir, Name: fmt.Sprint("map-", i), Pool: NewPool(1 << 20), Partitions: 1}
		var list []pair
		for j := range 16 {
			list = append(list, pair{fmt.Sprint("key-", j), strings.Repeat("x", largeSegment/16)})
		}
		seg := segmentOf(t, collect(t, cfg, list), cfg.Name, 0, nil)
		seg.Map = i
		segs = append(segs, seg)
	}
	n := segs[0].Info.RawBytes
	for memory, want := range map[int64][2]int{4 * n: {4, 2}, 4*n - 4: {0, 6}, 4*n + 4: {4, 2}, 5*n - 1: {4, 2}, 6 * n: {6, 0}} {
		in := newTestIntake(t, dir, pool, memory, nil)
		for _, s := range segs {
			if err := in.Take(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		in.bg.Wait()
		if got := [2]int{len(in.memory), len(in.files)}; got != want {
			t.Errorf("%d bytes for segments of %d: %v in memory and on disk, want %v", memory, n, got, want)
		}
		run, err := in.Merge()
		if err != nil {
			t.Fatal(err)
		}
		if all := drain(t, run); len(all) != 6*16 {
			t.Errorf("%d records", len(all))
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		wantIdle(t, pool)
		wantEmptyDir(t, dir)
	}
}

// TestIntakesShareASmallPool has several intakes full of memory that need merge buffers.
func TestIntakesShareASmallPool(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(256<<10)
	segs, want := mapOutputs(t, dir, 12, 400, None, nil)
	var wg, full sync.WaitGroup
	full.Add(6)
	hog := &account{pool: pool}
	takeRest := sync.OnceFunc(func() {
		for hog.reserve(t.Context(), 64) {
		}
	})
	for i := range 6 {
		sub := fmt.Sprintf("%s/%d", dir, i)
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			in := newTestIntake(t, sub, pool, 40<<10, nil) // some to memory, some to disk
			takeAll(t, in, segs)
			full.Done()
			full.Wait()
			takeRest() // all hold memory, and together all of it
			run, err := in.Merge()
			if err != nil {
				t.Error(err)
				return
			}
			n := 0
			for run.Next() {
				n++
			}
			if err := errors.Join(run.Err(), run.Close(), in.Close()); err != nil || n != len(want) {
				t.Errorf("%d records, want %d: %v", n, len(want), err)
			}
		})
	}
	wg.Wait()
	hog.close()
	wantIdle(t, pool)
}

// TestIntakeRefusesReorderedFrames delivers all frames, each of them whole, in another order.
func TestIntakeRefusesReorderedFrames(t *testing.T) {
	for _, memory := range []int64{1, 1 << 20} {
		dir, pool := t.TempDir(), NewPool(8<<20)
		segs, _ := mapOutputs(t, dir, 1, 600, None, func(_ string, b []byte) []byte {
			first := frameHeader + int(parseFrame(b).stored)
			second := first + frameHeader + int(parseFrame(b[first:]).stored)
			return slices.Concat(b[first:second], b[:first], b[second:])
		})
		in := newTestIntake(t, dir, pool, memory, nil)
		if err := in.Take(t.Context(), segs[0]); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "want frame 0") {
			t.Errorf("memory=%d: %v", memory, err)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		wantIdle(t, pool)
		wantEmptyDir(t, dir)
	}
}
