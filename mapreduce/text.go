package mapreduce

import (
	"bytes"
	"io"
	"slices"

	"github.com/millrace/millrace/internal/pages"
)

// Text reads lines: everything up to a newline byte, which is not part of the record. A last line without a newline
// counts if it is not empty. Nothing else is interpreted: carriage returns, NUL bytes and invalid UTF-8 pass
// through. Compressed files are recognized by their first bytes, read whole and decompressed on the way.
var Text InputFormat = textFormat{}

// KeyTabValue reads lines as [Text] does and divides them at the first tab.
var KeyTabValue InputFormat = keyTabValue{}

type textFormat struct{}

func (textFormat) Name() string { return "text" }
func (textFormat) Splittable(head []byte) bool {
	kind, _ := sniff(head)
	return kind == plain
}

func (textFormat) Open(src Source) (RecordReader, error) { return openLines(src) }

type keyTabValue struct{ textFormat }

func (keyTabValue) Name() string { return "key-tab-value" }

func (keyTabValue) Open(src Source) (RecordReader, error) {
	r, err := openLines(src)
	if err != nil {
		return nil, err
	}
	return &tabReader{r}, nil
}

// tabReader hides the chunks of its line reader, since its records have another form.
type tabReader struct{ lines *lineReader }

func (t *tabReader) Next() bool   { return t.lines.Next() }
func (t *tabReader) Err() error   { return t.lines.Err() }
func (t *tabReader) Close() error { return t.lines.Close() }

func (t *tabReader) Record() Record {
	r := t.lines.Record()
	r.Key, r.Value, _ = bytes.Cut(r.Value, []byte{'\t'})
	r.Key = slices.Clip(r.Key) // appending to it must not overwrite the value
	return r
}

// textBuffer is how much of a file is read at once. It fits a core's cache, so that the bytes are still there when
// the mapper reads them.
const textBuffer = 256 << 10

// lineReader reads lines from a stream of bytes. The stream starts at a line's
// first byte and ends after a line's last.
type lineReader struct {
	name   string
	src    io.Reader
	closer io.Closer
	max    int

	buf    []byte // lines not returned yet, then free space
	lo, hi int    // buf[lo:hi] is unread
	giant  func(bytes int64) (done func(), err error)
	done   func() // releases the giant in the buffer, or nil
	held   window // for which max is less than whole
	whole  int
	clean  int   // bytes from lo on without a newline: searched only once
	off    int64 // of buf[lo] in the stream
	eof    bool
	err    error
	rec    Record
}

var _ ChunkReader = (*lineReader)(nil)

func openLines(src Source) (*lineReader, error) {
	if err := src.checkRange(); err != nil {
		return nil, err
	}
	l := &lineReader{name: src.Name, max: src.maxRecord(), giant: src.Giant}
	kind, at, err := src.compression()
	if err != nil {
		return nil, err
	}
	if kind != plain {
		return l, l.openCompressed(src, kind, at)
	}
	start, err := lineStart(src, src.Offset, src.end())
	if err != nil {
		return nil, err
	}
	end := start // no line starts in the range: it is inside a long one
	if start < src.end() {
		if end, err = lineStart(src, src.end(), src.Size); err != nil {
			return nil, err
		}
	}
	l.src, l.off = src.section(start, end), start
	l.buf = make([]byte, min(l.bufferSize(), max(0, end-start)+1)) // one more, to see the end without growing
	return l, nil
}

func (l *lineReader) openCompressed(src Source, kind compression, at int64) error {
	if src.Offset > 0 { // the range at 0 reads the whole file
		l.src = bytes.NewReader(nil)
		return nil
	}
	var d io.ReadCloser
	var err error
	if kind == zstded || kind == lz4ed {
		d, err = l.openHeld(src, kind, at)
	} else if d, err = decompress(src.section(0, src.Size), kind); err != nil {
		err = wrapRead(src.Name, 0, err)
	}
	if err != nil {
		return err
	}
	l.src, l.closer, l.buf = d, d, make([]byte, l.bufferSize())
	return nil
}

// bufferSize returns how much is read at once: never more than the longest line and its newline, so that no chunk
// can hold a line over the limit.
func (l *lineReader) bufferSize() int64 { return min(textBuffer, int64(l.max)+1) }

// lineStart returns where the first line starts at or after x and before end: behind the first newline at x-1 or
// later. If none starts there it returns end. It looks no further, so that the many ranges of one long line read it
// once.
func lineStart(src Source, x, end int64) (int64, error) {
	if x == 0 || x >= end {
		return min(x, end), nil
	}
	buf := make([]byte, 4<<10)
	for at := x - 1; at < end; {
		n := min(int64(len(buf)), end-at)
		if err := readFullAt(src.R, buf[:n], at); err != nil {
			return 0, wrapRead(src.Name, at, err)
		}
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		at += n
		if len(buf) < textBuffer {
			buf = make([]byte, textBuffer) // a long line: read in larger steps
		}
	}
	return end, nil
}

