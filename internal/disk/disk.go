// Package disk is the seam between packages that keep files and the disk under them. The block store and the
// journals write through an [FS], so that a test can make writes fail, lie, or vanish in a power cut.
//
// Names are relative to the FS's root and cannot leave it. A file is durable once it is synced, and its name once
// [FS.SyncDir] is called on its directory after that. Callers that need both must call both, in that order; no other
// method does it.
package disk

import (
	"io"
	"io/fs"
)

// An FS is a directory tree. Its methods may be called concurrently. Errors wrap those of package fs and name the
// file.
type FS interface {
	// Create creates a file for reading and writing, or fails with fs.ErrExist.
	Create(name string) (File, error)
	// Open opens a file for reading only.
	Open(name string) (File, error)
	// Edit opens an existing file for reading and writing.
	Edit(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// MkdirAll makes a directory and its parents.
	MkdirAll(name string) error
	// ReadDir lists the names in a directory, sorted.
	ReadDir(name string) ([]string, error)
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// Free returns how many bytes the tree has and how many of them we may still use.
	Free() (total, free int64, err error)
}

// A File is an open file. Write appends to its end, wherever reading is; WriteAt writes at an offset. Only one
// goroutine may write.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	// Sync makes the content durable. After an error the content must be considered lost, since the system may have
	// dropped what it could not write.
	Sync() error
	Truncate(size int64) error
	Size() (int64, error)
}
