package shuffle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// faultFS fails one operation, counted from 1 over all files.
type faultFS struct {
	osFS
	at     int64 // operation that fails; 0: none
	err    error
	short  bool   // a failing write writes half and reports nothing
	sticky bool   // and all operations of the kind after it
	kinds  string // letters of the operations that count: c(reate) o(pen) w(rite) r(ead) m(ove) d(elete) l(close)
	n      atomic.Int64
	hits   atomic.Int64
	open   atomic.Int64 // files that nobody has closed
}

func (f *faultFS) fails(kind string) bool {
	if !strings.Contains(f.kinds, kind) {
		return false
	}
	n := f.n.Add(1)
	if f.at == 0 || n < f.at || n > f.at && !f.sticky {
		return false
	}
	f.hits.Add(1)
	return true
}

func (f *faultFS) Create(name string) (File, error) {
	if f.fails("c") {
		return nil, f.err
	}
	return f.wrap(f.osFS.Create(name))
}

func (f *faultFS) Open(name string) (File, error) {
	if f.fails("o") {
		return nil, f.err
	}
	return f.wrap(f.osFS.Open(name))
}

func (f *faultFS) Rename(from, to string) error {
	if f.fails("m") {
		return f.err
	}
	return f.osFS.Rename(from, to)
}

func (f *faultFS) Remove(name string) error {
	if f.fails("d") {
		return f.err
	}
	return f.osFS.Remove(name)
}

func (f *faultFS) wrap(file File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	f.open.Add(1)
	return &faultFile{file, f}, nil
}

type faultFile struct {
	File
	fs *faultFS
}

func (f *faultFile) Write(b []byte) (int, error) {
	if f.fs.fails("w") {
		n, err := f.File.Write(b[:len(b)/2])
		if err == nil && !f.fs.short {
			err = f.fs.err
		}
		return n, err
	}
	return f.File.Write(b)
}

func (f *faultFile) ReadAt(b []byte, off int64) (int, error) {
	if f.fs.fails("r") {
		if errors.Is(f.fs.err, errFlip) {
			n, err := f.File.ReadAt(b, off)
			b[n/2] ^= 0x10
			return n, err
		}
		return 0, f.fs.err
	}
	return f.File.ReadAt(b, off)
}

func (f *faultFile) Close() error {
	err := f.File.Close()
	f.fs.open.Add(-1)
	if f.fs.fails("l") {
		return f.fs.err
	}
	return err
}

var errFlip = errors.New("flip a bit")

// shuffleOnce sends records through collectors with spills, a merge with passes, and back.
func shuffleOnce(ctx context.Context, dir string, fs FS, keep bool) (all []pair, err error) {
	pool := NewPool(256 << 10)
	cfg := Config{Dir: dir, Pool: pool, Partitions: 2, FS: fs, MergeFactor: 3, Compression: S2, KeepInMemory: keep}
	cfg.Partition = func(k, _ []byte) int { return int(k[0]) & 1 }
	var outs []*Output
	defer func() {
		for _, o := range outs {
			_ = o.Release() // may be what fails
		}
		if n := pool.InUse(); n != 0 {
			err = fmt.Errorf("%d bytes of the pool are still in use after %w", n, err)
			all = nil
		}
	}()
	for i := range 5 {
		cfg.Name = fmt.Sprintf("map-%d", i)
		out, err := collectOnce(ctx, cfg, i)
		if err != nil {
			return nil, err
		}
		outs = append(outs, out)
	}
	return mergeOnce(ctx, cfg, outs)
}

