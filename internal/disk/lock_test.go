package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLockDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	a, err := LockDir(dir, "worker w1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockDir(dir, "worker w2"); err == nil || !strings.Contains(err.Error(), "in use by worker w1, process ") {
		t.Errorf("the second is told %v", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := LockDir(dir, "worker w2")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLost: a directory that is removed, or replaced by another of its name, is noticed.
func TestLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	r, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Lost(); err != nil {
		t.Error(err)
	}
	for _, change := range []func() error{func() error { return os.RemoveAll(dir) }, func() error { return os.Mkdir(dir, 0o700) }} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if r.Lost() == nil {
			t.Error("nobody notices that the directory is another, or gone")
		}
	}
}

// TestSyncOfARemovedFile: what is written to a file without a name is lost, so Sync must not say that it is kept.
func TestSyncOfARemovedFile(t *testing.T) {
	r, err := OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := r.Create("journal")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("kept")); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.Path(), "journal")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("lost")); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err == nil {
		t.Error("Sync says that lost bytes are kept")
	}
}
