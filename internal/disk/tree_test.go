package disk_test

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/disk/memdisk"
)

func put(t *testing.T, d disk.FS, name, content string) {
	t.Helper()
	f, err := d.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte(content))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, d disk.FS, name string) string {
	t.Helper()
	f, err := d.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// TestTrees: both kinds of disk agree on what names, directories and renames do, and on what is refused.
func TestTrees(t *testing.T) {
	root, err := disk.OpenRoot(filepath.Join(t.TempDir(), "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for kind, d := range map[string]disk.FS{"root": root, "memory": memdisk.New()} {
		t.Run(kind, func(t *testing.T) { tree(t, d) })
	}
}

func tree(t *testing.T, d disk.FS) {
	if err := errors.Join(d.MkdirAll("a/b"), d.MkdirAll("a/b")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/b/z", "a/b/x", "a/b/y"} {
		put(t, d, name, "in "+name)
	}
	if err := errors.Join(d.Rename("a/b/z", "a/b/x"), d.SyncDir("a/b")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, d, "a/b/x"); got != "in a/b/z" {
		t.Errorf("a rename puts %q under the new name", got)
	}
	if names, err := d.ReadDir("a/b"); err != nil || !slices.Equal(names, []string{"x", "y"}) {
		t.Errorf("the directory has %q, %v", names, err)
	}
	if info, err := d.Stat("a/b/x"); err != nil || info.Size() != 8 || info.IsDir() {
		t.Errorf("the file is %v, %v", info, err)
	}
	if err := d.Remove("a/b/y"); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"removed twice": d.Remove("a/b/y"), "renamed once gone": d.Rename("a/b/y", "a/b/w"), "listed": readDir(d, "a/c"), "synced": d.SyncDir("a/c"),
		"described": stat(d, "a/b/y"), "opened": open(d.Open, "a/b/y"), "changed": open(d.Edit, "a/b/y"), "made in no directory": open(d.Create, "a/c/x"),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what is not there is %s: %v", what, err)
		}
	}
	if names, err := d.ReadDir("a/b"); err != nil || !slices.Equal(names, []string{"x"}) {
		t.Errorf("then the directory has %q, %v", names, err)
	}
}

func readDir(d disk.FS, name string) error { _, err := d.ReadDir(name); return err }
func stat(d disk.FS, name string) error    { _, err := d.Stat(name); return err }

func open(how func(string) (disk.File, error), name string) error {
	f, err := how(name)
	if err != nil {
		return err
	}
	return f.Close()
}

// TestReadersDoNotWrite: what is open for reading only is not changed, and says so.
func TestReadersDoNotWrite(t *testing.T) {
	root, err := disk.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	put(t, root, "a", "kept")
	f, err := root.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, e1 := f.Write([]byte("x"))
	_, e2 := f.WriteAt([]byte("x"), 0)
	for _, err := range []error{e1, e2, f.Truncate(1)} {
		if err == nil {
			t.Error("a reader has written")
		}
	}
	if got := content(t, root, "a"); got != "kept" {
		t.Errorf("it has %q", got)
	}
	if of, ok := disk.OSFile(f); !ok || of.Name() == "" {
		t.Errorf("the system's file under it: %v, %t", of, ok)
	}
	memory := memdisk.New()
	put(t, memory, "a", "x")
	m, err := memory.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	if of, ok := disk.OSFile(m); ok || of != nil {
		t.Errorf("under a file in memory there is %v", of)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
