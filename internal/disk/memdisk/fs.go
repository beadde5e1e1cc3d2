package memdisk

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/disk"
)

// A node is a file or a directory. names and data are what a program sees, safe is what the disk certainly holds,
// and writes are on their way there. FS.mu guards all of it.
type node struct {
	dir    bool
	names  map[string]*node
	data   []byte
	safe   []byte
	writes []write
}

func newDir() *node { return &node{dir: true, names: map[string]*node{}} }

// A link is a change of names that the disk may not hold yet: node gets a name, loses one, or both.
type link struct {
	node     *node
	from, to *node // directories; nil where the node gets or loses its only name
	old, new string
}

// FS is a disk.FS in memory. The zero value is not ready; use New.
type FS struct {
	mu    sync.Mutex // guards the fields below and all nodes; not held while fail is called
	root  *node
	safe  map[*node]map[string]*node // names that the disk certainly holds, by directory
	links []link                     // oldest first
	fail  func(op, name string, n int) error
	ops   int
	used  int64
	limit int64
}

var _ disk.FS = (*FS)(nil)

// New returns an empty disk without a limit.
func New() *FS {
	root := newDir()
	return &FS{root: root, safe: map[*node]map[string]*node{root: {}}, limit: 1 << 50}
}

// SetFail installs a hook that is called before each operation. op is create, open, edit, rename, remove, mkdir,
// readdir, stat, syncdir, read, write, sync or truncate. n counts all operations from 1. The operation fails with
// its error. A failing write has written half of its bytes.
func (m *FS) SetFail(hook func(op, name string, n int) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = hook
}

// SetLimit makes the disk hold at most that many bytes of file content. Writes beyond it are short and fail with
// ENOSPC.
func (m *FS) SetLimit(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit = bytes
}

// ask calls the hook without the lock, so that the hook may use the disk.
func (m *FS) ask(op, name string) error {
	m.mu.Lock()
	m.ops++
	hook, n := m.fail, m.ops
	m.mu.Unlock()
	if hook == nil {
		return nil
	}
	if err := hook(op, name, n); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// Ops returns the number of operations so far.
func (m *FS) Ops() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ops
}

func split(name string) []string {
	if name = path.Clean(name); name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

// find looks up a name. m.mu must be held.
func (m *FS) find(op, name string) (*node, error) {
	n := m.root
	for _, part := range split(name) {
		if !n.dir {
			return nil, &fs.PathError{Op: op, Path: name, Err: syscall.ENOTDIR}
		}
		if n = n.names[part]; n == nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
	}
	return n, nil
}

// place looks up the directory of a name. m.mu must be held.
func (m *FS) place(op, name string) (dir *node, base string, err error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	dir, err = m.find(op, path.Dir(name))
	if err == nil && !dir.dir {
		err = &fs.PathError{Op: op, Path: name, Err: syscall.ENOTDIR}
	}
	return dir, path.Base(name), err
}

// Create creates a file.
func (m *FS) Create(name string) (disk.File, error) {
	if err := m.ask("create", name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.place("create", name)
	if err != nil {
		return nil, err
	}
	if dir.names[base] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	n := &node{}
	dir.names[base] = n
	m.links = append(m.links, link{node: n, to: dir, new: base})
	return &file{fs: m, node: n, name: name, write: true}, nil
}

// Open opens a file for reading.
func (m *FS) Open(name string) (disk.File, error) { return m.open("open", name, false) }

// Edit opens a file for reading and writing.
func (m *FS) Edit(name string) (disk.File, error) { return m.open("edit", name, true) }

func (m *FS) open(op, name string, write bool) (disk.File, error) {
	if err := m.ask(op, name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(op, name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return nil, &fs.PathError{Op: op, Path: name, Err: syscall.EISDIR}
	}
	return &file{fs: m, node: n, name: name, write: write}, nil
}

// Rename moves a file or directory. A file may replace a file.
func (m *FS) Rename(from, to string) error {
	if err := m.ask("rename", from); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	fromDir, old, err := m.place("rename", from)
	if err != nil {
		return err
	}
	n := fromDir.names[old]
	if n == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	toDir, base, err := m.place("rename", to)
	if err != nil {
		return err
	}
	if there := toDir.names[base]; there == n {
		return nil
	} else if there != nil {
		if there.dir || n.dir {
			return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
		}
		m.used -= int64(len(there.data))
	}
	if n.dir && strings.HasPrefix(to+"/", from+"/") {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrInvalid}
	}
	delete(fromDir.names, old)
	toDir.names[base] = n
	m.links = append(m.links, link{node: n, from: fromDir, old: old, to: toDir, new: base})
	return nil
}

// Remove removes a file or an empty directory.
func (m *FS) Remove(name string) error {
	if err := m.ask("remove", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.place("remove", name)
	if err != nil {
		return err
	}
	n := dir.names[base]
	switch {
	case n == nil:
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	case len(n.names) > 0:
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOTEMPTY}
	}
	delete(dir.names, base)
	m.used -= int64(len(n.data))
	m.links = append(m.links, link{node: n, from: dir, old: base})
	return nil
}

// MkdirAll makes a directory and its parents.
func (m *FS) MkdirAll(name string) error {
	if err := m.ask("mkdir", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.root
	for _, part := range split(name) {
		next := at.names[part]
		if next == nil {
			next = newDir()
			at.names[part] = next
			m.links = append(m.links, link{node: next, to: at, new: part})
		}
		if !next.dir {
			return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
		}
		at = next
	}
	return nil
}

// ReadDir lists names, sorted.
func (m *FS) ReadDir(name string) ([]string, error) {
	if err := m.ask("readdir", name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	return slices.Sorted(maps.Keys(n.names)), nil
}

// Stat describes a file.
func (m *FS) Stat(name string) (fs.FileInfo, error) {
	if err := m.ask("stat", name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("stat", name)
	if err != nil {
		return nil, err
	}
	return info{path.Base(name), int64(len(n.data)), n.dir}, nil
}

// Free returns the limit and what is left of it.
func (m *FS) Free() (total, free int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.limit, max(m.limit-m.used, 0), nil
}

type info struct {
	name string
	size int64
	dir  bool
}

func (i info) Name() string     { return i.name }
func (i info) Size() int64      { return i.size }
func (info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool      { return i.dir }
func (info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o700
	}
	return 0o600
}
