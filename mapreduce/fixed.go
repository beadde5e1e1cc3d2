package mapreduce

import (
	"fmt"
	"io"
)

// FixedSize reads records of size bytes each. A file whose length is not a
// multiple of size is an error.
func FixedSize(size int) InputFormat { return fixedFormat{size} }

type fixedFormat struct{ size int }

func (f fixedFormat) Name() string         { return fmt.Sprintf("fixed-%d", f.size) }
func (fixedFormat) Splittable([]byte) bool { return true }

func (f fixedFormat) Open(src Source) (RecordReader, error) {
	if f.size < 1 {
		return nil, fmt.Errorf("record size is %d, must be at least 1", f.size)
	}
	if f.size > src.maxRecord() {
		return nil, tooLarge(src.Name, 0, itoa(f.size), src.maxRecord())
	}
	if err := src.checkRange(); err != nil {
		return nil, err
	}
	size := int64(f.size)
	if rest := src.Size % size; rest != 0 {
		return nil, fmt.Errorf("%s: %d bytes are not a whole number of %d-byte records (%d left over: wrong format, or truncated?)",
			src.Name, src.Size, f.size, rest)
	}
	start := (src.Offset + size - 1) / size * size
	end := (src.end() + size - 1) / size * size
	n := max(1, textBuffer/f.size)
	return &fixedReader{
		name: src.Name, size: f.size, off: start,
		src: src.section(start, end),
		buf: make([]byte, min(int64(n*f.size), max(0, end-start))),
	}, nil
}

type fixedReader struct {
	name   string
	size   int
	src    *io.SectionReader
	buf    []byte
	lo, hi int
	off    int64 // of buf[lo]
	rec    Record
	err    error
}

var _ ChunkReader = (*fixedReader)(nil)

func (f *fixedReader) Next() bool {
	if f.lo == f.hi && !f.fill() {
		return false
	}
	f.rec = Record{Value: f.buf[f.lo : f.lo+f.size : f.lo+f.size], Offset: f.off}
	f.lo += f.size
	f.off += int64(f.size)
	return true
}

func (f *fixedReader) NextChunk() ([]byte, int64, bool) {
	if f.lo == f.hi && !f.fill() {
		return nil, 0, false
	}
	c, off := f.buf[f.lo:f.hi:f.hi], f.off
	f.off += int64(len(c))
	f.lo = f.hi
	return c, off, true
}

func (f *fixedReader) fill() bool {
	if f.err != nil || len(f.buf) == 0 {
		return false
	}
	n, err := io.ReadFull(f.src, f.buf)
	if err == io.EOF {
		return false
	}
	if err == io.ErrUnexpectedEOF && n%f.size == 0 { // the last, shorter buffer
		err = nil
	}
	if err != nil {
		f.err = wrapRead(f.name, f.off+int64(n), err)
		return false
	}
	f.lo, f.hi = 0, n
	return true
}

func (f *fixedReader) RecordsIn(chunk []byte) int64 { return int64(len(chunk) / f.size) }
func (f *fixedReader) Record() Record               { return f.rec }
func (f *fixedReader) Err() error                   { return f.err }
func (*fixedReader) Close() error                   { return nil }
