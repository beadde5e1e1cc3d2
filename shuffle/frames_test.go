package shuffle

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/millrace/millrace/internal/codec"
)

// TestFramesThatLie: a frame whose checksum is right may still say what cannot be; no reader believes it, and the bounds of what can be are taken.
func TestFramesThatLie(t *testing.T) {
	for what, x := range map[string]struct {
		change func(f *frame, b []byte)
		ok     bool
	}{
		"as it was written":    {func(*frame, []byte) {}, true},
		"the last one":         {func(f *frame, _ []byte) { f.last = true }, true},
		"as many as can be":    {func(f *frame, _ []byte) { f.records = 5 }, true},
		"more than can be":     {func(f *frame, _ []byte) { f.records = 6 }, false},
		"no record":            {func(f *frame, _ []byte) { f.records = 0 }, false},
		"no record, the last":  {func(f *frame, _ []byte) { f.records, f.last = 0, true }, false},
		"nothing":              {func(f *frame, _ []byte) { f.records, f.raw, f.stored = 0, 0, 0 }, false},
		"nothing, the last":    {func(f *frame, _ []byte) { f.records, f.raw, f.stored, f.last = 0, 0, 0, true }, true},
		"a record of nothing":  {func(f *frame, _ []byte) { f.raw, f.stored, f.last = 0, 0, true }, false},
		"plain and longer":     {func(f *frame, _ []byte) { f.raw++ }, false},
		"packed and longer":    {func(f *frame, _ []byte) { f.raw, f.codec = maxPacked, S2 }, true},
		"packed, much longer":  {func(f *frame, _ []byte) { f.raw, f.codec = maxPacked+1, Zstd }, false},
		"the last codec":       {func(f *frame, _ []byte) { f.codec = Compression(len(compressionNames) - 1) }, true},
		"a codec of tomorrow":  {func(f *frame, _ []byte) { f.codec = Compression(len(compressionNames)) }, false},
		"flags of tomorrow":    {func(_ *frame, b []byte) { b[29] = 2 }, false},
		"more of them":         {func(_ *frame, b []byte) { b[30] = 1 }, false},
		"and the rest of them": {func(_ *frame, b []byte) { b[31] = 1 }, false},
	} {
		f, b := frame{tag: 1, partition: 2, stored: 10, raw: 10, records: 1}, make([]byte, frameHeader+10)
		x.change(&f, b)
		later := b[29:32:32]
		kept := bytes.Clone(later)
		f.seal(b)
		if !bytes.Equal(kept, []byte{0, 0, 0}) { // what change has put there
			copy(later, kept)
			b[28] = byte(f.codec)
			binary.LittleEndian.PutUint32(b, codec.Sum(b[4:frameHeader+int(f.stored)]))
		}
		g := parseFrame(b)
		if err := g.verify(b); (err == nil) != x.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestUnpackRefuses what is longer than any frame, of no codec that there is, or not what its header says.
func TestUnpackRefuses(t *testing.T) {
	for _, kind := range []Compression{S2, Zstd} {
		p, raw := packer{codec: kind}, bytes.Repeat([]byte("words "), 100)
		stored, got := p.pack(raw)
		if got != kind {
			t.Fatalf("%v does not pack", kind)
		}
		for what, x := range map[string]struct {
			stored []byte
			kind   Compression
			n      int
			ok     bool
		}{
			"right":     {stored, kind, len(raw), true},
			"too short": {stored, kind, len(raw) - 1, false},
			"too long":  {stored, kind, len(raw) + 1, false},
			"much more": {stored, kind, maxPacked + 1, false},
			"cut":       {stored[:len(stored)-1], kind, len(raw), false},
			"nothing":   {nil, kind, len(raw), false},
			"plain":     {stored, None, len(raw), false},
			"tomorrow":  {stored, 9, len(raw), false},
		} {
			if out, err := unpack(make([]byte, min(x.n, maxPacked)), x.stored, x.kind, x.n); (err == nil) != x.ok || x.ok && !bytes.Equal(out, raw) {
				t.Errorf("%v, %s: %d bytes, %v", kind, what, len(out), err)
			}
		}
	}
}

// stored is a record as it is stored, which says of its key and value what it is told to.
func stored(key, value uint64, bytes int) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, key), value)
	return append(b, make([]byte, max(0, bytes-len(b)))...)
}

