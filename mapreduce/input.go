package mapreduce

import (
	"errors"
	"fmt"
	"io"
)

// A Source is a byte range of one file whose records a reader must read.
type Source struct {
	Name string // for error messages and for [WholeFile]'s keys
	R    io.ReaderAt
	Size int64 // of the file
	// Offset and Length are the range. A record belongs to the range that holds
	// its first byte; readers look past the end to complete the last one.
	Offset, Length int64
	// MaxRecord bounds one record in bytes. 0 means 1 GiB.
	MaxRecord int
	// Plain says that the file is known to be uncompressed, as when a file is read in several ranges.
	Plain bool
	// InKey and InValue are the types of the pairs that the map takes. Nil takes any bytes.
	InKey, InValue Type
	// Giant, if set, is called before a record of 1 MiB or more is read, and waits until there is room for that many
	// bytes beside those of other readers. done is called when the record has left memory.
	Giant func(bytes int64) (done func(), err error)
}

// An InputFormat turns the bytes of files into records. It must be usable by
// several goroutines at once.
type InputFormat interface {
	Name() string
	// Splittable reports whether a file that starts with head may be read in
	// several ranges. Head holds up to [HeadBytes] bytes.
	Splittable(head []byte) bool
	// Open returns a reader for the records of a range.
	Open(src Source) (RecordReader, error)
}

// HeadBytes is how much of a file formats see to decide on splitting.
const HeadBytes = 16

// A RecordReader returns one record after another. Next returns false at the end or after an error, which Err
// returns. It may also implement [ChunkReader].
type RecordReader interface {
	Next() bool
	Record() Record
	Err() error
	Close() error
}

// A ChunkReader can return many whole records at once, in place of Next. The chunk is valid until the following
// call.
type ChunkReader interface {
	RecordReader
	NextChunk() (chunk []byte, offset int64, ok bool)
	// RecordsIn counts the records of a chunk.
	RecordsIn(chunk []byte) int64
}

// ErrRecordTooLarge marks a record over the limit.
var ErrRecordTooLarge = errors.New("record too large")

func tooLarge(name string, offset int64, size string, limit int) error {
	return fmt.Errorf("%s: record at offset %d is %s bytes, the limit is %d (raise the memory, of which a record may be a quarter, or MaxRecordBytes, on the command line --max-record-bytes, with which the memory is not kept to): %w",
		name, offset, size, limit, ErrRecordTooLarge)
}

func (s Source) maxRecord() int {
	if s.MaxRecord <= 0 {
		return 1 << 30
	}
	return s.MaxRecord
}

// A rangeReader wants to know which range of it will be read in order, so that it fetches no more than that over a
// network.
type rangeReader interface {
	WillRead(from, to int64)
}

// section returns a range of the file that will be read in order.
func (s Source) section(from, to int64) *io.SectionReader {
	s.willRead(from, to)
	return io.NewSectionReader(s.R, from, max(0, to-from))
}

func (s Source) willRead(from, to int64) {
	if r, ok := s.R.(rangeReader); ok {
		r.WillRead(from, to)
	}
}

// checkRange refuses invalid ranges.
func (s Source) checkRange() error {
	switch {
	case s.Offset < 0 || s.Length < 0:
		return fmt.Errorf("%s: range %d+%d outside the file of %d bytes", s.Name, s.Offset, s.Length, s.Size)
	case s.Offset > s.Size: // the file was longer when the job was planned
		return fmt.Errorf("%s: changed while it was read: it has %d bytes, and the job is to read from byte %d on: run it again when nobody writes to it, or on a copy", s.Name, s.Size, s.Offset)
	}
	return nil
}

// end returns the first byte after the range, inside the file.
func (s Source) end() int64 {
	if s.Length > s.Size-s.Offset {
		return s.Size
	}
	return s.Offset + s.Length
}

// readFullAt fills buf from off, or returns io.ErrUnexpectedEOF for a short file.
func readFullAt(r io.ReaderAt, buf []byte, off int64) error {
	n, err := r.ReadAt(buf, off)
	if n == len(buf) {
		return nil
	}
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
