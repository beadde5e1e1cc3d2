package shuffle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/millrace/millrace/internal/codec"
)

// late is a record so large that a merge cannot have one such record from every run in memory. Only its beginning is
// in memory, which nearly always decides its place. The rest is read when its turn has come. The whole frame is
// checked before, and again when it is read.
type late struct {
	r      *frameReader
	frame  frame
	at     int64  // of the frame in the file
	start  int    // of the key in the frame
	keyLen int    // of the whole key
	head   []byte // beginning of key and value, in the reader's buffer
}

// lateShare is the part of the budget above which a record waits on disk.
const lateShare = 16

// defers reports whether a frame is one large record that can wait.
func (c *carver) defers(f *frame, size int64) bool {
	return f.records == 1 && f.codec == None && c.acct != nil && size > max(c.acct.pool.limit/lateShare, 4*int64(c.acct.pool.frameSize()))
}

// openLate checks a frame of size bytes at r.off, piece by piece, and leaves its beginning in the buffer.
func (r *frameReader) openLate(f frame, size int64) ([]byte, error) {
	sum := uint32(0)
	for done := int64(0); done < size; {
		b := r.buf[:min(int64(len(r.buf)), size-done)]
		if err := r.read(b, r.off+done); err != nil {
			return nil, err
		}
		done += int64(len(b))
		if done == int64(len(b)) {
			b = b[4:] // without the checksum
		}
		sum = codec.AddSum(sum, b)
	}
	r.r, r.w = 0, 0
	if err := r.read(r.buf, r.off); err != nil {
		return nil, err
	}
	err := r.chain.acceptSum(&f, r.buf, sum, r.off)
	if err == nil {
		r.late, err = r.parseLate(f, r.buf)
	}
	return r.buf, err
}

// parseLate parses the record in a frame that holds nothing else.
func (r *frameReader) parseLate(f frame, b []byte) (*late, error) {
	h := frameHeader
	k, n := binary.Uvarint(b[h:])
	v, m := binary.Uvarint(b[h+max(n, 0):])
	h += n + m
	if n <= 0 || m <= 0 || k > uint64(f.raw) || v > uint64(f.raw) || uint64(h-frameHeader)+k+v != uint64(f.raw) {
		return nil, corruptf(r.chain.file, int(r.chain.partition), r.off, "record crosses the end of its frame")
	}
	return &late{r: r, frame: f, at: r.off, start: h, keyLen: int(k), head: b[h:]}, nil
}

// keyHead returns the part of the key that is in memory.
func (l *late) keyHead() []byte { return l.head[:min(l.keyLen, len(l.head))] }

// load reads the whole record. It does not wait for room, since its own merge may hold the room that it would wait
// for.
func (l *late) load() ([]byte, error) {
	l.r.dropJumbo()
	l.r.jumbo = l.r.mem.oversized(frameHeader + int(l.frame.stored))
	if err := l.r.read(l.r.jumbo, l.at); err != nil {
		return nil, err
	}
	if err := l.frame.verify(l.r.jumbo); err != nil {
		return nil, corruptf(l.r.chain.file, int(l.r.chain.partition), l.at, "since it was checked it has changed: %w", err)
	}
	return l.r.jumbo[l.start:], nil
}

// enterLate makes a late record the current one of the stream.
func (s *stream) enterLate(l *late) bool {
	s.late, s.kv, s.keyLen, s.buf = l, nil, 0, nil
	if s.marked {
		from, ok := l.unmark()
		if !ok {
			return s.fail(corruptf(l.r.chain.file, int(l.r.chain.partition), l.at, "a key without the number of its map"))
		}
		s.from = from
	}
	if s.plain {
		s.prefix = prefixOf(l.keyHead())
	}
	return true
}

// whole reads all of the current record into memory.
func (s *stream) whole() error {
	l := s.late
	if l == nil || s.lost != nil {
		return s.lost
	}
	kv, err := l.load()
	if err != nil {
		s.lost = err
		return err
	}
	s.late, s.kv, s.keyLen = nil, kv[:len(kv):len(kv)], l.keyLen
	return nil
}

// keyReader returns a reader of the current key, which may be late.
func (s *stream) keyReader() io.Reader {
	l := s.late
	if l == nil {
		return bytes.NewReader(s.Key())
	}
	head := l.keyHead()
	rest := io.NewSectionReader(l.r.src, l.at+int64(l.start+len(head)), int64(l.keyLen-len(head)))
	return io.MultiReader(bytes.NewReader(head), rest)
}

// lose records why the key of a late record could not be read. A second try might succeed, but by then the record
// would be in a wrong place.
func (s *stream) lose(err error) {
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.lost = fmt.Errorf("read %s at %d: %w: %w", s.late.r.chain.file, s.late.at, ErrScratch, err)
	}
}

// lostFirst orders a stream that cannot be read before one that can. It returns 0 if both can.
func lostFirst(x, y *stream) int {
	switch {
	case x.lost != nil:
		return -1
	case y.lost != nil:
		return 1
	}
	return 0
}

// compareLate compares the current keys of two streams, of which at least one is late. A key that cannot be read
// compares as less, so that it comes up soon and ends the merge.
func compareLate(compare func(a, b []byte) int, x, y *stream) int {
	if c := lostFirst(x, y); c != 0 {
		return c
	}
	if compare == nil {
		c, xerr, yerr := compareReaders(x.keyReader(), y.keyReader())
		x.lose(xerr)
		y.lose(yerr)
		if lost := lostFirst(x, y); lost != 0 {
			return lost
		}
		return c
	}
	var keys [2][]byte
	for i, s := range []*stream{x, y} {
		if l := s.late; l != nil && l.keyLen <= len(l.head) {
			keys[i] = l.keyHead()
			continue
		}
		if s.whole() != nil {
			return 2*i - 1
		}
		keys[i] = s.Key()
	}
	return compare(keys[0], keys[1])
}

// compareReaders compares bytes piece by piece, and returns how each of the two ended, if it did.
func compareReaders(x, y io.Reader) (c int, xerr, yerr error) {
	const piece = 64 << 10
	a, b := make([]byte, piece), make([]byte, piece)
	for {
		n, xerr := io.ReadFull(x, a)
		m, yerr := io.ReadFull(y, b)
		if c := bytes.Compare(a[:n], b[:m]); c != 0 || xerr != nil || yerr != nil {
			return c, xerr, yerr
		}
	}
}
