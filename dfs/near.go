package dfs

import (
	"slices"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/wire"
)

// A replica sends whole chunks, and data in flight cannot be called back. So a File asks only for what will be
// read: the range that WillRead announced, in one stream, or else just what the call needs. It keeps chunks
// that a small read did not use up for later reads. A split of text looks for the line in which its range
// begins, then for the one in which it ends, and then reads what is between.

// near is the kept chunks of a file, oldest first.
type near struct {
	from, to int64 // announced by WillRead
	chunks   []nearChunk
}

type nearChunk struct {
	block wire.Block
	off   int64 // in the block
	data  []byte
}

// maxNear is how many chunks are kept. A range of text needs two at either end.
const maxNear = 4

// WillRead announces that the range from one offset to another will be read in order. It replaces an earlier one.
func (f *File) WillRead(from, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.near.from, f.near.to = from, to
}

// ahead returns the offset up to which to ask for bytes when n are read at off.
func (f *File) ahead(off int64, n int) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if off >= f.near.from && off < f.near.to {
		return f.near.to
	}
	return off + int64(n)
}

// readNear copies kept bytes of a block from off on. It returns where the next kept chunk begins, or end.
func (f *File) readNear(p []byte, b wire.Block, off, end int64) (n int, next int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next = end
	for _, c := range f.near.chunks {
		if c.block != b {
			continue
		}
		if off >= c.off && off < c.off+int64(len(c.data)) {
			return copy(p, c.data[off-c.off:]), end
		}
		if c.off > off {
			next = min(next, c.off)
		}
	}
	return 0, next
}

// small reports whether kept chunks serve a read better than a stream.
func small(p []byte, off, end int64) bool {
	return len(p) < pipe.ChunkSize && end-off < pipe.ChunkSize
}

// fetchNear reads the chunks around a small range and keeps them.
func (f *File) fetchNear(p []byte, b wire.LocatedBlock, off int64) (int, error) {
	from, to := pipe.Cover(b.Len, off, int64(len(p)))
	if n, next := f.readNear(nil, b.Block, from, to); n == 0 {
		to = min(to, next)
	}
	cur, err := f.openCursor(b, from, to)
	if err != nil {
		return 0, err
	}
	data := make([]byte, to-from)
	got, err := cur.read(data, f.c.cfg.Stall)
	cur.close()
	if err != nil {
		f.blame(cur.place, b, err)
		return 0, err
	}
	f.keepNear(b.Block, from, data[:got])
	return copy(p, data[off-from:got]), nil
}

func (f *File) keepNear(b wire.Block, from int64, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(data) > 0 {
		n := min(len(data), pipe.ChunkSize)
		if len(f.near.chunks) == maxNear {
			f.near.chunks = slices.Delete(f.near.chunks, 0, 1)
		}
		f.near.chunks = append(f.near.chunks, nearChunk{b, from, data[:n:n]})
		from, data = from+int64(n), data[n:]
	}
}
