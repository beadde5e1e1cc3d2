// Package disk is the seam between packages that keep files and the disk under them: what
// the block store and the journals write goes through an [FS], so that a test can make
// writes fail, lie, or vanish in a power cut.
//
// Names are relative to the FS's root and cannot leave it. A file is durable when it was
// synced, its name when [FS.SyncDir] was called on its directory after that. Whoever
// needs both calls both, in that order; nothing here does it in passing.
package disk

import (
	"io"
	"io/fs"
)

// An FS is a directory tree. All methods may be called by several goroutines at once.
// Errors wrap those of package fs and name the file.
type FS interface {
	// Create makes a new file for reading and writing; fs.ErrExist if the name is taken.
	Create(name string) (File, error)
	// Open opens for reading only.
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
	// Free returns how many bytes the tree has and how many are free to us.
	Free() (total, free int64, err error)
}

// A File is an open file. Write appends to its end, wherever reading stands; WriteAt writes
// at a place. One goroutine writes.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	// Sync makes the content durable. After an error the content must be taken as
	// lost: the system may have dropped what it could not write.
	Sync() error
	Truncate(size int64) error
	Size() (int64, error)
}
