package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// An FS is a store of files. Paths are as the store spells them, without scheme.
// Errors wrap fs.ErrNotExist, fs.ErrExist and fs.ErrPermission where they apply,
// and name the path. Implementations are usable by several goroutines at once.
type FS interface {
	Open(path string) (File, error)
	Stat(path string) (fs.FileInfo, error)
	// ReadDir lists a directory by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	// Create makes a new file for writing, or fails with fs.ErrExist.
	Create(path string) (Writer, error)
	// MkdirAll makes a directory and its parents.
	MkdirAll(path string) error
	// Rename moves a file or directory in one step. The new name must be free,
	// or a file when the old is a file.
	Rename(from, to string) error
	// RemoveAll removes path and everything below; an absent path is no error.
	RemoveAll(path string) error
}

// A File is open for reading at any place.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// A Writer is a file being written. Sync makes the bytes durable.
type Writer interface {
	io.Writer
	io.Closer
	Sync() error
}

// A Mover moves many files at less cost than one by one: each in a step of its own, taking the place of a file
// at its new name. One that is not there any more, but at its new name, was moved before and is no error.
type Mover interface {
	RenameAll(moves []Move) error
}

// A Replacer puts a directory in the place of another, or where there is none, in one step: nobody finds half of either, and whoever asks for the
// same again gets fs.ErrNotExist.
type Replacer interface {
	ReplaceDir(from, to string) error
}

// A Move is another name for a file.
type Move struct{ From, To string }

// A Locator knows where the blocks of a file lie, and says it in their order. Stores
// without places do not implement it.
type Locator interface {
	Blocks(path string) iter.Seq2[Block, error]
}

// A Block is a part of a file that lies together, and the hosts that hold a copy,
// nearest first.
type Block struct {
	Offset, Length int64
	Hosts          []string
}

// A Resolver gives a path one spelling, so that two names of one thing compare
// equal: links followed, relative made absolute.
type Resolver interface {
	Resolve(path string) (string, error)
}

// A Linker says where a link leads, or fails for what is no link.
type Linker interface {
	Readlink(path string) (string, error)
}

// A Mux chooses the store by a path's scheme. The zero Mux knows only the local disk.
type Mux struct {
	Stores map[string]FS // by scheme, such as "dfs"
	// Local gives the store of local paths, or says why there is none for this one; nil means Disk.
	Local func(path string) (FS, error)
}

// ErrScheme marks a path whose scheme no store serves.
var ErrScheme = errors.New("unknown scheme")

// ErrNotLocal is the error for a local path where none may be opened.
func ErrNotLocal(path string) error {
	return fmt.Errorf("%q is a path on this machine's own disk, which this job may not open: put the file into the block store "+
		"(millrace dfs put) and name it as dfs:/PATH: %w", path, fs.ErrPermission)
}

// Resolve returns the store of a full path and the path inside it.
func (m Mux) Resolve(full string) (FS, string, error) {
	scheme, rest, ok := cutScheme(full)
	if !ok || scheme == "file" {
		if rest == "" {
			return nil, "", errors.New("path is empty")
		}
		rest = filepath.ToSlash(rest) // on Windows C:\data is C:/data, too
		if m.Local != nil {
			local, err := m.Local(rest)
			return local, rest, err
		}
		return Disk{}, rest, nil
	}
	if s := m.Stores[scheme]; s != nil {
		return s, rest, nil
	}
	if scheme == CountScheme {
		return Count{}, rest, nil
	}
	known := slices.Sorted(maps.Keys(m.Stores))
	if scheme == "dfs" {
		return nil, "", fmt.Errorf("path %q: %w %q here: the block store belongs to a cluster, give --master", full, ErrScheme, scheme)
	}
	return nil, "", fmt.Errorf("path %q: %w %q (known: %s)", full, ErrScheme, scheme,
		strings.Join(append([]string{"file"}, known...), ", "))
}

// cutScheme divides "dfs:/a" into "dfs" and "/a". A scheme is two or more lower
// case letters or digits; "a:b" and "./x:y" are plain file names.
func cutScheme(full string) (scheme, rest string, ok bool) {
	s, r, found := strings.Cut(full, ":")
	if !found || len(s) < 2 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return "", full, false
	}
	if !strings.HasPrefix(r, "/") {
		return "", full, false
	}
	return s, r, true
}

// IsLocal reports whether a path means the disk of the machine that opens it.
func IsLocal(full string) bool {
	scheme, _, ok := cutScheme(full)
	return !ok || scheme == "file"
}

// withScheme is the inverse of Resolve for a path found below full.
func withScheme(full, inner string) string {
	if scheme, _, ok := cutScheme(full); ok {
		return scheme + ":" + inner
	}
	return inner
}
