package disk

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Root is a directory of the real disk. os.Root keeps names from leaving it, even through links.
type Root struct {
	root *os.Root
	path string
}

var _ FS = (*Root)(nil)

// OpenRoot opens a directory and makes it if needed.
func OpenRoot(path string) (*Root, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Root{r, path}, nil
}

// Path returns the path of the directory.
func (r *Root) Path() string { return r.path }

// Lost returns an error if the directory was removed, or if another one has its name: what is written to it is lost,
// or unseen.
func (r *Root) Lost() error {
	have, err := r.root.Stat(".")
	if err != nil {
		return err
	}
	there, err := os.Stat(r.path)
	if err != nil || !os.SameFile(have, there) {
		return fmt.Errorf("the directory %s was removed or replaced while it was in use", r.path)
	}
	return nil
}

// Close closes the directory. Open files stay usable.
func (r *Root) Close() error { return r.root.Close() }

// An osFile is an *os.File whose writes append, wherever it was read or written before.
type osFile struct {
	*os.File
	end int64
}

func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Sync makes the bytes durable. It fails for a file that has lost its name, since that cannot be found again.
func (f *osFile) Sync() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	return named(f.File)
}

func (f *osFile) Write(p []byte) (int, error) {
	n, err := f.File.WriteAt(p, f.end)
	f.end += int64(n)
	return n, err
}

func (f *osFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	f.end = max(f.end, off+int64(n))
	return n, err
}

func (f *osFile) Truncate(size int64) error {
	if err := f.File.Truncate(size); err != nil {
		return err
	}
	f.end = size
	return nil
}

// OSFile returns the operating system's file under f, for sendfile, if there is one.
func OSFile(f File) (*os.File, bool) {
	of, ok := f.(*osFile)
	if !ok {
		return nil, false
	}
	return of.File, true
}

// Create creates a file.
func (r *Root) Create(name string) (File, error) {
	return r.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// Open opens a file for reading.
func (r *Root) Open(name string) (File, error) { return r.open(name, os.O_RDONLY) }

// Edit opens a file for reading and writing.
func (r *Root) Edit(name string) (File, error) { return r.open(name, os.O_RDWR) }

func (r *Root) open(name string, flag int) (File, error) {
	f, err := r.root.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	of := &osFile{File: f}
	if flag&os.O_RDWR != 0 && flag&os.O_EXCL == 0 {
		if of.end, err = of.Size(); err != nil {
			_ = f.Close() // the error above matters
			return nil, err
		}
	}
	return of, nil
}

// Rename replaces what has the new name.
func (r *Root) Rename(from, to string) error { return r.root.Rename(from, to) }

// Remove removes a file or an empty directory.
func (r *Root) Remove(name string) error { return r.root.Remove(name) }

// MkdirAll makes a directory and its parents.
func (r *Root) MkdirAll(name string) error { return r.root.MkdirAll(name, 0o700) }

// ReadDir lists names, sorted.
func (r *Root) ReadDir(name string) ([]string, error) {
	d, err := r.root.Open(name)
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	if e := d.Close(); err == nil {
		err = e
	}
	return names, err
}

// Stat describes a file.
func (r *Root) Stat(name string) (fs.FileInfo, error) { return r.root.Stat(name) }

// SyncDir makes the names in a directory durable.
func (r *Root) SyncDir(name string) error {
	d, err := r.root.Open(name)
	if err != nil {
		return err
	}
	err = syncDir(d)
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}

// Free returns the size of the file system and the free bytes.
func (r *Root) Free() (total, free int64, err error) { return Free(r.path) }
