package storage

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Disk is the local file system.
type Disk struct{}

var (
	_ FS       = Disk{}
	_ Resolver = Disk{}
	_ Linker   = Disk{}
)

// Open opens a file for reading.
func (Disk) Open(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if info.Size() == 0 && info.Mode().IsRegular() {
		return openUnsized(f)
	}
	return &diskFile{f, info.Size()}, nil
}

// MaxUnsized bounds a file that does not report its size, like those of /proc: it is read into memory.
const MaxUnsized = 16 << 20

// openUnsized opens a file that claims to be empty. It closes f.
func openUnsized(f *os.File) (File, error) {
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, MaxUnsized+1))
	if err != nil {
		return nil, err
	}
	if len(content) > MaxUnsized {
		return nil, fmt.Errorf("%s says it is empty and holds more than %d bytes: copy it to a file first", f.Name(), MaxUnsized)
	}
	return unsizedFile{bytes.NewReader(content)}, nil
}

// unsizedFile is the content of a file when it was opened.
type unsizedFile struct{ *bytes.Reader }

func (unsizedFile) Close() error { return nil }

// onDisk marks stores whose files may hold more than they report.
type onDisk interface{ onDisk() }

func (Disk) onDisk() {}

type diskFile struct {
	*os.File
	size int64
}

func (f *diskFile) Size() int64 { return f.size }

// Stat follows links.
func (Disk) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

// Readlink returns the target of a link.
func (Disk) Readlink(path string) (string, error) { return os.Readlink(path) }

// ReadDir lists a directory, sorted by name.
func (Disk) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Create creates a file.
func (Disk) Create(path string) (Writer, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// MkdirAll makes a directory and its parents.
func (Disk) MkdirAll(path string) error { return os.MkdirAll(path, 0o755) }

// Rename moves a file or directory.
func (Disk) Rename(from, to string) error { return os.Rename(from, to) }

// RemoveAll removes path and everything below.
func (Disk) RemoveAll(path string) error { return os.RemoveAll(path) }

// Resolve makes path absolute and follows the links of its existing part.
func (Disk) Resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for dir := abs; ; dir = filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if parent := filepath.Dir(dir); parent == dir || !os.IsNotExist(err) {
			return "", err
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
