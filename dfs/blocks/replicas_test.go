package blocks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

// TestReplicasWhoseFileIsGone: a file that is gone costs the replica, a disk that does not answer the volume.
func TestReplicasWhoseFileIsGone(t *testing.T) {
	b := wire.Block{ID: 1, Gen: 1, Len: 100}
	touch := map[string]func(s *Store) error{
		"opened":   func(s *Store) error { _, err := s.Open(b.ID, b.Gen); return err },
		"verified": func(s *Store) error { return s.Verify(b.ID, func(int) {}) },
	}
	for name, fn := range touch {
		d := memdisk.New()
		s := openOn(t, d)
		if err := errors.Join(put(s, b), d.Remove(dirOf(b)+"/"+fileName(b))); err != nil {
			t.Fatal(err)
		}
		s.changes.take()
		if err := fn(s); wire.KindOf(err) != wire.Corrupt || err == nil {
			t.Errorf("gone and %s: %v", name, err)
		}
		if n := s.changes.take(); len(n.Corrupt) != 1 || n.Corrupt[0].Block != b || s.Count() != 0 || s.Volumes()[0].Failed != "" {
			t.Errorf("gone and %s: told of %+v", name, n.Corrupt)
		}
		d = memdisk.New()
		s = openOn(t, d)
		if err := put(s, b); err != nil {
			t.Fatal(err)
		}
		broken(d, "open")
		if err := fn(s); wire.KindOf(err) != wire.Unavailable || err == nil || s.Volumes()[0].Failed == "" || len(s.changes.take().Corrupt) > 0 {
			t.Errorf("not answered and %s: %v", name, err)
		}
		if err := s.Verify(b.ID, func(int) {}); err != nil {
			t.Errorf("on a failed volume there is nothing to verify: %v", err)
		}
	}
	s := openOn(t, memdisk.New())
	if err := s.Verify(7, func(int) {}); err != nil {
		t.Errorf("what is not here is verified: %v", err)
	}
	if _, err := s.Open(7, 1); wire.KindOf(err) != wire.NotFound {
		t.Errorf("what is not here is opened: %v", err)
	}
}