// TestRecordsThatLie: records of frames whose checksums are right, of every size: in a frame with others, in one of their own, and so large that they
// wait on disk. What does not fill its frame is damage.
func TestRecordsThatLie(t *testing.T) {
	never := func(n int) []byte { return bytes.Repeat([]byte{0x80}, n) }
	for _, n := range []int{100, 5 << 10, 40 << 10, 300 << 10} {
		heads := len(stored(uint64(n), uint64(n), 0))
		body := uint64(n - heads)
		for what, x := range map[string]struct {
			rec []byte
			ok  bool
		}{
			"right":             {stored(uint64(n), uint64(n), 0), true},
			"a key too long":    {stored(uint64(2*n), 0, n), false},
			"a value too long":  {stored(0, uint64(2*n), n), false},
			"one byte too few":  {stored(body/2, body-body/2+1, n), false},
			"one byte too many": {stored(body/2, body-body/2-1, n), false},
			"no end of lengths": {never(n), false},
			"no end of one":     {append([]byte{0}, never(n)...), false},
			"a huge key":        {stored(1<<63, 0, n), false},
			"a huge value":      {stored(0, 1<<63, n), false},
			"two that wrap":     {stored(1<<63, 1<<63, n), false},
		} {
			if x.ok {
				x.rec = append(x.rec, make([]byte, 2*n)...)
			}
			pool, dir := NewPool(minBudget), t.TempDir()
			path := filepath.Join(dir, "map")
			w, err := newSegmentWriter(t.Context(), osFS{}, path, "map", None, 1, newFrameBuffers(pool, None))
			if err != nil {
				t.Fatal(err)
			}
			w.begin(0)
			if err := errors.Join(w.add([]byte("a"), nil), w.append(x.rec)); err != nil {
				t.Fatal(err)
			}
			foot, err := w.finish()
			if err != nil {
				t.Fatal(err)
			}
			out := fileOutput(osFS{}, path, foot)
			run, err := Merge(t.Context(), MergeConfig{Dir: dir, Name: "reduce", Pool: pool}, []Source{out.Source(0)})
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			for run.Next() {
				seen++
			}
			if err := run.Err(); (err == nil) != x.ok || err != nil && !errors.Is(err, ErrCorrupt) || x.ok && seen != 2 || seen > 2 {
				t.Errorf("%s, %d bytes: %d records, %v", what, n, seen, err)
			}
			if err := run.Close(); err != nil {
				t.Error(err)
			}
			wantIdle(t, pool)
		}
	}
}

// mixedSegment is a compressed segment some of whose frames could not be, as many as are wanted for one that can.
func mixedSegment(t *testing.T, dir string, random int) (Segment, []pair) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(random)))
	var list []pair
	for i := range 700 {
		value := make([]byte, 1000)
		if i%(random+1) > 0 || random > 100 && i > 3 {
			for j := range value {
				value[j] = byte(rng.Uint32())
			}
		}
		list = append(list, pair{fmt.Sprintf("%05d", i), string(value)})
	}
	cfg := Config{Dir: dir, Name: fmt.Sprint("map-", random), Pool: NewPool(1 << 20), Partitions: 1, Compression: S2}
	return segmentOf(t, collect(t, cfg, list), cfg.Name, 0, nil), list
}

