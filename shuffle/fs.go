package shuffle

import (
	"io"
	"os"
)

// FS is where spills and outputs are stored. Names are full paths. Implementations must be safe for concurrent use.
// Tests use it to inject faults.
type FS interface {
	// Create makes a new file and fails if the name exists.
	Create(name string) (File, error)
	// Open opens an existing file for reading.
	Open(name string) (File, error)
	// Rename gives a file its final name and replaces any file of that name.
	Rename(from, to string) error
	// Remove deletes a file.
	Remove(name string) error
}

// File is an open scratch file. ReadAt may be called concurrently.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
	// Size returns the present length in bytes.
	Size() (int64, error)
}

// Disk returns the operating system's file system.
func Disk() FS { return osFS{} }

// osFS is the disk.
type osFS struct{}

type osFile struct{ *os.File }

var (
	_ FS   = osFS{}
	_ File = osFile{}
)

func (osFS) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Open(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }
func (osFS) Remove(name string) error     { return os.Remove(name) }

func (f osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
