package disk_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/disk/memdisk"
)

// TestWritesAppend: both kinds of disk agree on where a write goes.
func TestWritesAppend(t *testing.T) {
	root, err := disk.OpenRoot(filepath.Join(t.TempDir(), "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, d := range map[string]disk.FS{"root": root, "memory": memdisk.New()} {
		f, err := d.Create("a")
		if err != nil {
			t.Fatal(name, err)
		}
		_, e1 := f.Write([]byte("hello "))
		_, e2 := f.WriteAt([]byte("J"), 0)
		_, e3 := f.Write([]byte("world"))
		e4 := f.Truncate(7)
		_, e5 := f.WriteAt([]byte("?!"), 6)
		_, e6 := f.Write([]byte("!"))
		if err := errors.Join(e1, e2, e3, e4, e5, e6, f.Sync(), f.Close(), d.SyncDir(".")); err != nil {
			t.Fatal(name, err)
		}
		if _, err := d.Create("a"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: made twice: %v", name, err)
		}
		f, err = d.Edit("a")
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := f.Write([]byte("?")); err != nil {
			t.Fatal(name, err)
		}
		got, err := io.ReadAll(f)
		if string(got) != "Jello ?!!?" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if n, err := f.Size(); n != 10 || err != nil {
			t.Errorf("%s: size %d, %v", name, n, err)
		}
		if err := f.Close(); err != nil {
			t.Error(name, err)
		}
		if total, free, err := d.Free(); free <= 0 || total < free || err != nil {
			t.Errorf("%s: %d of %d free, %v", name, free, total, err)
		}
	}
}

// TestNamesCannotLeave: neither dots nor links lead out of a root.
func TestNamesCannotLeave(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := disk.OpenRoot(filepath.Join(dir, "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Symlink("../secret", filepath.Join(dir, "d", "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../secret", "link", "/etc/passwd", "a/../../secret"} {
		if _, err := root.Open(name); err == nil {
			t.Errorf("%q was opened", name)
		}
		if _, err := root.Create(name); err == nil {
			t.Errorf("%q was made", name)
		}
	}
}
