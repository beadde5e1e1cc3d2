package shuffle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestPoolSizes(t *testing.T) {
	for _, tt := range []struct {
		budget, limit int64
		block         int
	}{
		{0, 256 << 10, 4 << 10},
		{1 << 20, 1 << 20, 16 << 10},
		{100 << 20, 100 << 20, 1 << 20},
		{2 << 30, 2 << 30, 1 << 20},
	} {
		if p := NewPool(tt.budget); p.Budget() != tt.limit || p.blockSize != tt.block {
			t.Errorf("budget %d: limit %d, block %d", tt.budget, p.Budget(), p.blockSize)
		}
	}
}

// TestFairShare has a collector that came first and took much; a newcomer still gets its
// share of what is left, and the first gets no more than would hurt it.
func TestFairShare(t *testing.T) {
	p := NewPool(1 << 20)
	ctx := t.Context()
	block := int64(p.blockSize)
	first, err := p.join(ctx, 5*block, true)
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		if !first.reserve(ctx, block) {
			t.Fatal("alone, and refused")
		}
	}
	second, err := p.join(ctx, 5*block, true)
	if err != nil {
		t.Fatal(err)
	}
	if first.reserve(ctx, block) {
		t.Error("beyond its share, at the other's cost")
	}
	n := 0
	for second.reserve(ctx, block) {
		n++
	}
	if n != 24 {
		t.Errorf("the second got %d blocks of the 24 left", n)
	}
	first.release(40 * block)
	n = 0
	for first.reserve(ctx, block) {
		n++
	}
	if n != 32 { // the other could still want its half
		t.Errorf("the first got %d blocks, its share is 32", n)
	}
	first.close()
	second.close()
	wantIdle(t, p)
}

// TestFloorIsWaitedFor has more collectors than floors: the last waits until one leaves or the
// context ends.
func TestFloorIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(256 << 10)
		var held []*account
		for range 4 {
			a, err := p.join(t.Context(), 60<<10, true)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, a)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("tired of waiting")
		var granted atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := p.join(ctx, 60<<10, true); !errors.Is(err, cause) {
				t.Errorf("cancelled join: %v", err)
			}
		})
		wg.Go(func() {
			a, err := p.join(t.Context(), 60<<10, true)
			if err != nil {
				t.Error(err)
				return
			}
			granted.Store(true)
			a.close()
		})
		synctest.Wait()
		cancel(cause)
		synctest.Wait()
		if granted.Load() {
			t.Error("granted beyond the budget")
		}
		held[0].close()
		wg.Wait()
		if !granted.Load() {
			t.Error("not granted after room was made")
		}
		for _, a := range held[1:] {
			a.close()
		}
		wantIdle(t, p)
	})
}

// keptOutput collects some records and keeps them in memory.
func keptOutput(t *testing.T, pool *Pool, dir, name string, codec Compression) (*Output, []pair) {
	t.Helper()
	var in []pair
	for i := range 2000 {
		in = append(in, pair{fmt.Sprintf("%05d", i*7919%2000), strings.Repeat(name, 10)})
	}
	out := collect(t, Config{Dir: dir, Name: name, Pool: pool, Partitions: 1, KeepInMemory: true, Compression: codec}, in)
	if out.Path() != "" {
		t.Fatalf("%s is not in memory", name)
	}
	return out, reference(in, 1, func(_, _ []byte) int { return 0 }, bytes.Compare)[0]
}

