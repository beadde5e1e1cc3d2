package history

import (
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A walFS makes the log of the store cheap. Each batch goes to the operating system at once, so that killing the master
// loses none. It goes to the disk when the store asks for that, or when a file of the log is full. A power cut costs
// the last batches as a whole; the journal still has those of their entries that came from it.
type walFS struct {
	vfs.FS
	hard *atomic.Bool
}

func (f walFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.wrap(name)(f.FS.Create(name, category))
}

func (f walFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.wrap(to)(f.FS.ReuseForWrite(from, to, category))
}

func (f walFS) wrap(name string) func(vfs.File, error) (vfs.File, error) {
	return func(file vfs.File, err error) (vfs.File, error) {
		if err != nil || !strings.HasSuffix(name, ".log") {
			return file, err
		}
		return walFile{file, f.hard}, nil
	}
}

type walFile struct {
	vfs.File
	hard *atomic.Bool
}

func (f walFile) Sync() error {
	if !f.hard.Load() {
		return nil
	}
	return f.File.Sync()
}

func (f walFile) SyncData() error {
	if !f.hard.Load() {
		return nil
	}
	return f.File.SyncData()
}

func (f walFile) SyncTo(length int64) (bool, error) {
	if !f.hard.Load() {
		return false, nil
	}
	return f.File.SyncTo(length)
}

// Close syncs a file before the next one is begun.
func (f walFile) Close() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	return f.File.Close()
}