// Next advances by one line.
func (l *lineReader) Next() bool {
	for {
		if i := bytes.IndexByte(l.buf[l.lo+l.clean:l.hi], '\n'); i >= 0 {
			l.take(l.clean+i, l.clean+i+1)
			return true
		}
		l.clean = l.hi - l.lo
		if l.eof {
			if l.lo == l.hi || l.err != nil {
				return false
			}
			l.take(l.hi-l.lo, l.hi-l.lo)
			return true
		}
		l.fill()
	}
}

func (l *lineReader) take(length, advance int) {
	l.rec = Record{Value: l.buf[l.lo : l.lo+length : l.lo+length], Offset: l.off}
	l.lo += advance
	l.clean = 0
	l.off += int64(advance)
}

// NextChunk returns all whole lines that are in the buffer.
func (l *lineReader) NextChunk() ([]byte, int64, bool) {
	for {
		if i := bytes.LastIndexByte(l.buf[l.lo+l.clean:l.hi], '\n'); i >= 0 {
			return l.chunk(l.clean + i + 1)
		}
		l.clean = l.hi - l.lo
		if l.eof {
			if l.lo == l.hi || l.err != nil {
				return nil, 0, false
			}
			return l.chunk(l.hi - l.lo)
		}
		l.fill()
	}
}

func (l *lineReader) chunk(n int) ([]byte, int64, bool) {
	c, off := l.buf[l.lo:l.lo+n:l.lo+n], l.off
	l.lo += n
	l.clean = 0
	l.off += int64(n)
	return c, off, true
}

// RecordsIn counts the lines of a chunk.
func (l *lineReader) RecordsIn(chunk []byte) int64 {
	n := int64(bytes.Count(chunk, []byte{'\n'}))
	if len(chunk) > 0 && chunk[len(chunk)-1] != '\n' {
		n++
	}
	return n
}

// fill makes room and reads more bytes behind the unread ones.
func (l *lineReader) fill() {
	if len(l.buf) >= pages.Large && int64(l.hi-l.lo) < l.bufferSize() {
		l.move(int(l.bufferSize())) // the giant has been read
		l.leave()
	}
	if l.lo > 0 {
		copy(l.buf, l.buf[l.lo:l.hi])
		l.lo, l.hi = 0, l.hi-l.lo
	}
	if l.hi == len(l.buf) && !l.grow() {
		return
	}
	n, err := l.src.Read(l.buf[l.hi:])
	l.hi += n
	switch {
	case err == io.EOF:
		l.eof = true
	case err != nil:
		l.fail(wrapRead(l.name, l.off+int64(l.hi), err))
	}
}

// grow makes room for a line longer than the buffer. If it can measure the rest of the line first, it grows the
// buffer once, to the size needed.
func (l *lineReader) grow() bool {
	if len(l.buf) > l.max { // one byte more than the limit, for the newline
		l.fail(l.tooLong())
		return false
	}
	want, most := max(2*len(l.buf), 4<<10), l.max+1
	if s, ok := l.src.(*io.SectionReader); ok {
		want = l.hi + restOfLine(s)
		most = min(want, most)
	}
	if want+want/4 > l.max {
		want = l.max + 1 // avoids a small last step
	}
	if want >= pages.Large && !l.enter(most) {
		return false
	}
	l.move(min(max(want, len(l.buf)+1), most))
	return true
}

// enter waits until a giant of that many bytes may be in memory. It asks only once: one that has room and waits for
// more blocks others.
func (l *lineReader) enter(most int) bool {
	if l.giant == nil || l.done != nil {
		return true
	}
	done, err := l.giant(int64(most))
	if err != nil {
		l.fail(err)
		return false
	}
	l.done = done
	return true
}

// leave releases the room of the giant.
func (l *lineReader) leave() {
	if l.done != nil {
		l.done()
		l.done = nil
	}
}

// move moves the unread bytes to a buffer of another size.
func (l *lineReader) move(size int) {
	old := l.buf
	l.buf = make([]byte, size)
	l.hi = copy(l.buf, old[l.lo:l.hi])
	l.lo = 0
	pages.Drop(old)
}

// restOfLine returns how many bytes there are from s's position to the end of its line, newline included. It ignores
// errors, which appear when the bytes are read.
func restOfLine(s *io.SectionReader) int {
	pos, _ := s.Seek(0, io.SeekCurrent)
	buf := make([]byte, textBuffer)
	for n := 0; ; {
		got, err := s.ReadAt(buf, pos+int64(n))
		if i := bytes.IndexByte(buf[:got], '\n'); i >= 0 {
			return n + i + 1
		}
		n += got
		if err != nil || got == 0 {
			return n
		}
	}
}

func (l *lineReader) fail(err error) {
	l.err, l.eof = err, true
	l.lo, l.clean = l.hi, 0
}

// Record returns the current line.
func (l *lineReader) Record() Record { return l.rec }

// Err returns what stopped the reading, or nil if it was the end.
func (l *lineReader) Err() error { return l.err }

// Close releases the decompressor and the room of a giant.
func (l *lineReader) Close() error {
	pages.Drop(l.buf)
	l.buf, l.rec = nil, Record{}
	l.lo, l.hi, l.clean, l.eof = 0, 0, 0, true
	l.leave()
	if l.closer == nil {
		return nil
	}
	c := l.closer
	l.closer = nil
	return c.Close()
}
