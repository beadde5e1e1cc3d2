package blocks

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

// TestEveryByteOfABlockFile: each byte is turned, and each end cut off. Nobody takes the file for whole, a local reader gives no byte that was not written, and a
// sum is told of an undamaged table only.
func TestEveryByteOfABlockFile(t *testing.T) {
	b := wire.Block{ID: 5, Gen: 2, Len: 100}
	s, name := storeWith(t, b)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := s.Sum(b)
	if want := pipe.Checksum(content(b.ID, int(b.Len))); err != nil || sum != want {
		t.Fatalf("the sum is %x, want %x, %v", sum, want, err)
	}
	look := func(file []byte) (isWhole, opens, reads, sums bool) {
		t.Helper()
		if err := os.WriteFile(name, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := OpenLocal(name, b); err == nil {
			got := make([]byte, b.Len)
			n, err := l.ReadAt(got, 0)
			if opens, reads = true, err == nil; err == nil && !bytes.Equal(got, content(b.ID, int(b.Len))) || n > 0 && err != nil {
				t.Errorf("a local reader gives other bytes: %d, %v", n, err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		got, err := s.Sum(b)
		if err == nil && got != sum {
			t.Errorf("the sum is %x, want %x", got, sum)
		}
		return Whole(name), opens, reads, err == nil
	}
	if w, o, r, sums := look(whole); !w || !o || !r || !sums {
		t.Errorf("undamaged: whole %t, opens %t, reads %t, sums %t", w, o, r, sums)
	}
	for at := range whole {
		file := bytes.Clone(whole)
		file[at] ^= 0x41
		head, data := at < headerSize, at >= headerSize && at < headerSize+int(b.Len)
		if w, o, r, sums := look(file); w || o != (head || data) || r != head || sums != (head || data) {
			t.Errorf("byte %d: whole %t, opens %t, reads %t, sums %t", at, w, o, r, sums)
		}
	}
	for n := range whole {
		if w, o, _, sums := look(whole[:n]); w || o || sums {
			t.Errorf("cut to %d: whole %t, opens %t, sums %t", n, w, o, sums)
		}
	}
	if w, o, _, _ := look(append(bytes.Clone(whole), 0)); w || o {
		t.Errorf("one more: whole %t, opens %t", w, o)
	}
	if _, err := OpenLocal(filepath.Join(t.TempDir(), "gone"), b); !errors.Is(err, os.ErrNotExist) || Whole(name+".gone") {
		t.Errorf("no file: %v", err)
	}
	for what, other := range map[string]wire.Block{"block": {ID: 6, Gen: 2, Len: 100}, "generation": {ID: 5, Gen: 3, Len: 100}, "length": {ID: 5, Gen: 2, Len: 99}} {
		look(whole)
		if _, err := OpenLocal(name, other); wire.KindOf(err) != wire.Corrupt || err == nil {
			t.Errorf("of another %s: %v", what, err)
		}
		if _, err := s.Sum(other); err == nil {
			t.Errorf("the sum of another %s is told", what)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestLocalReadsAreReads: whatever part of a block is asked for, by whatever length, it is as of bytes in memory.
func TestLocalReadsAreReads(t *testing.T) {
	b := wire.Block{ID: 5, Gen: 2, Len: 10*pipe.ChunkSize + 77}
	s, name := storeWith(t, b)
	l, err := OpenLocal(name, b)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.NewReader(content(b.ID, int(b.Len)))
	for _, off := range []int64{0, 1, pipe.ChunkSize - 1, pipe.ChunkSize, pipe.ChunkSize + 1, 2 * pipe.ChunkSize, b.Len - 78, b.Len - 77, b.Len - 1, b.Len, b.Len + 5} {
		for _, n := range []int64{1, pipe.ChunkSize - 1, pipe.ChunkSize, pipe.ChunkSize + 1, 2*minHalf - 1, 2 * minHalf, 2*minHalf + 1, b.Len - off, b.Len - off + 1} {
			if n < 0 {
				continue
			}
			x, y := make([]byte, n), make([]byte, n)
			k, err := l.ReadAt(x, off)
			m, werr := want.ReadAt(y, off)
			if n == 0 {
				werr = nil
			}
			if k != m || !errors.Is(err, werr) || !bytes.Equal(x[:k], y[:m]) {
				t.Errorf("%d bytes at %d: %d, %v; want %d, %v", n, off, k, err, m, werr)
			}
		}
	}
	if err := errors.Join(l.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

// TestDisksThatDoNotAnswer: each read of a check fails in turn. That is the disk's fault, is told as that, and no damage; too few bytes are damage.
func TestDisksThatDoNotAnswer(t *testing.T) {
	d, b := memdisk.New(), wire.Block{ID: 7, Gen: 1, Len: 2*pipe.ChunkSize + 10}
	s := openOn(t, d)
	if err := put(s, b); err != nil {
		t.Fatal(err)
	}
	name := dirOf(b) + "/" + fileName(b)
	reads := 0
	for at := 0; ; at++ {
		f, err := d.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		reads = 0
		d.SetFail(func(op, _ string, _ int) error {
			if op != "read" {
				return nil
			}
			if reads++; reads == at {
				return syscall.EIO
			}
			return nil
		})
		checked := 0
		err = CheckFile(f, b, func(n int) { checked += n })
		d.SetFail(nil)
		if at == 0 && (err != nil || checked != int(b.Len)) || at > 0 && reads >= at && (!errors.Is(err, syscall.EIO) || wire.KindOf(err) == wire.Corrupt) {
			t.Errorf("read %d: %d bytes are checked, %v", at, checked, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if at > 0 && reads < at {
			break
		}
	}
	if reads < 6 { // header, footer, table and three chunks
		t.Errorf("%d reads", reads)
	}
	if err := readAt(bytes.NewReader([]byte("abc")), make([]byte, 2), 2); wire.KindOf(err) != wire.Corrupt || err == nil {
		t.Errorf("too few bytes: %v", err)
	}
	if err := readAt(bytes.NewReader([]byte("abc")), make([]byte, 2), 1); err != nil {
		t.Errorf("the last bytes: %v", err)
	}
	broken(d, "read")
	if _, err := s.Sum(b); !errors.Is(err, syscall.EIO) {
		t.Errorf("the sum: %v", err)
	}
	if err := s.Verify(b.ID, func(int) {}); err == nil || wire.KindOf(err) == wire.Corrupt || len(s.changes.take().Corrupt) != 0 {
		t.Errorf("to verify: %v", err)
	}
}

var _ io.ReaderAt = (*Local)(nil)
