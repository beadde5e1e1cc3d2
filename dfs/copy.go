package dfs

import (
	"io"
	"sync"
	"time"
)

// A copy goes through buffers of so many bytes, which stay in a processor's cache: one if the writer is quick; if not, one is
// read into, one waits, one is written from.
const (
	copyBuffer  = 512 << 10
	copyBuffers = 3
	copyProbe   = 8 << 20 // how much is copied before the writer is judged
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

// CopyRange writes length bytes from off on, or up to the end of the file. The sockets read ahead by themselves, so
// for a quick writer one goroutine reads, verifies and writes: handing on what is in the cache of one processor to
// another costs more than it brings. Only a writer that takes its time gets bytes that were read meanwhile.
func (f *File) CopyRange(w io.Writer, off, length int64) (written int64, err error) {
	end := min(f.info.Len, off+max(0, length))
	buf := make([]byte, max(0, min(copyBuffer, end-off)))
	begin := time.Now()
	var writing time.Duration
	for at := off; at < end; at = off + written {
		if written >= copyProbe && writing > time.Since(begin)/8 {
			n, err := f.copyAhead(w, at, end)
			return written + n, err
		}
		n, rerr := f.readFull(buf[:min(copyBuffer, end-at)], at, end)
		before := time.Now()
		n, werr := w.Write(buf[:n])
		writing += time.Since(before)
		written += int64(n)
		if werr != nil || rerr != nil {
			return written, firstOf(werr, rerr)
		}
	}
	return written, nil
}

// A segment is a part of a file on its way.
type segment struct {
	p   []byte
	err error // after its bytes
}

// copyAhead writes the bytes from off to end; the next are read while some are written.
func (f *File) copyAhead(w io.Writer, off, end int64) (written int64, err error) {
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
		free <- s.p[:cap(s.p)]
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
		if p == nil {
			p = make([]byte, copyBuffer)
		}
		n, err := f.readFull(p[:min(copyBuffer, end-at)], at, end)
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
