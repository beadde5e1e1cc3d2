package dfs

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/wire"
)

// TestKeptChunks: of the chunks that small reads left the newest four are kept, each for its own block. A stream goes up to the next one that is kept.
func TestKeptChunks(t *testing.T) {
	const c = pipe.ChunkSize
	f, b, other := &File{}, wire.Block{ID: 1, Gen: 1, Len: 20 * c}, wire.Block{ID: 1, Gen: 2, Len: 20 * c}
	data := make([]byte, 6*c+7)
	for i := range data {
		data[i] = byte(i / c)
	}
	f.keepNear(b, 0, data[:c])
	f.keepNear(b, c, data[c:]) // now those from 3 on
	if n := len(f.near.chunks); n != maxNear {
		t.Fatalf("%d chunks are kept", n)
	}
	for _, x := range []struct {
		block          wire.Block
		off, end       int64
		n, first, next int64
	}{
		{b, 0, 20 * c, 0, 0, 3 * c},
		{b, 3*c - 1, 20 * c, 0, 0, 3 * c},
		{b, 3*c - 1, 3*c - 1, 0, 0, 3*c - 1},
		{b, 3 * c, 20 * c, 10, 3, 20 * c},
		{b, 4*c - 1, 20 * c, 1, 3, 20 * c},
		{b, 4 * c, 20 * c, 10, 4, 20 * c},
		{b, 6*c + 6, 20 * c, 1, 6, 20 * c},
		{b, 6*c + 7, 20 * c, 0, 0, 20 * c},
		{other, 3 * c, 20 * c, 0, 0, 20 * c},
	} {
		p := make([]byte, 10)
		n, next := f.readNear(p, x.block, x.off, x.end)
		if int64(n) != x.n || next != x.next || n > 0 && int64(p[0]) != x.first {
			t.Errorf("from %d to %d: %d bytes of chunk %d, then a stream to %d; want %+v", x.off, x.end, n, p[0], next, x)
		}
	}
}

// TestAnnouncedRanges: a read within the range that was announced is one of all that follows; any other is of just what is asked for.
func TestAnnouncedRanges(t *testing.T) {
	f := &File{}
	if got := f.ahead(5, 10); got != 15 {
		t.Errorf("nothing is announced: up to %d", got)
	}
	f.WillRead(100, 1000)
	for off, want := range map[int64]int64{99: 109, 100: 1000, 999: 1000, 1000: 1010} {
		if got := f.ahead(off, 10); got != want {
			t.Errorf("10 bytes at %d: up to %d, want %d", off, got, want)
		}
	}
	const c = pipe.ChunkSize
	for _, x := range []struct {
		n, span int64
		want    bool
	}{{1, 1, true}, {c - 1, c - 1, true}, {c, c, false}, {1, c, false}, {c, 1, false}} {
		if got := small(make([]byte, x.n), 50, 50+x.span); got != x.want {
			t.Errorf("%d bytes of %d are small: %t", x.n, x.span, got)
		}
	}
}

// fakeCursor is a stream that notes when it is given up.
func fakeCursor(t *testing.T, b wire.Block, off, end int64, closed *int) *cursor {
	t.Helper()
	in, err := pipe.NewChecked(io.NopCloser(bytes.NewReader(nil)), wire.Block{}, 0, 0, "b")
	if err != nil {
		t.Fatal(err)
	}
	return newCursor(b, wire.Place{}, off, end, in, func() { *closed++ }, time.Hour)
}

// TestKeptStreams: four streams are kept for reading on, the newest; one that is at its end, or of a closed file, is not.
func TestKeptStreams(t *testing.T) {
	f, b := &File{}, wire.Block{ID: 1, Gen: 1, Len: 100}
	closed := make([]int, 7)
	for i := range 5 {
		f.keepCursor(fakeCursor(t, b, int64(i), 100, &closed[i]))
	}
	f.keepCursor(fakeCursor(t, b, 100, 100, &closed[5]))
	if closed[0] != 1 || closed[1] != 0 || closed[5] != 1 || len(f.idle) != maxIdle {
		t.Errorf("given up %v, %d are kept", closed, len(f.idle))
	}
	if f.takeCursor(wire.Block{ID: 1, Gen: 2, Len: 100}, 2) != nil || f.takeCursor(b, 0) != nil || f.takeCursor(b, 9) != nil {
		t.Error("a stream of another block, one that was given up, or one that is elsewhere")
	}
	c := f.takeCursor(b, 2)
	if c == nil || c.off != 2 || f.takeCursor(b, 2) != nil {
		t.Error("a stream is not there, or twice")
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil || closed[1] != 1 || closed[2] != 0 || closed[3] != 1 || closed[4] != 1 {
		t.Errorf("closed: given up %v, %v", closed, err)
	}
	f.keepCursor(c)
	f.keepCursor(fakeCursor(t, b, 5, 100, &closed[6]))
	if closed[2] != 1 || closed[6] != 1 || len(f.idle) != 0 {
		t.Errorf("after the end: given up %v", closed)
	}
}

// TestOrderOfReplicas: replicas that failed are tried last, the one that failed last at the very end; others stay in their order.
func TestOrderOfReplicas(t *testing.T) {
	now := time.Now()
	f := &File{bad: map[wire.NodeName]time.Time{"a": now, "c": now.Add(-time.Second)}}
	var got strings.Builder
	for _, p := range f.order([]wire.Place{{Node: "a"}, {Node: "d"}, {Node: "c"}, {Node: "b"}}) {
		got.WriteString(string(p.Node))
	}
	if got.String() != "dbca" {
		t.Error(got.String())
	}
	b := wire.LocatedBlock{Block: wire.Block{ID: 7}}
	for _, x := range []struct {
		errs []error
		want wire.Kind
	}{{[]error{wire.Corrupt, wire.Corrupt}, wire.Corrupt}, {[]error{wire.Corrupt, wire.Unavailable}, wire.Unavailable}, {[]error{wire.Denied, wire.Corrupt}, wire.Unavailable}} {
		if err := failure(b, x.errs); wire.KindOf(err) != x.want {
			t.Errorf("%v: %v", x.errs, err)
		}
	}
}

// TestDefaults: what is not said gets a value; what is said stays.
func TestDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	if c.LeaseEvery != time.Second || c.Patience != 30*time.Second || c.Hedge != 300*time.Millisecond || c.Stall != 3*time.Second || c.Window != 64 {
		t.Errorf("%+v", c)
	}
	c = Config{LeaseEvery: 1, Patience: 2, Hedge: 3, Stall: 4, Window: 5}.withDefaults()
	if c.LeaseEvery != 1 || c.Patience != 2 || c.Hedge != 3 || c.Stall != 4 || c.Window != 5 {
		t.Errorf("%+v", c)
	}
}
