package dfs

import (
	"io"
	"sync"
	"time"
)

// The buffers of a copy fit in a processor's cache. A quick writer needs one. Otherwise one is being filled,
// one waits, and one is being written.
const (
	copyBuffer  = 512 << 10
	copyBuffers = 3
	copyProbe   = 8 << 20 // bytes copied before the writer is judged
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

// CopyRange writes length bytes from off on, or up to the end of the file. The sockets read ahead, so for a
// quick writer one goroutine reads, verifies and writes: handing data from one processor's cache to another
// costs more than it gains. Only for a slow writer does CopyRange read ahead.
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

// A segment is a part of a file in flight.
type segment struct {
	p   []byte
	err error // after its bytes
}

// copyAhead writes the bytes from off to end and reads the next ones meanwhile.
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

// readAhead reads a range into free buffers until it ends, a read fails, or free is closed.
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