func collectOnce(ctx context.Context, cfg Config, seed int) (*Output, error) {
	c, err := NewCollector(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer c.Discard()
	for i := range 900 {
		key := fmt.Appendf(nil, "%c-%d-%d", 'a'+i%2, (i*7919+seed)%1000, seed)
		if err := c.Add(key, bytes.Repeat([]byte{byte(i)}, 300)); err != nil {
			return nil, err
		}
	}
	return c.Finish()
}

func mergeOnce(ctx context.Context, cfg Config, outs []*Output) (all []pair, err error) {
	for p := range 2 {
		m := cfg.merge()
		m.Name = "reduce"
		var sources []Source
		for _, o := range outs {
			sources = append(sources, o.Source(p))
		}
		run, err := Merge(ctx, m, sources)
		if err != nil {
			return nil, err
		}
		for run.Next() {
			all = append(all, pair{string(run.Key()), string(run.Value())})
		}
		if err := errors.Join(run.Err(), run.Close()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// TestEveryOperationFails makes each file operation in turn fail and wants an error that names
// the file and nothing left behind.
func TestEveryOperationFails(t *testing.T) {
	for _, keep := range []bool{false, true} {
		clean := &faultFS{kinds: "cowrml"}
		want, err := shuffleOnce(t.Context(), t.TempDir(), clean, keep)
		if err != nil {
			t.Fatal(err)
		}
		total := clean.n.Load()
		step, hits := max(total/40, 1), int64(0)
		for at := int64(1); at <= total; at += step {
			fault := &faultFS{kinds: "cowrml", at: at, err: syscall.ENOSPC}
			dir := t.TempDir()
			got, err := shuffleOnce(t.Context(), dir, fault, keep)
			switch {
			case err != nil && strings.Contains(err.Error(), "still in use"):
				t.Fatalf("operation %d: %v", at, err)
			case err == nil: // closing a file that was only read may fail unnoticed
				wantPairs(t, fmt.Sprintf("operation %d", at), got, want)
			case !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, ErrScratch) || !strings.Contains(err.Error(), dir):
				t.Fatalf("operation %d: error %v does not name cause, class and file", at, err)
			}
			wantEmptyDir(t, dir)
			if n := fault.open.Load(); n != 0 {
				t.Fatalf("operation %d: %d files are open still", at, n)
			}
			hits += fault.hits.Load()
		}
		// Spills in the background do not always end at the same record, so the last
		// operations may not come to pass.
		if tried := total / step; hits < tried*3/4 {
			t.Fatalf("keep=%v: only %d of %d operations failed", keep, hits, tried)
		}
	}
}

// TestEveryOperationOfAMergeFails makes each operation of a merge with passes fail, without luck: nothing else runs. None of them is overlooked, not
// even the end of a file that was only read, and nothing stays open or reserved.
func TestEveryOperationOfAMergeFails(t *testing.T) {
	fs := &faultFS{err: syscall.ENOSPC}
	cfg := Config{Dir: t.TempDir(), Pool: NewPool(1 << 20), Partitions: 2, MergeFactor: 3, Compression: S2, FS: fs}
	cfg.Partition = func(k, _ []byte) int { return int(k[0]) & 1 }
	var outs []*Output
	for i := range 5 {
		cfg.Name = fmt.Sprintf("map-%d", i)
		out, err := collectOnce(t.Context(), cfg, i)
		if err != nil {
			t.Fatal(err)
		}
		outs = append(outs, out)
	}
	for _, kinds := range []string{"cwmol", "d", "r"} {
		fs.kinds, fs.at, cfg.Dir = kinds, 0, t.TempDir()
		fs.n.Store(0)
		if _, err := mergeOnce(t.Context(), cfg, outs); err != nil {
			t.Fatal(err)
		}
		total := fs.n.Load()
		if total < 2 {
			t.Fatalf("%d operations %q: there was no pass", total, kinds)
		}
		for at := int64(1); at <= total; at += max(total/20, 1) {
			fs.n.Store(0)
			fs.at, cfg.Dir = at, t.TempDir()
			if _, err := mergeOnce(t.Context(), cfg, outs); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, ErrScratch) {
				t.Errorf("operation %d of %q: %v", at, kinds, err)
			}
			if n := fs.open.Load(); n != 0 {
				t.Fatalf("operation %d of %q: %d files are open still", at, kinds, n)
			}
			wantIdle(t, cfg.Pool)
		}
	}
}

// TestShortWrite has a write that writes less than asked and says nothing.
func TestShortWrite(t *testing.T) {
	fault := &faultFS{kinds: "w", at: 4, short: true}
	dir := t.TempDir()
	_, err := shuffleOnce(t.Context(), dir, fault, false)
	if !errors.Is(err, ErrScratch) || !strings.Contains(err.Error(), "wrote ") {
		t.Fatalf("error %v, want one about a short write", err)
	}
	wantEmptyDir(t, dir)
}

// TestFlipOnRead flips a bit in each read in turn.
func TestFlipOnRead(t *testing.T) {
	clean := &faultFS{kinds: "r"}
	if _, err := shuffleOnce(t.Context(), t.TempDir(), clean, false); err != nil {
		t.Fatal(err)
	}
	flips := 0
	for at := int64(1); at <= clean.n.Load(); at += 11 {
		fault := &faultFS{kinds: "r", at: at, err: errFlip}
		dir := t.TempDir()
		_, err := shuffleOnce(t.Context(), dir, fault, false)
		if flipped := fault.hits.Load() > 0; flipped != errors.Is(err, ErrCorrupt) {
			t.Fatalf("read %d: flipped %v, error %v", at, flipped, err)
		} else if flipped {
			flips++
		}
		wantEmptyDir(t, dir)
	}
	if flips < int(clean.n.Load())/22 {
		t.Fatalf("only %d of %d reads were flipped", flips, clean.n.Load())
	}
}

// smallSegment writes an output of a few partitions, one of them empty.
func smallSegment(t *testing.T, codec Compression) (path string, content []byte, want [][]pair) {
	t.Helper()
	cfg := Config{Dir: t.TempDir(), Name: "map-00007-0", Pool: NewPool(256 << 10), Partitions: 3, Compression: codec}
	cfg.Partition = func(k, _ []byte) int { return int(k[0]-'a') * 2 }
	var in []pair
	for i := range 40 {
		in = append(in, pair{fmt.Sprintf("%c%d", 'a'+i%2, i%11), strings.Repeat("v", i)})
	}
	out := collect(t, cfg, in)
	content, err := os.ReadFile(out.Path())
	if err != nil {
		t.Fatal(err)
	}
	return out.Path(), content, reference(in, 3, cfg.Partition, bytes.Compare)
}

// readSegment opens a segment file and reads all of it.
func readSegment(path string) ([][]pair, error) {
	o, err := OpenOutput(path)
	if err != nil {
		return nil, err
	}
	return readOutput(o)
}

func readOutput(o *Output) ([][]pair, error) {
	all := make([][]pair, o.Partitions())
	for p := range all {
		run, err := o.Open(p)
		if err != nil {
			return nil, err
		}
		for run.Next() {
			all[p] = append(all[p], pair{string(run.Key()), string(run.Value())})
		}
		if err := errors.Join(run.Err(), run.Close()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// TestEveryFlippedByte damages each byte of a segment file, in two ways.
func TestEveryFlippedByte(t *testing.T) {
	for _, codec := range []Compression{None, S2, Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			path, content, want := smallSegment(t, codec)
			got, err := readSegment(path)
			if err != nil {
				t.Fatal(err)
			}
			for p := range want {
				wantPairs(t, "undamaged", got[p], want[p])
			}
			for i := range content {
				for _, mask := range []byte{0x01, 0xff} {
					damaged := bytes.Clone(content)
					damaged[i] ^= mask
					wantDamage(t, path, damaged, fmt.Sprintf("byte %d ^ %02x", i, mask))
				}
			}
		})
	}
}

// TestEveryTruncation cuts a segment file at each length, and adds to it.
func TestEveryTruncation(t *testing.T) {
	path, content, _ := smallSegment(t, S2)
	for n := range content {
		wantDamage(t, path, content[:n], fmt.Sprintf("cut to %d", n))
	}
	wantDamage(t, path, append(bytes.Clone(content), 0), "one byte more")
	wantDamage(t, path, append(bytes.Clone(content), content...), "twice")
}

func wantDamage(t *testing.T, path string, content []byte, what string) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := readSegment(path)
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) {
		t.Fatalf("%s: error %v, want ErrCorrupt naming %s", what, err, path)
	}
}

// TestCancel stops in the middle of adding and of reading.
func TestCancel(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	pool := NewPool(256 << 10)
	cfg := Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1}
	c, err := NewCollector(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil && i < 1e6; i++ {
		if i == 5000 {
			cancel(cause)
		}
		err = c.Add(fmt.Appendf(nil, "%d", i), make([]byte, 100))
	}
	if !errors.Is(err, cause) {
		t.Fatalf("add after cancel: %v", err)
	}
	if _, err := c.Finish(); !errors.Is(err, cause) {
		t.Fatalf("finish after cancel: %v", err)
	}
	c.Discard()
	c.Discard()
	wantIdle(t, pool)
	wantEmptyDir(t, dir)

	endless := &endlessRun{}
	ctx, cancel = context.WithCancelCause(t.Context())
	defer cancel(nil)
	run, err := Merge(ctx, MergeConfig{Dir: dir, Name: "reduce", Pool: pool}, []Source{endless, endless})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; run.Next(); i++ {
		if i == 10 {
			cancel(cause)
		}
	}
	if err := errors.Join(run.Err()); !errors.Is(err, cause) {
		t.Fatalf("merge after cancel: %v", err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	wantIdle(t, pool)
}

// endlessRun never ends.
type endlessRun struct{}

func (r *endlessRun) Open() (Run, error) { return r, nil }
func (r *endlessRun) Next() bool         { return true }
func (r *endlessRun) Key() []byte        { return []byte("k") }
func (r *endlessRun) Value() []byte      { return nil }
func (r *endlessRun) Err() error         { return nil }
func (r *endlessRun) Close() error       { return nil }

var _ io.ReaderAt = (*faultFile)(nil)
