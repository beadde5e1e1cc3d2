package storage

import (
	"fmt"
	"io/fs"
	"os/user"
	"strconv"
)

// A DiskAs is the local file system as one user of the machine sees it. The process must be root. Everything that it
// opens, makes, moves or removes through a DiskAs, it does with that user's rights and no others.
type DiskAs struct {
	name     string
	uid, gid int
	groups   []int
}

var (
	_ FS       = (*DiskAs)(nil)
	_ Resolver = (*DiskAs)(nil)
	_ Linker   = (*DiskAs)(nil)
)

// As returns the disk for the user of this name, who must have an account on this machine.
func As(name string) (*DiskAs, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("%q has no account on this machine: %w", name, err)
	}
	d := &DiskAs{name: name}
	if d.uid, err = strconv.Atoi(u.Uid); err != nil {
		return nil, fmt.Errorf("user %q: %w", name, err)
	}
	if d.gid, err = strconv.Atoi(u.Gid); err != nil {
		return nil, fmt.Errorf("user %q: %w", name, err)
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("groups of user %q: %w", name, err)
	}
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			d.groups = append(d.groups, n)
		}
	}
	return d, nil
}

func (*DiskAs) onDisk() {}

// UID returns the user's id.
func (d *DiskAs) UID() int { return d.uid }

// do runs f on a thread that has the user's rights.
func do[T any](d *DiskAs, f func() (T, error)) (out T, err error) {
	if terr := d.onThread(func() { out, err = f() }); terr != nil {
		return out, fmt.Errorf("act as user %q: %w", d.name, terr)
	}
	return out, err
}

// Open opens a file for reading.
func (d *DiskAs) Open(path string) (File, error) {
	return do(d, func() (File, error) { return Disk{}.Open(path) })
}

// Stat follows links.
func (d *DiskAs) Stat(path string) (fs.FileInfo, error) {
	return do(d, func() (fs.FileInfo, error) { return Disk{}.Stat(path) })
}

// Readlink returns the target of a link.
func (d *DiskAs) Readlink(path string) (string, error) {
	return do(d, func() (string, error) { return Disk{}.Readlink(path) })
}

// ReadDir lists a directory, sorted by name.
func (d *DiskAs) ReadDir(path string) ([]fs.DirEntry, error) {
	return do(d, func() ([]fs.DirEntry, error) { return Disk{}.ReadDir(path) })
}

// Create creates a file, which belongs to the user.
func (d *DiskAs) Create(path string) (Writer, error) {
	return do(d, func() (Writer, error) { return Disk{}.Create(path) })
}

// MkdirAll makes a directory and its parents.
func (d *DiskAs) MkdirAll(path string) error {
	return d.act(func() error { return Disk{}.MkdirAll(path) })
}

// Rename moves a file or directory.
func (d *DiskAs) Rename(from, to string) error {
	return d.act(func() error { return Disk{}.Rename(from, to) })
}

// RemoveAll removes path and everything below.
func (d *DiskAs) RemoveAll(path string) error {
	return d.act(func() error { return Disk{}.RemoveAll(path) })
}

// Resolve makes path absolute and follows the links of its existing part.
func (d *DiskAs) Resolve(path string) (string, error) {
	return do(d, func() (string, error) { return Disk{}.Resolve(path) })
}

func (d *DiskAs) act(f func() error) error {
	_, err := do(d, func() (struct{}, error) { return struct{}{}, f() })
	return err
}
