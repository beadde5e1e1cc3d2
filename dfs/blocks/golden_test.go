package blocks

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

const goldenFile = "testdata/golden-v1.blk"

// goldenBlock has two chunks, the second of them short. Its bytes repeat, so that the file is small
// when it is packed.
var goldenBlock = wire.Block{ID: 0x0123456789abcdef, Gen: 42, Len: pipe.ChunkSize + 1000}

func goldenData() []byte {
	return bytes.Repeat([]byte("0123456789abcdef"), int(goldenBlock.Len)/16+1)[:goldenBlock.Len]
}

// TestGolden: what is written is, byte for byte, what version 1 wrote, and that can be read.
func TestGolden(t *testing.T) {
	d := memdisk.New()
	s := openOn(t, d)
	w, err := s.Begin(goldenBlock, goldenBlock.Len)
	if err != nil {
		t.Fatal(err)
	}
	if err := appendAll(w, goldenData(), 0); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	got := readAll(t, d, dirOf(goldenBlock)+"/"+fileName(goldenBlock))
	if os.Getenv("MILLRACE_REWRITE") != "" {
		if err := os.WriteFile(goldenFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenFile)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what this program writes (%d and %d bytes, %v)", goldenFile, len(want), len(got), err)
	}
	l, err := OpenLocal(goldenFile, goldenBlock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	data := make([]byte, goldenBlock.Len)
	if _, err := l.ReadAt(data, 0); err != nil || !bytes.Equal(data, goldenData()) || !Whole(goldenFile) {
		t.Errorf("%s cannot be read: %v", goldenFile, err)
	}
}

func readAll(t *testing.T, d *memdisk.FS, name string) []byte {
	t.Helper()
	f, err := d.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, n)
	if err := readAt(f, b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOtherVersionsAreRefusedByName is FAULTS row 28.
func TestOtherVersionsAreRefusedByName(t *testing.T) {
	h := encodeHeader(5)
	h[7] = '2'
	if err := checkHeader(h, 5); wire.KindOf(err) != wire.Invalid || !strings.Contains(err.Error(), `version '2'`) {
		t.Errorf("version 2: %v", err)
	}
	d := memdisk.New()
	if err := writeIdentity(d, identity{Format: 2, Node: "n"}); err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(d); wire.KindOf(err) != wire.Invalid || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("a directory of format 2: %v", err)
	}
}
