package shuffle

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/s2"
	"pgregory.net/rapid"
)

// inUse is the memory that a collector has, block by block, while nothing is written in the background.
func inUse(c *Collector) int64 {
	block := int64(c.cfg.Pool.blockSize)
	n := frameBufferBytes(c.cfg.Pool, c.cfg.Compression)
	if t := c.table; t != nil {
		for _, b := range t.keys.blocks {
			n += int64(len(b))
		}
		if tables := int64(len(t.tables)); tables > 0 {
			n += (2*tables + 1) * block // and as much to sort them
		}
		return n + t.heapOK
	}
	for _, b := range c.data.blocks {
		n += int64(len(b))
	}
	return n + 2*int64(len(c.idx.blocks))*block
}

// checkBooks compares what a collector has reserved with what it has, and what its accumulators take with what is reserved for them.
func checkBooks(t *rapid.T, c *Collector, when int) {
	if c.lot != nil {
		return
	}
	if has := inUse(c); c.acct.held != has {
		t.Fatalf("after record %d %d bytes are reserved for %d", when, c.acct.held, has)
	}
	tab := c.table
	if tab == nil || tab.fold.Op != OpBytes {
		return
	}
	if least := int64(len(tab.accs)) * accBytes; tab.heap < least || tab.heap > tab.heapOK+int64(c.cfg.Pool.blockSize) {
		t.Fatalf("after record %d: %d bytes of accumulators, %d at least, and %d reserved", when, tab.heap, least, tab.heapOK)
	}
}

// writtenFS counts files and what is written to them.
type writtenFS struct {
	osFS
	files, bytes atomic.Int64
}

type writtenFile struct {
	File
	fs *writtenFS
}

func (f *writtenFS) Create(name string) (File, error) {
	f.files.Add(1)
	file, err := f.osFS.Create(name)
	return &writtenFile{file, f}, err
}

func (f *writtenFile) Write(b []byte) (int, error) {
	f.fs.bytes.Add(int64(len(b)))
	return f.File.Write(b)
}

// TestBooksOfMemory: what a collector takes of the pool is what it has, after every record, and nothing is left in the books at the end; and it tells what it took in, and wrote.
func TestBooksOfMemory(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(modes).Draw(t, "mode")
		pool := NewPool(int64(rapid.SampledFrom([]int{256 << 10, 1 << 20}).Draw(t, "budget")))
		fs := &writtenFS{}
		cfg := Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1, Fold: m.fold, Combine: m.combine, FS: fs}
		cfg.MergeFactor = rapid.SampledFrom([]int{2, 64}).Draw(t, "factor")
		in := drawPairs(t, m.ints)
		for i := range rapid.SampledFrom([]int{0, 10, 5000}).Draw(t, "more keys") {
			in = append(in, pair{fmt.Sprintf("key %d", i), string(encodeInt(nil, int64(i)))})
		}
		c, err := NewCollector(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Discard()
		size := 0
		for i, p := range in {
			if err := c.Add([]byte(p.key), []byte(p.value)); err != nil {
				t.Fatal(err)
			}
			checkBooks(t, c, i)
			size += len(p.key) + len(p.value)
		}
		out, err := c.Finish()
		if err != nil {
			t.Fatal(err)
		}
		s := c.Stats()
		if s.Records != int64(len(in)) || s.Bytes != int64(size) || s.OutRecords != out.Info(0).Records {
			t.Errorf("%+v of %d records, %d bytes, %d put out", s, len(in), size, out.Info(0).Records)
		}
		if m.ref == nil && (s.OutRecords != s.Records || s.CombineIn != 0) || m.ref != nil && s.OutRecords > s.Records {
			t.Errorf("%s: %+v", m.name, s)
		}
		files, written := fs.files.Load(), fs.bytes.Load()
		if all := s.SpilledBytes + out.Info(0).StoredBytes + files*(segmentHeader+segmentTrailer+indexEntry); s.Spills > files-1 || written != all || (s.SpilledRecords > 0) != (s.Spills > 0) {
			t.Errorf("%+v: %d bytes in %d files, not %d", s, written, files, all)
		}
		if err := out.Release(); err != nil {
			t.Error(err)
		}
		wantIdle(t, pool)
	})
}

// TestMergeInMemoryWritesNothing: outputs in memory are merged in any number; those on disk only as many as may be open.
func TestMergeInMemoryWritesNothing(t *testing.T) {
	for _, keep := range []bool{true, false} {
		fs := &faultFS{kinds: "c"}
		cfg := Config{Dir: t.TempDir(), Pool: NewPool(4 << 20), Partitions: 1, MergeFactor: 3, KeepInMemory: keep, FS: fs}
		var in []pair
		for i := range 200 {
			in = append(in, pair{fmt.Sprint(i % 50), fmt.Sprint(i)})
		}
		outs := collectAll(t, cfg, in, 9)
		files := fs.n.Load()
		wantPairs(t, fmt.Sprintf("keep %t", keep), mergeOutputs(t, cfg, outs, 0), reference(in, 1, func(_, _ []byte) int { return 0 }, bytes.Compare)[0])
		want := [2]int64{9, 3} // each pass makes one of three, until three are left
		if keep {
			want = [2]int64{}
		}
		if passes := fs.n.Load() - files; [2]int64{files, passes} != want {
			t.Errorf("keep %t: %d files and %d passes", keep, files, passes)
		}
	}
}