// TestIntakeOfMixedFrames: a segment has frames that are compressed and frames that could not be, whatever its length says, in blocks, on the heap and on disk.
func TestIntakeOfMixedFrames(t *testing.T) {
	for _, random := range []int{1, 1000} {
		dir := t.TempDir()
		seg, want := mixedSegment(t, dir, random)
		if plain := seg.Info.plain(); plain != (random == 1000) {
			t.Fatalf("%d: %+v passes for plain: %v", random, seg.Info, plain)
		}
		for _, budget := range []int64{4 << 20, 64 << 20} {
			for _, memory := range []int64{1, 3 << 20} {
				pool := NewPool(budget)
				got, err := intakeOnce(t, newTestIntake(t, dir, pool, memory, nil), []Segment{seg})
				if err != nil {
					t.Fatalf("%d of %d: %v", random, budget, err)
				}
				wantPairs(t, fmt.Sprint(random, " of ", budget), got, want)
				wantIdle(t, pool)
				wantEmptyDir(t, dir)
			}
		}
	}
}

// badBody is a fetched stream that ends, or closes, in its own way.
type badBody struct {
	io.Reader
	closing error
}

func (b badBody) Close() error { return b.closing }

// TestIntakeOfBadStreams: what a fetch ends with is told as its own, the segment may be taken again, and one without records is looked at, too.
func TestIntakeOfBadStreams(t *testing.T) {
	dir, pool, bad := t.TempDir(), NewPool(1<<20), errors.New("connection reset")
	segs, want := mapOutputs(t, dir, 1, 60, None, nil)
	good := segs[0]
	body, err := good.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, memory := range []int64{1, 0} {
		in := newTestIntake(t, dir, pool, memory, nil)
		for what, x := range map[string]struct {
			body  func() io.ReadCloser
			empty bool
			want  error // nil: it is taken
		}{
			"fails behind its end": {func() io.ReadCloser {
				return badBody{io.MultiReader(bytes.NewReader(content), iotest.ErrReader(bad)), nil}
			}, false, bad},
			"fails at its end": {func() io.ReadCloser {
				return badBody{io.MultiReader(bytes.NewReader(content[:50]), iotest.ErrReader(bad)), nil}
			}, false, bad},
			"nearly all of it":   {func() io.ReadCloser { return badBody{bytes.NewReader(content[:len(content)-1]), bad} }, false, ErrCorrupt},
			"cut, and fails":     {func() io.ReadCloser { return badBody{bytes.NewReader(content[:50]), bad} }, false, ErrCorrupt},
			"nothing, and more":  {func() io.ReadCloser { return badBody{strings.NewReader("x"), nil} }, true, ErrCorrupt},
			"nothing, and fails": {func() io.ReadCloser { return badBody{iotest.ErrReader(bad), nil} }, true, bad},
			"nothing":            {func() io.ReadCloser { return badBody{strings.NewReader(""), nil} }, true, nil},
		} {
			seg := good
			seg.Fetch = func(context.Context) (io.ReadCloser, error) { return x.body(), nil }
			if x.empty {
				seg.Name, seg.Map, seg.Info = what, 1+len(what), PartitionInfo{}
			}
			for range 2 { // the second time it is no duplicate
				err := in.Take(t.Context(), seg)
				if x.want == nil && err != nil || x.want != nil && (!errors.Is(err, x.want) || errors.Is(err, ErrCorrupt) != errors.Is(x.want, ErrCorrupt)) {
					t.Errorf("%s: %v", what, err)
				}
				if x.want == nil {
					break
				}
			}
		}
		if in.held != 0 || len(in.memory)+len(in.files) != 0 {
			t.Errorf("%d bytes, %d segments and %d files are held", in.held, len(in.memory), len(in.files))
		}
		last := good // all is here and checked: how the stream closes is of no interest
		last.Fetch = func(context.Context) (io.ReadCloser, error) { return badBody{bytes.NewReader(content), bad}, nil }
		got, err := intakeOnce(t, in, []Segment{last})
		if err != nil {
			t.Fatal(err)
		}
		wantPairs(t, "at last", got, want)
		wantIdle(t, pool)
		wantEmptyDir(t, dir)
	}
}

