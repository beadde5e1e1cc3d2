package dfs

import (
	"io"
	"sync"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/wire"
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
	p    []byte
	at   int64
	err  error
	from *unverified // nil if the bytes are known to be right
}

// unverified says where bytes came from whose checksums nobody has looked at yet.
type unverified struct {
	place wire.Place
	block wire.Block
	off   int64 // in the block
	crcs  []byte
}

// CopyRange writes length bytes from off on, or up to the end of the file. The next are read while some
// are verified and written: what reads does nothing but that. One stream at a time is faster than several
// here: what comes off the wire is verified before it leaves the cache.
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
		if s.from != nil {
			s.err = f.verify(&s, end)
		}
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
		s := segment{p: p[:size], at: at}
		if n, from := f.readRaw(s.p, at); n > 0 {
			s.p, s.from = p[:n], from
		} else {
			n, s.err = f.readFull(s.p, at, end)
			s.p = p[:n]
		}
		full <- s // has room for all buffers
		if s.err != nil {
			return
		}
		at += int64(len(s.p))
	}
}

// readRaw reads on from an open stream what somebody else will verify; 0 if there is none, or it ends early.
func (f *File) readRaw(p []byte, off int64) (int, *unverified) {
	b, ok := f.blockAt(off)
	if !ok {
		return 0, nil
	}
	off -= b.Off
	cur := f.takeCursor(b.Block, off)
	if cur == nil {
		return 0, nil
	}
	n, crcs, err := cur.readRaw(p[:min(int64(len(p)), cur.end-off)], f.c.cfg.Stall)
	if err != nil {
		f.blame(cur.place, b.Block, err)
		cur.close()
		return 0, nil
	}
	f.keepCursor(cur)
	return n, &unverified{place: cur.place, block: b.Block, off: off, crcs: crcs}
}

// verify looks at a segment's checksums. If one is wrong the segment is read again, from another replica.
func (f *File) verify(s *segment, end int64) error {
	from := s.from
	bad := pipe.CheckChunks(s.p, from.crcs)
	if bad < 0 {
		return nil
	}
	f.blame(from.place, from.block, wire.Errorf(wire.Corrupt, "%s on %s: the chunk at %d has another checksum than its sender saw", from.block.ID, from.place.Node, from.off+int64(bad)*pipe.ChunkSize))
	n, err := f.readFull(s.p, s.at, end)
	s.p = s.p[:n]
	return err
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
