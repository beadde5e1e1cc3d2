package storage_test

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/storage"
)

func TestDisk(t *testing.T) {
	dir := t.TempDir()
	var d storage.Disk
	if err := d.MkdirAll(dir + "/x/y"); err != nil {
		t.Fatal(err)
	}
	w, err := d.Create(dir + "/x/y/f")
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := w.Write([]byte("content"))
	if err := errors.Join(err1, w.Sync(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Create(dir + "/x/y/f"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	if err := d.Rename(dir+"/x", dir+"/z"); err != nil {
		t.Fatal(err)
	}
	f, err := d.Open(dir + "/z/y/f")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if string(got) != "content" || errors.Join(err, f.Close()) != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if err := errors.Join(d.RemoveAll(dir+"/z"), d.RemoveAll(dir+"/z")); err != nil {
		t.Errorf("remove, twice: %v", err)
	}
	if _, err := d.Open(dir + "/z/y/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after that: %v", err)
	}
	if _, err := os.Stat(dir + "/z"); err == nil {
		t.Error("the directory is still there")
	}
}

// TestCountReadsAnywhere: the bytes of any range are those of the whole.
func TestCountReadsAnywhere(t *testing.T) {
	const n = 1000
	var whole []byte
	for i := range n {
		whole = binary.BigEndian.AppendUint64(whole, uint64(i))
	}
	f, err := storage.Count{}.Open("/1000")
	if err != nil || f.Size() != int64(len(whole)) {
		t.Fatalf("size %d, %v", f.Size(), err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		off := rapid.IntRange(0, len(whole)+10).Draw(rt, "offset")
		buf := make([]byte, rapid.IntRange(0, 100).Draw(rt, "length"))
		got, err := f.ReadAt(buf, int64(off))
		want := whole[min(off, len(whole)):min(off+len(buf), len(whole))]
		if string(buf[:got]) != string(want) {
			rt.Fatalf("read %x, want %x", buf[:got], want)
		}
		if (err == io.EOF) != (got < len(buf)) { //nolint:errorlint // readers promise it bare
			rt.Fatalf("read %d of %d bytes with %v", got, len(buf), err)
		}
	})
}

func TestCountRefuses(t *testing.T) {
	var c storage.Count
	for _, p := range []string{"", "/", "/-1", "/x", "/1.5", "/99999999999999999999", "/72057594037927937"} {
		if _, err := c.Stat(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat(%q): %v", p, err)
		}
	}
	_, create := c.Create("/1")
	_, list := c.ReadDir("/1")
	for _, err := range []error{create, list, c.MkdirAll("/1"), c.Rename("/1", "/2"), c.RemoveAll("/1")} {
		if err == nil {
			t.Error("a store of numbers was changed")
		}
	}
}

// FuzzExpand: no path makes it panic, or find what is not there. The files lie three
// directories deep and a path may climb two: what lies above belongs to other
// programs, which come and go.
func FuzzExpand(f *testing.F) {
	for _, p := range []string{"a", "*", "b/?", "[", "x[a-", "../..", "a/../b", "file:/a", "count:/3", ":", "a\\*", "b//c", "*/*/*"} {
		f.Add(p)
	}
	dir := filepath.Join(plant(f, "x/y/z/a", "x/y/z/b/c", "x/y/z/b/d/e"), "x/y/z")
	f.Fuzz(func(t *testing.T, p string) {
		if strings.Count(p, "..") > 2 {
			return
		}
		found, err := storage.Mux{}.Expand([]string{dir + "/" + p})
		for _, e := range found {
			if _, statErr := os.Stat(e.Path); err != nil || statErr != nil {
				t.Errorf("%q: found %q, %v, %v", p, e.Path, err, statErr)
			}
		}
	})
}

// TestFilesThatSayTheyAreEmpty: those of /proc are read as they are when they are opened.
func TestFilesThatSayTheyAreEmpty(t *testing.T) {
	const path = "/proc/cpuinfo"
	want, err := os.ReadFile(path)
	if err != nil {
		t.Logf("no such file here: %v", err)
		return
	}
	found, err := storage.Mux{}.Expand([]string{path})
	if err != nil || len(found) != 1 || found[0].Size == 0 {
		t.Fatalf("%v, %v; the file has some %d bytes", found, err, len(want))
	}
	f, err := storage.Disk{}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, f.Size())
	if _, err := f.ReadAt(got, 0); err != nil || !strings.HasPrefix(string(got), "processor") {
		t.Errorf("%.40q, %v", got, err)
	}
}
