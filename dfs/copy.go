package dfs

import (
	"io"
	"sync"
)

// A copy has so many buffers of so many bytes: one is read into, one waits, one is written from. Together
// they stay in a processor's cache.
const (
	copyBuffer  = 512 << 10
	copyBuffers = 3
)

// WriteTo writes what follows the last Read or Seek, reading ahead.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	f.mu.Lock()
	pos := f.pos
	f.mu.Unlock()
	n, err := f.CopyRange(w, pos, f.info.Len-pos)
	f.mu.Lock()
	f.pos = pos + n
	f.mu.Unlock()
	return n, err
}

// A segment is a part of a file on its way.
type segment struct {
	p   []byte
	err error
}

// CopyRange writes length bytes from off on, or up to the end of the file. The next are read while some
// are written. One stream at a time is faster than several here: what comes off the wire is verified
// before it leaves the cache.
func (f *File) CopyRange(w io.Writer, off, length int64) (written int64, err error) {
	end := min(f.info.Len, off+max(0, length))
	free, full := make(chan []byte, copyBuffers), make(chan segment, copyBuffers)
	for range copyBuffers {
		free <- nil
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(free)
	wg.Go(func() {
		defer close(full)
		f.readAhead(off, end, free, full)
	})
	for s := range full {
		n, werr := w.Write(s.p)
		written += int64(n)
		if werr != nil || s.err != nil {
			return written, firstOf(werr, s.err)
		}
		free <- s.p
	}
	return written, nil
}

// readAhead reads a range into free buffers until it ends, one cannot be read, or nobody wants more.
func (f *File) readAhead(off, end int64, free <-chan []byte, full chan<- segment) {
	for at := off; at < end; {
		p, more := <-free
		if !more {
			return
		}
		size := int(min(copyBuffer, end-at))
		if cap(p) < size {
			p = make([]byte, size)
		}
		n, err := f.readFull(p[:size], at, end)
		full <- segment{p[:n], err} // has room for all buffers
		if err != nil {
			return
		}
		at += int64(n)
	}
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
