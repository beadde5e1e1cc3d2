package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// Count is a store of numbers in place of files, for jobs that generate their own data: the file "count:/1000" holds
// the 8-byte big-endian numbers 0..999. It can be read at any offset and takes no space.
type Count struct{}

var _ FS = Count{}

// CountScheme is the scheme by which every [Mux] finds [Count].
const CountScheme = "count"

// maxCount keeps sizes far from overflow.
const maxCount = 1 << 56

var errReadOnly = errors.New("count: is read-only")

func parseCount(p string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(p, "/"), 10, 64)
	if err != nil || n < 0 || n > maxCount {
		return 0, fmt.Errorf("count:%s: want count:/N with N in 0..%d: %w", p, int64(maxCount), fs.ErrNotExist)
	}
	return n, nil
}

// Open opens the numbers below N.
func (Count) Open(p string) (File, error) {
	n, err := parseCount(p)
	return numbers(n), err
}

// numbers is the file of the first n numbers.
type numbers int64

func (n numbers) Size() int64 { return 8 * int64(n) }
func (numbers) Close() error  { return nil }

func (n numbers) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("count: read at %d", off)
	}
	var word [8]byte
	done := 0
	for done < len(b) && off < n.Size() {
		i := off % 8
		binary.BigEndian.PutUint64(word[:], uint64(off/8))
		k := copy(b[done:], word[i:])
		done += k
		off += int64(k)
	}
	if done < len(b) {
		return done, io.EOF
	}
	return done, nil
}

// Stat describes the file of numbers.
func (Count) Stat(p string) (fs.FileInfo, error) {
	n, err := parseCount(p)
	return countInfo{path.Base(p), n}, err
}

type countInfo struct {
	name string
	n    int64
}

func (i countInfo) Name() string     { return i.name }
func (i countInfo) Size() int64      { return 8 * i.n }
func (countInfo) Mode() fs.FileMode  { return 0o444 }
func (countInfo) ModTime() time.Time { return time.Time{} }
func (countInfo) IsDir() bool        { return false }
func (countInfo) Sys() any           { return nil }

// ReadDir always fails.
func (Count) ReadDir(p string) ([]fs.DirEntry, error) {
	return nil, fmt.Errorf("count:%s: is not a directory", p)
}

// Create always fails.
func (Count) Create(string) (Writer, error) { return nil, errReadOnly }

// MkdirAll always fails.
func (Count) MkdirAll(string) error { return errReadOnly }

// Rename always fails.
func (Count) Rename(_, _ string) error { return errReadOnly }

// RemoveAll always fails.
func (Count) RemoveAll(string) error { return errReadOnly }
