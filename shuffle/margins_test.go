package shuffle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestLateRecordCannotBeRead makes each read of a merge of large records fail once. The merge ends with that error, whether it compared keys
// or gave a record out: a second read would succeed, and then the order would be wrong.
func TestLateRecordCannotBeRead(t *testing.T) {
	reverse := func(a, b []byte) int { return bytes.Compare(b, a) }
	for name, compare := range map[string]func(a, b []byte) int{"bytes": nil, "own order": reverse} {
		fs := &faultFS{err: syscall.EIO}
		cfg := Config{Dir: t.TempDir(), Pool: NewPool(256 << 10), Partitions: 1, Compare: compare, FS: fs}
		var outs []*Output
		for i, g := range giants(20 << 10) {
			cfg.Name = fmt.Sprintf("map-%d", i)
			outs = append(outs, collect(t, cfg, []pair{g}))
		}
		m := cfg.merge()
		m.Name, fs.kinds = "reduce", "r"
		read := func() error {
			run, err := Merge(t.Context(), m, sourcesOf(outs))
			if err != nil {
				return err
			}
			for run.Next() {
			}
			return errors.Join(run.Err(), run.Close())
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		for at, total := int64(1), fs.n.Load(); at <= total; at++ {
			fs.n.Store(0)
			fs.at = at
			if err := read(); !errors.Is(err, syscall.EIO) || !errors.Is(err, ErrScratch) || !strings.Contains(err.Error(), "map-") {
				t.Errorf("%s: read %d of %d: %v", name, at, total, err)
			}
			wantIdle(t, cfg.Pool)
		}
	}
}

// TestMergeWhoseSourceMoves: while a merge waits for its memory an output that it reads may go to disk, and then it needs more. Both reservations
// are in the books once.
func TestMergeWhoseSourceMoves(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(1<<20)
	kept, want := keptOutput(t, pool, dir, "kept", None)
	cfg := Config{Dir: dir, Name: "file", Pool: pool, Partitions: 1}
	outs := []*Output{collect(t, cfg, []pair{{"a", "first"}}), kept}
	others := &account{pool: pool}
	others.force(pool.limit - pool.InUse())
	m := cfg.merge()
	m.Name = "reduce"
	run, err := Merge(t.Context(), m, sourcesOf(outs))
	if err != nil {
		t.Fatal(err)
	}
	if kept.Path() == "" {
		t.Fatal("the output was not in the way")
	}
	if n, need := pool.InUse()-others.held, 2*int64(pool.frameSize()); n != need {
		t.Errorf("%d bytes are reserved to read two files, want %d", n, need)
	}
	got := drain(t, run)
	if err := run.Close(); err != nil || pool.InUse() != others.held {
		t.Errorf("closed twice: %v, %d bytes are in use", err, pool.InUse()-others.held)
	}
	others.close()
	wantIdle(t, pool)
	slices.SortFunc(got, comparePairs)
	all := append([]pair{{"a", "first"}}, want...)
	slices.SortFunc(all, comparePairs)
	wantPairs(t, "merged", got, all)
}

// TestMergeOfLargeFrames: files that a process with much memory has written are merged by one with little, two at a time if need be.
func TestMergeOfLargeFrames(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(1<<20)
	for n := 2; n <= 5; n++ {
		cfg := Config{Dir: dir, Pool: NewPool(64 << 20), Partitions: 1}
		var in []pair
		for i := range 20 * n {
			in = append(in, pair{fmt.Sprint(i % 7), fmt.Sprint(i)})
		}
		outs := collectAll(t, cfg, in, n)
		fs := &faultFS{kinds: "c"}
		cfg.Pool, cfg.FS = pool, fs
		wantPairs(t, fmt.Sprint(n, " files"), mergeOutputs(t, cfg, outs, 0), reference(in, 1, func(_, _ []byte) int { return 0 }, bytes.Compare)[0])
		if passes := int(fs.n.Load()); passes != n-2 {
			t.Errorf("%d files: %d passes", n, passes)
		}
		wantIdle(t, pool)
		for _, o := range outs {
			if err := o.Release(); err != nil {
				t.Error(err)
			}
		}
	}
	wantEmptyDir(t, dir)
}

// TestIndexThatMiscounts: an index may be whole and yet not tell the truth; then a reader says so, wherever the last frame ends.
func TestIndexThatMiscounts(t *testing.T) {
	pool := NewPool(minBudget)
	for what, last := range map[string]string{"small": "v", "larger than a frame": strings.Repeat("v", 2*pool.frameSize())} {
		for _, more := range []int64{-1, 0, 1} {
			cfg := Config{Dir: t.TempDir(), Name: "map", Pool: pool, Partitions: 1}
			out := collect(t, cfg, []pair{{"a", "v"}, {"b", last}})
			content, err := os.ReadFile(out.Path())
			if err != nil {
				t.Fatal(err)
			}
			at := int64(len(content) - segmentTrailer - indexEntry)
			f := &footer{tag: out.tag, frame: uint32(out.frame), partitions: out.infos}
			f.partitions[0].Records += more
			if err := os.WriteFile(out.Path(), f.appendTo(content[:at:at], at), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readSegment(out.Path())
			if more == 0 && (err != nil || len(got[0]) != 2) || more != 0 && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, %+d records: %d, %v", what, more, len(got), err)
			}
		}
	}
}

// TestRecordsOfNothing: a record may have neither key nor value; it counts all the same.
func TestRecordsOfNothing(t *testing.T) {
	for _, codec := range []Compression{None, S2, Zstd} {
		dir, pool := t.TempDir(), NewPool(1<<20)
		cfg := Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1, Compression: codec}
		want := make([]pair, 5000)
		out := collect(t, cfg, want)
		wantPairs(t, "from the file", mergeOutputs(t, cfg, []*Output{out}, 0), want)
		seg := segmentOf(t, out, cfg.Name, 0, nil)
		for _, memory := range []int64{1, 0} {
			got, err := intakeOnce(t, newTestIntake(t, dir, pool, memory, nil), []Segment{seg})
			if err != nil {
				t.Fatal(err)
			}
			wantPairs(t, "from an intake", got, want)
		}
		wantIdle(t, pool)
		wantEmptyDir(t, dir)
	}
}