// TestFooterLimits: an index is taken whose partitions follow each other up to it, in frames of a size that there may be, and no other.
func TestFooterLimits(t *testing.T) {
	good := []PartitionInfo{{1, 5, 10, segmentHeader}, {0, 0, 0, segmentHeader + 10}, {2, 30, 20, segmentHeader + 10}}
	for what, x := range map[string]struct {
		frame  uint32
		change func(p []PartitionInfo)
		ok     bool
	}{
		"good":             {1 << 10, func([]PartitionInfo) {}, true},
		"smallest frames":  {frameHeader, func([]PartitionInfo) {}, true},
		"largest frames":   {maxBlock, func([]PartitionInfo) {}, true},
		"frames too small": {frameHeader - 1, func([]PartitionInfo) {}, false},
		"frames too large": {maxBlock + 1, func([]PartitionInfo) {}, false},
		"a gap":            {1 << 10, func(p []PartitionInfo) { p[1].Offset++ }, false},
		"beyond the index": {1 << 10, func(p []PartitionInfo) { p[2].StoredBytes++ }, false},
		"before the index": {1 << 10, func(p []PartitionInfo) { p[2].StoredBytes-- }, false},
		"less than none":   {1 << 10, func(p []PartitionInfo) { p[1].StoredBytes--; p[2].Offset-- }, false},
		"negative bytes":   {1 << 10, func(p []PartitionInfo) { p[1].RawBytes = -1 }, false},
		"negative records": {1 << 10, func(p []PartitionInfo) { p[1].Records = -1 }, false},
	} {
		parts := slices.Clone(good)
		x.change(parts)
		var b []byte
		for _, p := range parts {
			for _, n := range []int64{p.Offset, p.StoredBytes, p.RawBytes, p.Records} {
				b = binary.LittleEndian.AppendUint64(b, uint64(n))
			}
		}
		f := &footer{frame: x.frame}
		if err := f.parseIndex(b, segmentHeader+30); (err == nil) != x.ok || x.ok && !slices.Equal(f.partitions, parts) {
			t.Errorf("%s: %+v, %v", what, f.partitions, err)
		}
	}
}

// endingCtx ends after it was asked so often.
type endingCtx struct {
	context.Context
	left int
}

func (c *endingCtx) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestSortThatIsCanceledSaysSo, wherever that finds it, or is done.
func TestSortThatIsCanceledSaysSo(t *testing.T) {
	sets := map[string]func(i int) string{
		"random": func(i int) string { return fmt.Sprint(uint32(i) * 2654435761) },
		"shared": func(i int) string { return fmt.Sprintf("key %06d", i*7919%100003) },
		"ties":   func(i int) string { return "the same first bytes " + fmt.Sprint(i*7919%1009) },
	}
	for what, key := range sets {
		for _, compare := range []func(a, b []byte) int{nil, bytes.Compare} {
			canceled := 0
			for after := 0; ; after++ {
				pool := NewPool(minBudget)
				data, idx, scratch := newArena(pool), newIndex(pool), newIndex(pool)
				for i := range 3000 {
					k := []byte(key(i))
					if recordSize(len(k), 0) > len(data.free) {
						data.grow(recordSize(len(k), 0))
					}
					if idx.full() {
						idx.grow()
						scratch.grow()
					}
					e := entry{loc: data.put(k, nil), tag: makeTag(i%2, len(k))}
					if compare == nil {
						e.prefix = prefixOf(k)
					}
					idx.add(e)
				}
				ctx := &endingCtx{t.Context(), after}
				starts, err := sortIndex(ctx, &idx, &scratch, 2, &data, compare)
				if err != nil {
					canceled++
					continue
				}
				for p := range 2 {
					for i := starts[p] + 1; i < starts[p+1]; i++ {
						if x, y := data.key(idx.at(i-1).loc), data.key(idx.at(i).loc); bytes.Compare(x, y) > 0 {
							t.Fatalf("%s, own order %t: canceled after %d looks, it puts %q before %q", what, compare != nil, after, x, y)
						}
					}
				}
				if ctx.left >= 0 { // it did not end
					break
				}
			}
			if canceled < 2 {
				t.Errorf("%s, own order %t: canceled only %d times", what, compare != nil, canceled)
			}
		}
	}
}