// TestPathsOfReplicas: a reader on this machine is told the file of a whole replica at its generation, below the directory of its volume.
func TestPathsOfReplicas(t *testing.T) {
	s := openOn(t, memdisk.New(), memdisk.New())
	b, c := wire.Block{ID: 1, Gen: 2, Len: 10}, wire.Block{ID: 2, Gen: 2, Len: 10}
	if err := errors.Join(put(s, b), put(s, c)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(wire.Block{ID: 3, Gen: 1}, 10); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[wire.Block]string{b: "d0/" + dirOf(b) + "/" + fileName(b), c: "d1/" + dirOf(c) + "/" + fileName(c)} {
		if got, err := s.Path(at.ID, at.Gen); got != want || err != nil {
			t.Errorf("%v is at %q, %v; want %q", at, got, err, want)
		}
	}
	for what, at := range map[string]wire.Block{"another generation": {ID: 1, Gen: 1}, "half a replica": {ID: 3, Gen: 1}, "another block": {ID: 9, Gen: 1}} {
		if got, err := s.Path(at.ID, at.Gen); wire.KindOf(err) != wire.NotFound || err == nil {
			t.Errorf("%s is at %q, %v", what, got, err)
		}
	}
}

// TestSums: the checksum of a replica is that of its bytes; of another length, of half a replica and of a damaged table there is none.
func TestSums(t *testing.T) {
	d := memdisk.New()
	s := openOn(t, d)
	b := wire.Block{ID: 4, Gen: 1, Len: 2*pipe.ChunkSize + 7}
	if err := put(s, b); err != nil {
		t.Fatal(err)
	}
	if crc, err := s.Sum(b); err != nil || crc != pipe.Checksum(content(b.ID, int(b.Len))) {
		t.Errorf("%08x, %v", crc, err)
	}
	longer := b
	longer.Len++
	if _, err := s.Sum(longer); wire.KindOf(err) != wire.Stale || err == nil {
		t.Errorf("of another length: %v", err)
	}
	half := wire.Block{ID: 5, Gen: 1}
	w, err := s.Begin(half, 10)
	if err == nil {
		err = w.Append([]byte("x"), pipe.Checksum([]byte("x")))
	}
	if err != nil {
		t.Fatal(err)
	}
	half.Len = 1
	if _, err := s.Sum(half); wire.KindOf(err) != wire.Stale || err == nil {
		t.Errorf("of half a replica: %v", err)
	}
	f, err := d.Edit(dirOf(b) + "/" + fileName(b))
	if err != nil {
		t.Fatal(err)
	}
	for what, at := range map[string]int64{"the table": headerSize + b.Len, "the footer": fileSize(b.Len) - 1} {
		var one [1]byte
		if _, err := f.ReadAt(one[:], at); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{one[0] ^ 1}, at); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Sum(b); wire.KindOf(err) != wire.Corrupt || err == nil {
			t.Errorf("%s is damaged: %v", what, err)
		}
		if _, err := f.WriteAt(one[:], at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFootersAndHeaders: what is sealed, and yet cannot be, is refused.
func TestFootersAndHeaders(t *testing.T) {
	for length, ok := range map[int64]bool{0: true, maxBlock: true, maxBlock + 1: false, -1: false} {
		tail := encodeTail(wire.Block{ID: 1, Gen: 1, Len: length}, nil)
		if _, _, err := decodeFooter(tail); (err == nil) != ok {
			t.Errorf("a footer of %d bytes: %v", length, err)
		}
	}
	reseal := func(at int, value uint32) []byte {
		h := encodeHeader(5)
		binary.LittleEndian.PutUint32(h[at:], value)
		binary.LittleEndian.PutUint32(h[28:], pipe.Checksum(h[:28]))
		return h
	}
	for what, x := range map[string]struct {
		head []byte
		want wire.Kind
	}{
		"short":             {encodeHeader(5)[:31], wire.Corrupt},
		"other chunks":      {reseal(16, 4096), wire.Invalid},
		"another block":     {reseal(8, 6), wire.Corrupt},
		"not sealed":        {append(encodeHeader(5)[:31], 1), wire.Corrupt},
		"of something else": {append([]byte("MRWHEAT1"), encodeHeader(5)[8:]...), wire.Corrupt},
	} {
		if err := checkHeader(x.head, 5); wire.KindOf(err) != x.want || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := checkHeader(encodeHeader(5), 5); err != nil {
		t.Error(err)
	}
}

// TestFilesOnThisMachine: a block file that is read by its path is the one that is wanted, or is refused; reads end where it ends.
func TestFilesOnThisMachine(t *testing.T) {
	b := wire.Block{ID: 5, Gen: 2, Len: pipe.ChunkSize + 50}
	_, name := storeWith(t, b)
	if !Whole(name) {
		t.Error("a block file without damage is none")
	}
	for what, want := range map[string]wire.Block{"another block": {ID: 6, Gen: 2, Len: b.Len}, "another generation": {ID: 5, Gen: 3, Len: b.Len}, "another length": {ID: 5, Gen: 2, Len: b.Len - 1}} {
		if _, err := OpenLocal(name, want); wire.KindOf(err) != wire.Corrupt || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	l, err := OpenLocal(name, b)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := content(b.ID, int(b.Len))
	for _, x := range []struct{ off, n, got int64 }{{b.Len - 10, 10, 10}, {b.Len - 10, 11, 10}, {b.Len, 1, 0}, {b.Len + 5, 1, 0}, {0, 20 * pipe.ChunkSize, b.Len}} {
		p := make([]byte, x.n)
		n, err := l.ReadAt(p, x.off)
		if int64(n) != x.got || (err == io.EOF) != (x.got < x.n) || err != nil && err != io.EOF || n > 0 && !bytes.Equal(p[:n], want[x.off:x.off+x.got]) { //nolint:errorlint // readers promise it bare
			t.Errorf("%d bytes at %d: %d, %v", x.n, x.off, n, err)
		}
	}
	flip(t, name, headerSize+b.Len)
	if _, err := OpenLocal(name, b); wire.KindOf(err) != wire.Corrupt || err == nil || Whole(name) {
		t.Errorf("with a damaged table: %v", err)
	}
	dir := t.TempDir()
	for what, text := range map[string]string{"empty": "", "short": "MRBLOCK1", "noise": strings.Repeat("x", 1000)} {
		other := filepath.Join(dir, what)
		if err := os.WriteFile(other, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if Whole(other) {
			t.Errorf("%s: a block file", what)
		}
	}
	if Whole(filepath.Join(dir, "none")) {
		t.Error("no file: a block file")
	}
}