// TestIntakeWithoutRoom: where others have the pool, segments go to disk, and nothing is counted as held; an intake that cannot begin says why.
func TestIntakeWithoutRoom(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(1<<20)
	segs, want := mapOutputs(t, dir, 2, 60, None, nil)
	in := newTestIntake(t, dir, pool, 0, nil)
	others := &account{pool: pool}
	others.force(pool.limit - pool.InUse())
	for _, s := range segs {
		if err := in.Take(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if in.held != 0 || len(in.files) != 2 {
		t.Errorf("%d bytes are held, and %d files", in.held, len(in.files))
	}
	cause := errors.New("not wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := NewIntake(ctx, IntakeConfig{Merge: MergeConfig{Dir: dir, Name: "other", Pool: pool}}); !errors.Is(err, cause) {
		t.Errorf("an intake that nobody wants: %v", err)
	}
	for _, cfg := range []IntakeConfig{{Merge: MergeConfig{Dir: dir, Name: "other", Pool: pool}, Memory: -1}, {Merge: MergeConfig{Dir: dir, Pool: pool}}} {
		if _, err := NewIntake(t.Context(), cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
	others.close()
	run, err := in.Merge()
	if err != nil {
		t.Fatal(err)
	}
	got := drain(t, run)
	slices.SortFunc(got, comparePairs)
	wantPairs(t, "from disk", got, want)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	wantIdle(t, pool)
}

// TestIntakeThatEnds ends what it fetches, too.
func TestIntakeThatEnds(t *testing.T) {
	dir, pool, cause := t.TempDir(), NewPool(1<<20), errors.New("the attempt has ended")
	segs, _ := mapOutputs(t, dir, 1, 60, None, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	in, err := NewIntake(ctx, IntakeConfig{Merge: MergeConfig{Dir: dir, Name: "reduce", Pool: pool}})
	if err != nil {
		t.Fatal(err)
	}
	seg := segs[0]
	seg.Fetch = func(ctx context.Context) (io.ReadCloser, error) {
		cancel(cause)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if err := in.Take(t.Context(), seg); !errors.Is(err, cause) {
		t.Errorf("the fetch ends with %v", err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	wantIdle(t, pool)
}

// TestKeptOutputStaysWhereDiskIsFull: who needs the memory of an output that cannot go to disk is told so, and has it once the disk has room. Nothing is lost.
func TestKeptOutputStaysWhereDiskIsFull(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(1<<20)
	fs := &faultFS{kinds: "", at: 1, sticky: true, err: errors.New("disk full")}
	cfg := Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1, KeepInMemory: true, FS: fs}
	var in []pair
	for i := range 2000 {
		in = append(in, pair{fmt.Sprintf("%05d", i), "value"})
	}
	out := collect(t, cfg, in)
	others := &account{pool: pool}
	others.force(pool.limit - pool.InUse())
	used := pool.InUse()
	a := &account{pool: pool}
	for _, kinds := range []string{"c", "w", "m"} {
		fs.kinds = kinds
		fs.n.Store(0)
		if a.reserve(t.Context(), 100) || out.Path() != "" || pool.InUse() != used {
			t.Errorf("%s fails: the output is at %q, and %d bytes of %d are in use", kinds, out.Path(), pool.InUse(), used)
		}
		fs.n.Store(0)
		if _, err := pool.join(t.Context(), 100, false); !errors.Is(err, fs.err) {
			t.Errorf("%s fails: whoever comes is told %v", kinds, err)
		}
		wantEmptyDir(t, dir)
	}
	fs.kinds = ""
	if !a.reserve(t.Context(), 100) || out.Path() == "" {
		t.Errorf("with room on disk: the output is at %q", out.Path())
	}
	a.close()
	others.close()
	run, err := out.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	wantPairs(t, "from disk", drain(t, run), in)
	wantIdle(t, pool)
	if err := out.Release(); err != nil || fs.open.Load() != 0 {
		t.Errorf("%v, %d files are open", err, fs.open.Load())
	}
}