// TestIntakeIsClosedByMerge: what comes after is refused, and not lost.
func TestIntakeIsClosedByMerge(t *testing.T) {
	dir := t.TempDir()
	segs, _ := mapOutputs(t, dir, 2, 20, None, nil)
	in := newTestIntake(t, dir, NewPool(1<<20), 0, nil)
	takeAll(t, in, segs[:1])
	run, err := in.Merge()
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Take(t.Context(), segs[1]); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after the merge: %v", err)
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// TestFrameThatPromisesMuch: a few bytes that say they are a gigabyte take none.
func TestFrameThatPromisesMuch(t *testing.T) {
	frame := append(binary.AppendUvarint(nil, 1<<30), s2.Encode(nil, []byte("words"))[1:]...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := unpack(make([]byte, 5), frame, S2, 5)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 1<<24 {
		t.Errorf("%v, and took %d bytes", err, took)
	}
}

// TestBoundsOfRoom: what just fits has room with others, and memory is reserved in whole blocks.
func TestBoundsOfRoom(t *testing.T) {
	p := NewPool(64 << 20)
	c := &Collector{cfg: Config{Pool: p}}
	for size, large := range map[int]bool{p.blockSize: false, int(p.limit / 8): false, int(p.limit/8) + 1: true} {
		if got := c.large(size); got != large {
			t.Errorf("a record of %d bytes is large: %v", size, got)
		}
	}
	small := &Collector{cfg: Config{Pool: &Pool{blockSize: 4096, limit: 8 * 1000}}}
	if small.large(4096) || !small.large(4097) {
		t.Error("a record that fits a block is large, or one that does not is not")
	}
	w := &segmentWriter{ctx: t.Context(), buf: make([]byte, frameHeader, frameHeader+10)}
	if done, err := w.room(10); done || err != nil {
		t.Errorf("a record that just fits a frame is written alone: %v, %v", done, err)
	}
	block := int64(p.blockSize)
	for stored, want := range map[int64]int64{roomy * block: roomy * block, roomy*block + 1: (roomy + 1) * block, (roomy+1)*block - 1: (roomy + 1) * block} {
		acct, err := p.join(t.Context(), 0, false)
		if err != nil {
			t.Fatal(err)
		}
		r, ok := newRoom(t.Context(), acct, &PartitionInfo{StoredBytes: stored, RawBytes: stored, Records: 1})
		if !ok || !r.inBlocks || r.bytes != want || p.InUse() != want {
			t.Errorf("a segment of %d bytes gets %+v, %d bytes are in use, want %d", stored, r, p.InUse(), want)
		}
		r.free()
		acct.close()
	}
}

// TestColdBlocksFirst: a pool hands out the blocks it has before it asks the system for new ones, those in use lately first.
func TestColdBlocksFirst(t *testing.T) {
	p := NewPool(minBudget)
	warm, cold := make([]byte, p.blockSize), make([]byte, p.blockSize)
	p.free, p.cold = [][]byte{warm}, [][]byte{cold}
	if one, two := p.block(), p.block(); &one[0] != &warm[0] || &two[0] != &cold[0] || len(p.cold) != 0 {
		t.Error("a new block was made while an old one was there")
	}
}

// TestReadersEndOnce: what is to happen at the end of a reader happens once, however often it is closed.
func TestReadersEndOnce(t *testing.T) {
	ends := 0
	r := &frameReader{onDone: func() error { ends++; return nil }}
	for range 2 {
		if err := r.close(); err != nil || ends != 1 {
			t.Errorf("it ended %d times, %v", ends, err)
		}
	}
}

// TestPackedShrinks: an output that fills at most half of one block moves to memory of its own size: what that saves, and what the arena has, add
// up to the block. A fuller one stays.
func TestPackedShrinks(t *testing.T) {
	pool := NewPool(minBudget)
	for _, x := range []struct {
		fill    int
		shrinks bool
	}{{100, true}, {pool.blockSize / 2, true}, {pool.blockSize/2 + 1, false}, {pool.blockSize, false}} {
		k := &packed{arena: newArena(pool), parts: make([]packedPart, 2), take: func(int) bool { return true }}
		var want [2][]byte
		for p := range want {
			k.begin(p)
			n, size := x.fill/2+p*(x.fill%2), x.fill
			for recordSize(0, size) > n {
				size--
			}
			if err := k.add(nil, bytes.Repeat([]byte{byte('a' + p)}, size)); err != nil {
				t.Fatal(err)
			}
		}
		k.endRange()
		for p := range want {
			want[p] = bytes.Clone(slices.Concat(k.parts[p].ranges...))
		}
		block := int64(pool.blockSize)
		saved := k.shrink()
		if used := block - saved; saved+k.arena.bytes != block || (saved > 0) != x.shrinks || x.shrinks && used != int64(len(want[0])+len(want[1])) {
			t.Errorf("%d bytes: %d are saved of %d, the arena has %d", x.fill, saved, block, k.arena.bytes)
		}
		for p := range want {
			if got := slices.Concat(k.parts[p].ranges...); !bytes.Equal(got, want[p]) {
				t.Errorf("%d bytes: partition %d has %d other bytes", x.fill, p, len(got))
			}
		}
	}
}
