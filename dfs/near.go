package dfs

import (
	"slices"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/wire"
)

// A replica sends whole chunks, and what is on its way cannot be called back. So no more is asked for than will be read:
// what the reader has announced with WillRead, in one stream, and else just what a call asks for. Chunks that a small
// read did not use up are kept for the next ones: a split of text looks for the line that its range begins in, then
// for the one that it ends in, and reads what is between.

// near is what is kept of a file, the oldest first.
type near struct {
	from, to int64 // announced by WillRead
	chunks   []nearChunk
}

type nearChunk struct {
	block wire.Block
	off   int64 // in the block
	data  []byte
}

// maxNear is how many chunks are kept: a range of text needs two at either end.
const maxNear = 4

// WillRead announces that the range from one offset to another will be read in order. It replaces an earlier one.
func (f *File) WillRead(from, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.near.from, f.near.to = from, to
}

// ahead is up to where bytes from off on are asked for when n are read.
func (f *File) ahead(off int64, n int) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if off >= f.near.from && off < f.near.to {
		return f.near.to
	}
	return off + int64(n)
}

// readNear copies what is kept of a block from off on, and returns where the next chunk that is kept begins, or end.
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

// small reports whether a read is better served by chunks that are kept than by a stream.
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
