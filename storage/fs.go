package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// An FS is a store of files. Paths have the store's own form, without scheme. Errors wrap fs.ErrNotExist,
// fs.ErrExist and fs.ErrPermission where they apply, and name the path. Implementations must be safe for concurrent
// use.
type FS interface {
	Open(path string) (File, error)
	Stat(path string) (fs.FileInfo, error)
	// ReadDir lists a directory, sorted by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	// Create makes a new file for writing, or fails with fs.ErrExist. A store that sees only when a file is complete that
	// another one of this name was made meanwhile says so when it is closed.
	Create(path string) (Writer, error)
	// MkdirAll makes a directory and its parents.
	MkdirAll(path string) error
	// Rename moves a file or directory in one step. The new name must be free,
	// or a file when the old is a file.
	Rename(from, to string) error
	// RemoveAll removes path and everything below. A path that does not exist is no error.
	RemoveAll(path string) error
}

// A File is open for reading at any offset.
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

// A Mover moves many files at less cost than one by one. Each move is a step of its own and replaces a file at the
// new name. A file that is gone but exists under its new name was moved before and is no error.
type Mover interface {
	RenameAll(moves []Move) error
}

// A Replacer moves a directory in one step, replacing another one if there is one. Nobody finds half of either. A
// repeated call returns fs.ErrNotExist.
type Replacer interface {
	ReplaceDir(from, to string) error
}

// A Move is a new name for a file.
type Move struct{ From, To string }

// A Locator knows where the blocks of a file are and yields them in order. Stores without places do not implement
// it.
type Locator interface {
	Blocks(path string) iter.Seq2[Block, error]
}

// A Block is a contiguous part of a file and the hosts that hold a copy, nearest first.
type Block struct {
	Offset, Length int64
	Hosts          []string
}

// A Resolver gives a path one spelling, so that two names of one thing compare equal: links followed, relative made
// absolute.
type Resolver interface {
	Resolve(path string) (string, error)
}

// A Lister lists what is below a directory in few calls, page by page. The store has no links, and what its ReadDir
// returns has its Info with it.
type Lister interface {
	// List yields the files below a directory, at any depth and in any order, but for those with a [Hidden] name on
	// the way down.
	List(dir string) iter.Seq2[Entry, error]
}

// A Versioner is a store whose files change their version when their content changes.
type Versioner interface {
	// OpenVersion is Open for a file that must have this version, at this and every later read, or they fail with
	// ErrChanged.
	OpenVersion(path, version string) (File, error)
}

// ErrChanged marks a file that is not the one it was when a job began to read it.
var ErrChanged = errors.New("changed while it was read: run the job again when nobody writes to it, or on a copy")

// OpenVersion opens a file that must have this version. An empty one, which files of other stores than a [Versioner]
// have, is any.
func OpenVersion(store FS, path, version string) (File, error) {
	if v, ok := store.(Versioner); ok && version != "" {
		return v.OpenVersion(path, version)
	}
	return store.Open(path)
}

// A Linker returns the target of a link, or fails if it is not a link.
type Linker interface {
	Readlink(path string) (string, error)
}

// A Mux chooses the store by a path's scheme. The zero Mux knows only the local disk.
type Mux struct {
	Stores map[string]FS // by scheme, such as "dfs"
	// Sites are stores of which a path names one behind the scheme: hdfs://name/x.
	Sites map[string]Sites
	// Local returns the store for a local path, or an error if there is none for this one. Nil means Disk.
	Local func(path string) (FS, error)
}

// Sites returns the store for an authority, the part between the slashes in hdfs://authority/x, which may be empty. It
// returns the same store for the same authority.
type Sites func(authority string) (FS, error)

// ErrScheme marks a path whose scheme no store serves.
var ErrScheme = errors.New("unknown scheme")

// ErrNotLocal returns the error for a local path that must not be opened.
func ErrNotLocal(path string) error {
	return fmt.Errorf("%q is a path on this machine's own disk, which this job may not open: put the file into the block store "+
		"(millrace dfs put) and name it as dfs:/PATH: %w", path, fs.ErrPermission)
}

// Resolve returns the store of a full path and the path inside the store.
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
	if at := m.Sites[scheme]; at != nil {
		authority, inner := cutAuthority(rest)
		s, err := at(authority)
		if err != nil {
			return nil, "", fmt.Errorf("path %q: %w", full, err)
		}
		return s, inner, nil
	}
	if scheme == CountScheme {
		return Count{}, rest, nil
	}
	known := slices.Sorted(maps.Keys(m.Stores))
	known = append(known, slices.Sorted(maps.Keys(m.Sites))...)
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

// IsLocal reports whether a path is on the disk of the machine that opens it.
func IsLocal(full string) bool {
	scheme, _, ok := cutScheme(full)
	return !ok || scheme == "file"
}

// cutAuthority divides what is behind a scheme, "//name/a" into "name" and "/a", and "/a" into "" and "/a".
func cutAuthority(rest string) (authority, inner string) {
	after, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return "", rest
	}
	authority, inner, _ = strings.Cut(after, "/")
	return authority, "/" + inner
}

// whole is the inverse of Resolve for a path found below full. It keeps the scheme and authority as they are written.
func (m Mux) whole(full, inner string) string {
	scheme, rest, ok := cutScheme(full)
	if !ok {
		return inner
	}
	if m.Stores[scheme] == nil && m.Sites[scheme] != nil && strings.HasPrefix(rest, "//") {
		authority, _ := cutAuthority(rest)
		inner = "//" + authority + inner
	}
	return scheme + ":" + inner
}

// Dir returns all but the last element of a full path, with its scheme and authority as they are written.
func (m Mux) Dir(full string) string {
	_, inner, err := m.Resolve(full)
	if err != nil {
		return path.Dir(full)
	}
	return m.whole(full, path.Dir(inner))
}
