package memdisk

import (
	"errors"
	"io"
	"io/fs"
	"sync"
	"syscall"
)

// A write is a change of a file that was not synced: bytes at an offset or, with cut, a new size.
type write struct {
	off  int64
	data []byte
	cut  bool
}

// apply returns content with the write applied.
func (w write) apply(content []byte) []byte {
	if w.cut {
		if w.off <= int64(len(content)) {
			return content[:w.off]
		}
		return append(content, make([]byte, w.off-int64(len(content)))...)
	}
	if end := w.off + int64(len(w.data)); end > int64(len(content)) {
		content = append(content, make([]byte, end-int64(len(content)))...)
	}
	copy(content[w.off:], w.data)
	return content
}

// A file is an open file. The disk's lock guards its content. Lock order: posMu, closeMu, FS.mu; the last two are
// not held together.
type file struct {
	fs    *FS
	node  *node
	name  string
	write bool

	posMu sync.Mutex // guards pos; held while Write appends, so that two of them do not write at one place
	pos   int64

	closeMu sync.Mutex // guards closed; what has begun before a Close goes on
	closed  bool
}

func (f *file) ask(op string, write bool) error {
	f.closeMu.Lock()
	closed := f.closed
	f.closeMu.Unlock()
	if closed {
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrClosed}
	}
	if write && !f.write {
		return &fs.PathError{Op: op, Path: f.name, Err: syscall.EBADF}
	}
	return nil
}

// Read continues where the last Read ended.
func (f *file) Read(b []byte) (int, error) {
	f.posMu.Lock()
	defer f.posMu.Unlock()
	n, err := f.ReadAt(b, f.pos)
	f.pos += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt reads at an offset.
func (f *file) ReadAt(b []byte, off int64) (int, error) {
	if err := f.ask("read", false); err != nil {
		return 0, err
	}
	if err := f.fs.ask("read", f.name); err != nil {
		return 0, err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: fs.ErrInvalid}
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.node.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Write appends.
func (f *file) Write(b []byte) (int, error) {
	f.posMu.Lock()
	defer f.posMu.Unlock()
	f.fs.mu.Lock()
	end := int64(len(f.node.data))
	f.fs.mu.Unlock()
	return f.WriteAt(b, end)
}

// WriteAt writes at an offset.
func (f *file) WriteAt(b []byte, off int64) (int, error) {
	if err := f.ask("write", true); err != nil {
		return 0, err
	}
	err := f.fs.ask("write", f.name)
	if err != nil {
		b = b[:len(b)/2]
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if off < 0 {
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: fs.ErrInvalid}
	}
	size := int64(len(f.node.data))
	if room := f.fs.limit - f.fs.used + size - off; int64(len(b)) > room {
		b, err = b[:max(room, 0)], &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	if len(b) > 0 {
		f.change(write{off: off, data: append([]byte(nil), b...)})
	}
	return len(b), err
}

// change applies a write. The caller holds the disk's lock.
func (f *file) change(w write) {
	before := len(f.node.data)
	f.node.data = w.apply(f.node.data)
	f.node.writes = append(f.node.writes, w)
	f.fs.used += int64(len(f.node.data) - before)
}

// Truncate changes the size.
func (f *file) Truncate(size int64) error {
	if err := f.ask("truncate", true); err != nil {
		return err
	}
	if err := f.fs.ask("truncate", f.name); err != nil {
		return err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if size < 0 {
		return &fs.PathError{Op: "truncate", Path: f.name, Err: fs.ErrInvalid}
	}
	f.change(write{off: size, cut: true})
	return nil
}

// Sync makes the content durable. If the hook makes it fail, the content will never be durable.
func (f *file) Sync() error {
	if err := f.ask("sync", false); err != nil {
		return err
	}
	err := f.fs.ask("sync", f.name)
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err == nil {
		for _, w := range f.node.writes {
			f.node.safe = w.apply(f.node.safe)
		}
	}
	f.node.writes = nil
	return err
}

// Size returns the size.
func (f *file) Size() (int64, error) {
	if err := f.ask("stat", false); err != nil {
		return 0, err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.node.data)), nil
}

// Close closes the file; closing twice is an error.
func (f *file) Close() error {
	f.closeMu.Lock()
	defer f.closeMu.Unlock()
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.name, Err: fs.ErrClosed}
	}
	f.closed = true
	return nil
}
