package shuffle

import (
	"context"
	"fmt"
	"io"
)

// cancelReader stops reading when its context ends.
type cancelReader struct {
	ctx context.Context
	in  io.Reader
}

func (r *cancelReader) Read(b []byte) (int, error) {
	if err := canceled(r.ctx); err != nil {
		return 0, err
	}
	return r.in.Read(b)
}

// toMemory reads a segment into memory that is already reserved.
func (in *Intake) toMemory(s *segmentStream, r *room) error {
	m, err := s.readAll(r)
	if err != nil {
		in.unreserve(s.seg.Info.RawBytes, r)
		return err
	}
	m.from = uint32(s.seg.Map)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.memory = append(in.memory, m)
	in.mergeIfFull()
	return nil
}

// plain reports whether a partition seems uncompressed, judging by its length.
func (i *PartitionInfo) plain() bool {
	return i.StoredBytes >= i.RawBytes && i.StoredBytes <= i.RawBytes+i.RawBytes/8+minBudget
}

// readAll reads all frames and keeps their records.
func (s *segmentStream) readAll(r *room) (*memSegment, error) {
	if s.seg.Info.plain() {
		return s.readPlain(r)
	}
	m := &memSegment{room: r}
	room := make([]byte, s.seg.Info.RawBytes)
	for {
		b, f, err := s.nextKept()
		if b == nil || err != nil {
			return m, err
		}
		n := int(f.raw)
		if err := s.unpackTo(room[:n:n], b, &f); err != nil {
			return nil, err
		}
		m.keep(room[:n:n])
		room = room[n:]
	}
}

// readPlain is readAll for a segment that seems uncompressed. It reads frames straight to where they stay.
func (s *segmentStream) readPlain(r *room) (*memSegment, error) {
	m := &memSegment{room: r}
	if r.inBlocks {
		s.room = r
	} else {
		s.buf = make([]byte, max(s.seg.Info.StoredBytes, frameHeader))
	}
	for {
		b, f, err := s.nextKept()
		if b == nil || err != nil {
			return m, err
		}
		if f.codec != None { // an exception
			own := make([]byte, f.raw)
			if err := s.unpackTo(own, b, &f); err != nil {
				return nil, err
			}
			m.keep(own)
			continue
		}
		m.keep(b[frameHeader:len(b):len(b)])
		if s.buf = s.buf[len(b):]; len(s.buf) < frameHeader {
			s.buf = make([]byte, frameHeader)
		}
	}
}

// nextKept is next for frames that stay in memory. It fails if they exceed the reserved memory.
func (s *segmentStream) nextKept() ([]byte, frame, error) {
	b, f, err := s.next()
	if err == nil && b != nil && s.raw > s.seg.Info.RawBytes {
		err = s.corrupt("more than %d bytes of records", s.seg.Info.RawBytes)
	}
	return b, f, err
}

// unpackTo decompresses the records of a frame to where they stay.
func (s *segmentStream) unpackTo(dst, b []byte, f *frame) error {
	if f.codec == None {
		copy(dst, b[frameHeader:])
		return nil
	}
	if _, err := unpack(dst, b[frameHeader:], f.codec, len(dst)); err != nil {
		return s.corrupt("%w", err)
	}
	return nil
}

// keep adds the records of a frame.
func (m *memSegment) keep(records []byte) {
	if len(records) > 0 {
		m.frames = append(m.frames, records)
	}
	m.bytes += int64(len(records))
}

// toDisk copies a segment to a file, verifying each frame.
func (in *Intake) toDisk(s *segmentStream) error {
	path := in.newFile("fetch")
	file, err := in.cfg.Merge.FS.Create(path)
	if err != nil {
		return scratchErr("create", path, err)
	}
	err = s.copyTo(file, path)
	if cerr := file.Close(); err == nil && cerr != nil {
		err = scratchErr("close", path, cerr)
	}
	if err != nil {
		_ = in.cfg.Merge.FS.Remove(path) // report the first error
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.owned = append(in.owned, path)
	fetched := &fetchedFile{fs: in.cfg.Merge.FS, path: path, seg: s.seg, frame: min(s.maxBuf, maxBlock), packed: s.packed}
	in.files = append(in.files, placed{fetched, origin{lo: uint32(s.seg.Map), hi: uint32(s.seg.Map)}})
	return nil
}

// copyTo writes the frames of a stream to a file.
func (s *segmentStream) copyTo(file File, path string) error {
	for {
		b, f, err := s.next()
		if err != nil || b == nil {
			return err
		}
		if f.codec != None {
			s.packed = max(s.packed, int(f.raw))
		}
		n, err := file.Write(b)
		if err == nil && n < len(b) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return scratchErr("write", path, err)
		}
	}
}

// fetchedFile is a segment on disk: its frames and nothing else.
type fetchedFile struct {
	fs     FS
	path   string
	seg    *Segment
	frame  int // buffer size for its frames
	packed int // buffer size for their records, if any is compressed
}

var _ streamSource = (*fetchedFile)(nil)

func (f *fetchedFile) Open() (Run, error) { return f.open(&carver{}) }

func (f *fetchedFile) open(mem *carver) (*stream, error) {
	file, err := f.fs.Open(f.path)
	if err != nil {
		return nil, scratchErr("open", f.path, err)
	}
	r := &frameReader{
		src: file, end: f.seg.Info.StoredBytes, left: f.seg.Info.Records, buf: mem.get(f.frame), mem: mem, onDone: file.Close,
		chain: chain{file: fmt.Sprintf("%s (from %s)", f.path, f.seg.Name), tag: nameTag(f.seg.Name), partition: uint32(f.seg.Partition)},
	}
	if f.packed > 0 {
		r.raw = mem.get(f.packed)
	}
	return &stream{feed: r, plain: true}, nil
}

func (f *fetchedFile) need() int64 { return int64(f.frame + f.packed) }
func (f *fetchedFile) size() int64 { return f.seg.Info.StoredBytes }
