package blocks

import (
	"encoding/binary"
	"io"
	"os"
	"sync"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/wire"
)

// A Local is a finished replica that a reader on the same machine opened by its path. Every chunk is verified
// as it is read.
type Local struct {
	f     *os.File
	block wire.Block
	table []byte
}

// OpenLocal opens a block file and checks that it is the one wanted.
func OpenLocal(path string, want wire.Block) (*Local, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Local{f: f, block: want, table: make([]byte, 4*pipe.Chunks(want.Len))}
	if err := l.check(); err != nil {
		_ = f.Close() // only read
		return nil, err
	}
	return l, nil
}

func (l *Local) check() error {
	info, err := l.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != fileSize(l.block.Len) {
		return wire.Errorf(wire.Corrupt, "%s: file of %d bytes, should be %d", l.block.ID, info.Size(), fileSize(l.block.Len))
	}
	tail := make([]byte, len(l.table)+footerSize)
	if err := readAt(l.f, tail, headerSize+l.block.Len); err != nil {
		return err
	}
	b, crc, err := decodeFooter(tail[len(l.table):])
	if err != nil {
		return err
	}
	if copy(l.table, tail); b != l.block || pipe.Checksum(l.table) != crc {
		return wire.Errorf(wire.Corrupt, "%s: the file holds %v, or its table is damaged", l.block.ID, b)
	}
	return nil
}

// ReadAt reads verified bytes: whole chunks straight into p, the ends through a buffer. It divides a large read into
// two that run at once.
func (l *Local) ReadAt(p []byte, off int64) (int, error) {
	if mid := l.middle(len(p), off); mid > 0 {
		var n2 int
		var err2 error
		var wg sync.WaitGroup
		wg.Go(func() { n2, err2 = l.readAt(p[mid:], off+int64(mid)) })
		n, err := l.readAt(p[:mid], off)
		wg.Wait()
		if err != nil {
			return n, err
		}
		return mid + n2, err2
	}
	return l.readAt(p, off)
}

// minHalf is the least size of each half for which dividing a read pays.
const minHalf = 4 * pipe.ChunkSize

// middle returns where to divide a read, at the end of a chunk, or 0.
func (l *Local) middle(n int, off int64) int {
	if n < 2*minHalf || off+int64(n) > l.block.Len {
		return 0
	}
	return int((off+int64(n)/2)/pipe.ChunkSize*pipe.ChunkSize - off)
}

func (l *Local) readAt(p []byte, off int64) (int, error) {
	done := 0
	for done < len(p) && off < l.block.Len {
		at := off / pipe.ChunkSize * pipe.ChunkSize
		size := min(pipe.ChunkSize, l.block.Len-at)
		if at == off && int64(len(p)-done) >= size {
			if err := l.chunk(p[done:done+int(size)], at); err != nil {
				return done, err
			}
			done, off = done+int(size), off+size
			continue
		}
		buf := make([]byte, size)
		if err := l.chunk(buf, at); err != nil {
			return done, err
		}
		n := copy(p[done:], buf[off-at:])
		done, off = done+n, off+int64(n)
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

func (l *Local) chunk(p []byte, at int64) error {
	if err := readAt(l.f, p, headerSize+at); err != nil {
		return err
	}
	if got, want := pipe.Checksum(p), binary.LittleEndian.Uint32(l.table[4*(at/pipe.ChunkSize):]); got != want {
		return wire.Errorf(wire.Corrupt, "%s: chunk at %d has checksum %08x, should be %08x", l.block.ID, at, got, want)
	}
	return nil
}

// Close closes the file.
func (l *Local) Close() error { return l.f.Close() }

// Whole reports whether a file is an undamaged block file.
func Whole(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < headerSize+footerSize {
		return false
	}
	foot := make([]byte, footerSize)
	if readAt(f, foot, info.Size()-footerSize) != nil {
		return false
	}
	b, _, err := decodeFooter(foot)
	return err == nil && CheckFile(statFile{f, info.Size()}, b, func(int) {}) == nil
}

// statFile is a file whose size is known.
type statFile struct {
	*os.File
	size int64
}

func (f statFile) Size() (int64, error) { return f.size, nil }
