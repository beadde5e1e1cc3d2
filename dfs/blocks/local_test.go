package blocks

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// storeWith is a store on a disk that has a block, and the block's file.
func storeWith(t *testing.T, b wire.Block) (s *Store, name string) {
	t.Helper()
	dir := t.TempDir()
	root, err := disk.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	s = openOn(t, root)
	if err := put(s, b); err != nil {
		t.Fatal(err)
	}
	return s, filepath.Join(dir, dirOf(b), fileName(b))
}

// TestLocalReadsAreVerified: whoever reads a block file straight from the disk gets no byte of a chunk
// that has rotted, and every byte of the others.
func TestLocalReadsAreVerified(t *testing.T) {
	b := wire.Block{ID: 5, Gen: 2, Len: 12*pipe.ChunkSize + 50}
	s, name := storeWith(t, b)
	const bad = 7*pipe.ChunkSize + 100
	flip(t, name, headerSize+bad)
	l, err := OpenLocal(name, b)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := content(b.ID, int(b.Len))
	for _, r := range []struct {
		off, n int64
		ok     bool
	}{
		{0, b.Len, false},
		{bad, 1, false},
		{7 * pipe.ChunkSize, pipe.ChunkSize, false},
		{bad - 200, 10, true},
		{bad - 50, 10, false},
		{0, 7 * pipe.ChunkSize, true},
		{8 * pipe.ChunkSize, b.Len - 8*pipe.ChunkSize, true},
	} {
		got := make([]byte, r.n)
		n, err := l.ReadAt(got, r.off)
		if (err == nil) != r.ok || err != nil && wire.KindOf(err) != wire.Corrupt {
			t.Errorf("%d bytes at %d: %v", r.n, r.off, err)
		}
		if !bytes.Equal(got[:n], want[r.off:r.off+int64(n)]) {
			t.Errorf("%d bytes at %d: other bytes than were written", n, r.off)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// flip changes a bit of a file.
func flip(t *testing.T, name string, off int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var one [1]byte
	if _, err := f.ReadAt(one[:], off); err != nil {
		t.Fatal(err)
	}
	one[0] ^= 0x10
	if _, err := f.WriteAt(one[:], off); err != nil {
		t.Fatal(err)
	}
}

// TestLocalReadsThatFail: a disk that does not answer is not called damage, which would cost the replica.
func TestLocalReadsThatFail(t *testing.T) {
	b := wire.Block{ID: 5, Gen: 2, Len: 2 * pipe.ChunkSize}
	s, name := storeWith(t, b)
	l, err := OpenLocal(name, b)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ReadAt(make([]byte, 10), 0); !errors.Is(err, os.ErrClosed) || wire.KindOf(err) == wire.Corrupt {
		t.Errorf("the read says: %v", err)
	}
}
