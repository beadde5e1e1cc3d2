package blocks

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

// A busyFS has something else happen before a file is made or edited.
type busyFS struct {
	disk.FS
	create, edit func()
	locked       bool // files of blocks cannot be opened
}

func (f *busyFS) Open(name string) (disk.File, error) {
	if f.locked && strings.HasPrefix(name, "blocks/") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
	}
	return f.FS.Open(name)
}

func (f *busyFS) Create(name string) (disk.File, error) {
	if f.create != nil {
		f.create()
	}
	return f.FS.Create(name)
}

func (f *busyFS) Edit(name string) (disk.File, error) {
	if f.edit != nil {
		f.edit()
	}
	return f.FS.Edit(name)
}

// TestWhileABlockBegins: who finds a replica whose file is being made waits for the file: it is deleted, carried on or read, and the volume is well.
func TestWhileABlockBegins(t *testing.T) {
	b := wire.Block{ID: 7, Gen: 1}
	for name, c := range map[string]struct {
		do   func(s *Store) error
		left int // files that are being written
	}{
		"deleted":    {func(s *Store) error { return s.Delete(b) }, 0},
		"carried on": {func(s *Store) error { _, err := s.Resume(b.ID, 2, 0, 100); return err }, 1},
		"read": {func(s *Store) error {
			r, err := s.Open(b.ID, b.Gen)
			if err == nil {
				err = r.Close()
			}
			return err
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := &busyFS{FS: memdisk.New()}
			s := openOn(t, fsys)
			done := make(chan error, 1)
			fsys.create = func() {
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					done <- c.do(s)
				}()
				select {
				case <-ended:
				case <-time.After(50 * time.Millisecond): // it waits
				}
			}
			if _, err := s.Begin(b, 100); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			if v := s.Volumes()[0]; v.Failed != "" {
				t.Errorf("the volume has failed: %s", v.Failed)
			}
			if names, err := fsys.ReadDir(tmpDir); err != nil || len(names) != c.left {
				t.Errorf("%v are being written, want %d; %v", names, c.left, err)
			}
		})
	}
}

// TestDeletedWhileItIsResumed: a replica that is deleted just when it would be carried on is not found, which is not the disk's fault.
func TestDeletedWhileItIsResumed(t *testing.T) {
	fsys := &busyFS{FS: memdisk.New()}
	s := openOn(t, fsys)
	b := wire.Block{ID: 7, Gen: 1, Len: 100}
	if err := put(s, b); err != nil {
		t.Fatal(err)
	}
	fsys.edit = func() {
		if err := s.Delete(b); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Resume(b.ID, 2, 100, 200); wire.KindOf(err) != wire.NotFound {
		t.Errorf("%v", err)
	}
	if v := s.Volumes()[0]; v.Failed != "" {
		t.Errorf("the volume has failed: %s", v.Failed)
	}
}

// TestBlocksThatCannotBeOpened: a worker that is started once without the right to read its blocks does not take them for damaged.
func TestBlocksThatCannotBeOpened(t *testing.T) {
	fsys := &busyFS{FS: memdisk.New()}
	b := wire.Block{ID: 7, Gen: 1, Len: 100}
	if err := put(openOn(t, fsys), b); err != nil {
		t.Fatal(err)
	}
	fsys.locked = true
	if s, err := tryOpen(fsys); err == nil {
		t.Errorf("it was opened, with %+v", s.changes.take().Corrupt)
	}
	fsys.locked = false
	if err := check(openOn(t, fsys), b); err != nil {
		t.Error(err)
	}
}