// TestSpillToDiskUnderReaders moves an output to disk while it is read from memory.
func TestSpillToDiskUnderReaders(t *testing.T) {
	for _, codec := range []Compression{None, S2} {
		dir, pool := t.TempDir(), NewPool(4<<20)
		out, want := keptOutput(t, pool, dir, "map", codec)
		before, err := out.Open(0)
		if err != nil {
			t.Fatal(err)
		}
		before.Next()
		info := out.Info(0)
		if err := errors.Join(out.SpillToDisk(), out.SpillToDisk()); err != nil {
			t.Fatal(err)
		}
		if after := out.Info(0); after.Records != info.Records || after.RawBytes != info.RawBytes || out.Path() == "" {
			t.Fatalf("info %+v became %+v, path %q", info, after, out.Path())
		}
		if pool.InUse() == 0 {
			t.Fatal("memory was freed under a reader")
		}
		first := pair{string(before.Key()), string(before.Value())}
		wantPairs(t, "from memory", append([]pair{first}, drain(t, before)...), want)
		wantIdle(t, pool)
		again, err := OpenOutput(out.Path())
		if err != nil {
			t.Fatal(err)
		}
		run, err := again.Open(0)
		if err != nil {
			t.Fatal(err)
		}
		wantPairs(t, "from disk", drain(t, run), want)
		if err := out.Release(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Open(0); !errors.Is(err, errReleased) {
			t.Fatalf("open after release: %v", err)
		}
		wantEmptyDir(t, dir)
	}
}

// TestKeptOutputsMakeRoom fills a pool with kept outputs; a collector that needs
// the room gets it, and nothing is lost.
func TestKeptOutputsMakeRoom(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(2<<20)
	var outs []*Output
	var wants [][]pair
	for i := range 24 {
		out, want := keptOutput(t, pool, dir, fmt.Sprintf("map-%d", i), None)
		outs, wants = append(outs, out), append(wants, want)
	}
	files, err := fs.Glob(os.DirFS(dir), "*.seg")
	if err != nil || len(files) == 0 || len(files) == len(outs) {
		t.Fatalf("%d of %d outputs went to disk, %v", len(files), len(outs), err)
	}
	for i, out := range outs {
		run, err := out.Open(0)
		if err != nil {
			t.Fatal(err)
		}
		wantPairs(t, out.name, drain(t, run), wants[i])
		if err := out.Release(); err != nil {
			t.Fatal(err)
		}
	}
	wantIdle(t, pool)
	wantEmptyDir(t, dir)
}

// creatingFS says when a file is about to be made.
type creatingFS struct {
	osFS
	creating chan struct{}
}

func (c creatingFS) Create(name string) (File, error) {
	close(c.creating)
	return c.osFS.Create(name)
}

// TestOutputLeavesMemoryUnderEyes asks an output about itself while the pool moves it to disk. Nothing orders the two but the
// locks of the output: the race detector is the judge.
func TestOutputLeavesMemoryUnderEyes(t *testing.T) {
	look := map[string]func(o *Output) bool{
		"Partitions": func(o *Output) bool { return o.Partitions() == 3 },
		"Tag":        func(o *Output) bool { return o.Tag() == nameTag("map") },
		"Info":       func(o *Output) bool { return o.Info(0).Records == 1 },
		"Open":       func(o *Output) bool { _, err := o.Open(3); return err != nil },
	}
	for name, right := range look {
		t.Run(name, func(t *testing.T) {
			fs := creatingFS{creating: make(chan struct{})}
			cfg := Config{Dir: t.TempDir(), Name: "map", Pool: NewPool(4 << 20), Partitions: 3, KeepInMemory: true, FS: fs}
			cfg.Partition = func(_, _ []byte) int { return 0 }
			out := collect(t, cfg, []pair{{"k", "v"}})
			moved := make(chan error)
			go func() { moved <- out.SpillToDisk() }()
			<-fs.creating
			was := right(out)
			if err := <-moved; err != nil || !was || !right(out) || out.Path() == "" {
				t.Fatalf("right before %v, after %v, path %q: %v", was, right(out), out.Path(), err)
			}
		})
	}
}

// TestPanicsInUserCode has functions that panic, in the background and in the foreground.
func TestPanicsInUserCode(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(256<<10)
	calls := 0
	cfg := Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1, Combine: func(_ []byte, _ Run, _ func(k, v []byte) error) error {
		if calls++; calls == 50 {
			panic("user code")
		}
		return nil
	}}
	c, err := NewCollector(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil && i < 1e6; i++ {
		err = c.Add(fmt.Appendf(nil, "%d", i), make([]byte, 50))
	}
	p, ok := errors.AsType[*PanicError](err)
	if !ok || p.Value != "user code" || !strings.Contains(err.Error(), "TestPanicsInUserCode") {
		t.Fatalf("error %v, want the panic with its stack", err)
	}
	c.Discard()
	wantIdle(t, pool)
	wantEmptyDir(t, dir)
}

func TestCombinerMustKeepOrderAndPartition(t *testing.T) {
	for name, emitted := range map[string][]string{"order": {"b", "a"}, "partition": {"zz"}} {
		cfg := Config{Dir: t.TempDir(), Name: "map", Pool: NewPool(1 << 20), Partitions: 2}
		cfg.Partition = func(k, _ []byte) int { return len(k) - 1 }
		cfg.Combine = func(_ []byte, _ Run, emit func(k, v []byte) error) error {
			for _, k := range emitted {
				if err := emit([]byte(k), nil); err != nil {
					return err
				}
			}
			return nil
		}
		c, err := NewCollector(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Add([]byte("a"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Finish(); err == nil || !strings.Contains(err.Error(), "combiner") {
			t.Errorf("%s: %v", name, err)
		}
		c.Discard()
		wantIdle(t, cfg.Pool)
		wantEmptyDir(t, cfg.Dir)
	}
}

func TestBadConfigs(t *testing.T) {
	good := Config{Dir: t.TempDir(), Name: "map", Pool: NewPool(1 << 20), Partitions: 1}
	for want, change := range map[string]func(c *Config){
		"0 partitions":  func(c *Config) { c.Partitions = 0 },
		"name":          func(c *Config) { c.Name = "../x" },
		"name \"\"":     func(c *Config) { c.Name = "" },
		"name \"a/b\"":  func(c *Config) { c.Name = "a/b" },
		"name \"a\\x00": func(c *Config) { c.Name = "a\x00" },
		"no Pool":       func(c *Config) { c.Pool = nil },
		"merge factor":  func(c *Config) { c.MergeFactor = 1 },
		"record limit":  func(c *Config) { c.MaxRecord = -1 },
		"both Fold":     func(c *Config) { c.Fold, c.Combine = &Fold{Op: SumInt}, sumCombiner },
		"either an int": func(c *Config) { c.Fold = &Fold{} },
		"compression 9": func(c *Config) { c.Compression = 9 },
	} {
		cfg := good
		change(&cfg)
		if _, err := NewCollector(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if cfg.Partitions == 0 || cfg.Combine != nil { // a merge has one partition, and may have both
			continue
		}
		if _, err := Merge(t.Context(), cfg.merge(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a merge: want %q, got %v", want, err)
		}
	}
	missing := good
	missing.Dir += "/nowhere"
	c, err := NewCollector(t.Context(), missing)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Finish(); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, ErrScratch) {
		t.Errorf("missing directory: %v", err)
	}
	c.Discard()
	if _, err := ParseCompression("brotli"); err == nil {
		t.Error("brotli is known")
	}
}

// countingFS counts open files.
type countingFS struct {
	osFS
	open, peak atomic.Int64
}

type countedFile struct {
	File
	fs *countingFS
}

func (c *countingFS) count(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	n := c.open.Add(1)
	for old := c.peak.Load(); n > old && !c.peak.CompareAndSwap(old, n); old = c.peak.Load() {
	}
	return &countedFile{f, c}, nil
}

func (c *countingFS) Create(name string) (File, error) { return c.count(c.osFS.Create(name)) }
func (c *countingFS) Open(name string) (File, error)   { return c.count(c.osFS.Open(name)) }

func (f *countedFile) Close() error {
	f.fs.open.Add(-1)
	return f.File.Close()
}

// TestDescriptors merges many outputs of many partitions with few files open.
func TestDescriptors(t *testing.T) {
	dir, pool, files := t.TempDir(), NewPool(1<<20), &countingFS{}
	const maps, parts = 120, 120
	cfg := Config{Dir: dir, Pool: pool, Partitions: parts, MergeFactor: 20, FS: files}
	cfg.Partition = func(k, _ []byte) int { return int(nameTag(string(k)) % parts) }
	var outs []*Output
	for i := range maps {
		cfg.Name = fmt.Sprintf("map-%d", i)
		var in []pair
		for j := range parts {
			in = append(in, pair{fmt.Sprint(j), fmt.Sprint(i)})
		}
		outs = append(outs, collect(t, cfg, in))
	}
	records := 0
	for p := range parts {
		records += len(mergeOutputs(t, cfg, outs, p))
	}
	if records != maps*parts {
		t.Errorf("%d records, want %d", records, maps*parts)
	}
	if peak := files.peak.Load(); peak > 21 || files.open.Load() != 0 {
		t.Errorf("%d files open at once, %d at the end", peak, files.open.Load())
	}
	var runs []Run
	for p := range parts { // readers of one output share a descriptor
		run, err := outs[0].Open(p)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	if n := files.open.Load(); n != 1 {
		t.Errorf("%d descriptors for one output", n)
	}
	for _, r := range runs {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, o := range outs {
		if err := o.Release(); err != nil {
			t.Error(err)
		}
	}
	wantIdle(t, pool)
	wantEmptyDir(t, dir)
}