// TestFinishOfWhatIsNotWanted ends with the reason, whatever the collector has: nothing, records, a fold, or spills.
func TestFinishOfWhatIsNotWanted(t *testing.T) {
	cause := errors.New("not wanted any more")
	for _, fold := range []*Fold{nil, {Op: SumInt}} {
		for _, records := range []int{0, 1, 30_000} {
			ctx, cancel := context.WithCancelCause(t.Context())
			dir, pool := t.TempDir(), NewPool(minBudget)
			c, err := NewCollector(ctx, Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1, Fold: fold})
			if err != nil {
				t.Fatal(err)
			}
			for i := range records {
				if err := c.AddInt(fmt.Appendf(nil, "%06d", i/2), 1); err != nil {
					t.Fatal(err)
				}
			}
			cancel(cause)
			if out, err := c.Finish(); out != nil || !errors.Is(err, cause) {
				t.Errorf("%d records, fold %v: %v, %v", records, fold != nil, out, err)
			}
			c.Discard()
			wantIdle(t, pool)
			wantEmptyDir(t, dir)
		}
	}
}

// closing is an input, stored or not, that says something when it is closed, once.
type closing struct {
	endlessRun
	err    error
	closed int
}

func (c *closing) more() ([]byte, error) { return nil, nil }
func (c *closing) close() error          { c.closed++; return c.err }
func (c *closing) Close() error          { return c.close() }

// TestStreamsTellWhyTheyCannotClose: the first reason, and none is swallowed; a stream that was closed holds nothing and gives nothing.
func TestStreamsTellWhyTheyCannotClose(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	for _, x := range []struct{ in, after, want error }{{nil, nil, nil}, {one, nil, one}, {nil, two, two}, {one, two, one}} {
		for _, stored := range []bool{true, false} {
			c, after := &closing{err: x.in}, 0
			s := &stream{buf: []byte("xyz"), onClose: func() error { after++; return x.after }}
			if stored {
				s.feed = c
			} else {
				s.ext = c
			}
			if err := s.Close(); !errors.Is(err, x.want) || (err == nil) != (x.want == nil) {
				t.Errorf("stored %v: %v, want %v", stored, err, x.want)
			}
			if err := s.Close(); err != nil || c.closed != 1 || after != 1 || s.Next() {
				t.Errorf("stored %v, closed again: %v; %d and %d times", stored, err, c.closed, after)
			}
		}
	}
}

// TestIdleBlocksGoBack: of the blocks that nobody uses a pool keeps as many as there is room for beside what others hold.
func TestIdleBlocksGoBack(t *testing.T) {
	p := NewPool(1 << 20)
	var all [][]byte
	for range 20 {
		all = append(all, p.block())
	}
	p.recycle(append(all, make([]byte, 7))...) // one is not the pool's
	for _, b := range all {
		if len(b) != p.blockSize {
			t.Fatalf("a block of %d bytes", len(b))
		}
	}
	for _, left := range []int64{20, 5, 0} {
		a := &account{pool: p}
		a.force(p.limit - left*int64(p.blockSize) - 1 + min(left, 1))
		if p.trim(); int64(len(p.free)) != left {
			t.Errorf("there is room for %d idle blocks, and %d are kept", left, len(p.free))
		}
		a.close()
	}
	seen := map[*byte]bool{}
	for range 20 {
		b := p.block()
		if len(b) != p.blockSize || seen[&b[0]] {
			t.Fatalf("a block of %d bytes, given twice: %v", len(b), seen[&b[0]])
		}
		seen[&b[0]] = true
	}
	wantIdle(t, p)
}
