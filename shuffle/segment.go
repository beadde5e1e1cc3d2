package shuffle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
)

// Segment is one partition of a map output elsewhere. All but Fetch comes from the index of that output: see
// Output.Info and Output.Tag.
type Segment struct {
	// Name is the output's, as in Config.Name of its collector.
	Name string

	// Map is the number of the map whose output it is. An Intake takes each map once, and returns records with equal
	// keys in the order of the maps.
	Map int

	// Partition is the number of the partition.
	Partition int

	// Info describes the partition. A stream that holds anything else is refused.
	Info PartitionInfo

	// Fetch opens the stored bytes of the partition, from the first to the last. It
	// may be called from any goroutine, and once for each Take. It should end
	// when ctx does.
	Fetch func(ctx context.Context) (io.ReadCloser, error)
}

func (s *Segment) validate() error {
	i := s.Info
	if s.Name == "" || s.Map < 0 || s.Map > math.MaxInt32 || s.Partition < 0 || s.Partition >= maxPartitions || s.Fetch == nil {
		return fmt.Errorf("segment %q: name, map %d, partition %d or fetch is not valid", s.Name, s.Map, s.Partition)
	}
	if i.Records < 0 || i.RawBytes < 0 || i.StoredBytes < 0 || i.RawBytes < 2*i.Records || (i.Records == 0) != (i.StoredBytes == 0) {
		return fmt.Errorf("segment %q: impossible sizes %+v", s.Name, i)
	}
	return nil
}

// segmentStream reads frames from a stream and verifies each before returning it.
type segmentStream struct {
	seg    *Segment
	in     io.Reader
	chain  chain
	off    int64
	raw    int64 // bytes of records so far
	recs   int64
	buf    []byte
	room   *room // where frames stay, in blocks; nil: they do not, or in buf
	maxBuf int   // largest frame so far
	packed int   // largest compressed frame so far, in bytes of records
}

func newSegmentStream(seg *Segment, in io.Reader) *segmentStream {
	return &segmentStream{
		seg: seg, in: in, buf: make([]byte, frameHeader),
		chain: chain{file: seg.Name, tag: nameTag(seg.Name), partition: uint32(seg.Partition)},
	}
}

// next returns the next frame, verified and valid until the following call, or nil at the proper end.
func (s *segmentStream) next() ([]byte, frame, error) {
	if s.off == s.seg.Info.StoredBytes {
		return nil, frame{}, s.finish()
	}
	if err := s.read(s.buf[:frameHeader]); err != nil {
		return nil, frame{}, err
	}
	f := parseFrame(s.buf)
	size := frameHeader + int(f.stored)
	if int64(size) > s.seg.Info.StoredBytes-s.off {
		return nil, f, s.corrupt("frame of %d bytes, %d are left", size, s.seg.Info.StoredBytes-s.off)
	}
	s.maxBuf = max(s.maxBuf, size)
	if err := s.payload(size); err != nil {
		return nil, f, err
	}
	b := s.buf[:size]
	if err := s.chain.accept(&f, b, s.off); err != nil {
		return nil, f, err
	}
	s.off += int64(size)
	s.raw += int64(f.raw)
	s.recs += int64(f.records)
	return b, f, nil
}

// payload reads the rest of a frame of size bytes. Memory grows only as bytes arrive, whatever length a damaged
// header claims.
func (s *segmentStream) payload(size int) error {
	if s.room != nil && len(s.buf) < size {
		b := s.room.next(size)
		copy(b, s.buf[:frameHeader])
		s.buf = b
	}
	for at := frameHeader; at < size; {
		n := min(size, max(len(s.buf), at+maxBlock))
		if len(s.buf) < n {
			s.buf = append(s.buf[:at], make([]byte, n-at)...)
		}
		if err := s.read(s.buf[at:n]); err != nil {
			return err
		}
		at = n
	}
	return nil
}

// read fills b from the stream.
func (s *segmentStream) read(b []byte) error {
	_, err := io.ReadFull(s.in, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.corrupt("stream is cut, %d bytes were expected", s.seg.Info.StoredBytes)
	}
	if err != nil {
		return fmt.Errorf("fetch %s: partition %d after %d bytes: %w", s.seg.Name, s.seg.Partition, s.off, err)
	}
	return nil
}

// finish checks the totals, and that the stream ends with the partition.
func (s *segmentStream) finish() error {
	i := s.seg.Info
	if s.raw != i.RawBytes || s.recs != i.Records || i.Records > 0 && !s.chain.ended {
		return s.corrupt("%d records of %d bytes, want %d of %d", s.recs, s.raw, i.Records, i.RawBytes)
	}
	var one [1]byte
	if n, err := io.ReadFull(s.in, one[:]); n > 0 {
		return s.corrupt("stream goes on after its end")
	} else if !errors.Is(err, io.EOF) {
		return fmt.Errorf("fetch %s: end of partition %d: %w", s.seg.Name, s.seg.Partition, err)
	}
	return nil
}

func (s *segmentStream) corrupt(format string, args ...any) error {
	return corruptf(s.seg.Name, s.seg.Partition, s.off, format, args...)
}
