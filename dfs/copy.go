package dfs

import (
	"io"
	"sync"
)

// Segments of a copy: so many bytes each, so many read ahead of what is written.
const (
	segmentBytes = 2 << 20
	readAhead    = 2
)

// WriteTo writes what follows the last Read or Seek, reading ahead from several streams at
// once.
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

// CopyRange writes length bytes from off on, or up to the end of the file. Readers are at work on
// the next segments while one is written.
func (f *File) CopyRange(w io.Writer, off, length int64) (written int64, err error) {
	end := min(f.info.Len, off+max(0, length))
	queue := make(chan chan segment, readAhead-1)
	stop := make(chan struct{})
	free := make(chan []byte, readAhead+1)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		defer close(queue)
		for at := off; at < end; at += segmentBytes {
			result := make(chan segment, 1)
			select {
			case queue <- result:
			case <-stop:
				return
			}
			p := take(free)[:min(segmentBytes, end-at)]
			wg.Go(func() {
				n, err := f.readFull(p, at, true)
				result <- segment{p[:n], err}
			})
		}
	})
	for result := range queue {
		s := <-result
		n, werr := w.Write(s.p)
		written += int64(n)
		if werr != nil || s.err != nil {
			return written, firstOf(werr, s.err)
		}
		select {
		case free <- s.p[:segmentBytes]:
		default:
		}
	}
	return written, nil
}

// take returns a buffer that was used before, or a new one.
func take(free <-chan []byte) []byte {
	select {
	case p := <-free:
		return p
	default:
		return make([]byte, segmentBytes)
	}
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
