package shuffle

import (
	"errors"
	"fmt"
	"io"
)

// feeder gives a stream its records, a batch at a time.
type feeder interface {
	// more returns the next whole stored records, valid until the next call, or
	// nil at the end.
	more() ([]byte, error)
	// close releases what the feeder holds. It may be called twice.
	close() error
}

// frameReader feeds the frames of one partition from any io.ReaderAt. Every frame is verified before a byte of it is
// used.
type frameReader struct {
	src    io.ReaderAt
	chain  chain
	off    int64 // file offset of buf[r]
	end    int64 // of the partition
	left   int64 // records not yet delivered
	buf    []byte
	r, w   int    // unread part of buf
	raw    []byte // decompressed records, nil until needed
	mem    *carver
	jumbo  []byte // oversized frame
	late   *late  // the frame that more has just returned, if the rest of it is still to be read
	onDone func() error
}

var _ feeder = (*frameReader)(nil)

func (r *frameReader) more() ([]byte, error) {
	r.dropJumbo()
	r.late = nil
	for r.off < r.end {
		b, f, err := r.frame()
		if err != nil {
			return nil, err
		}
		at := r.off
		r.off += frameHeader + int64(f.stored)
		if r.late == nil {
			if err := r.chain.accept(&f, b, at); err != nil {
				return nil, err
			}
		}
		r.left -= int64(f.records)
		if f.raw > 0 {
			return r.records(&f, b[frameHeader:], at)
		}
	}
	return nil, r.checkEnd()
}

// records returns the records of a verified frame.
func (r *frameReader) records(f *frame, stored []byte, at int64) ([]byte, error) {
	if f.codec == None {
		return stored, nil
	}
	if cap(r.raw) < int(f.raw) {
		r.raw = r.mem.get(max(int(f.raw), len(r.buf)))
	}
	raw, err := unpack(r.raw, stored, f.codec, int(f.raw))
	if err != nil {
		return nil, corruptf(r.chain.file, int(r.chain.partition), at, "%w", err)
	}
	return raw, nil
}

// checkEnd checks that the partition ended where it should.
func (r *frameReader) checkEnd() error {
	if r.left == 0 && (r.chain.ended || r.chain.seq == 0) {
		return nil
	}
	return corruptf(r.chain.file, int(r.chain.partition), r.off, "ends early, %d records are missing", r.left)
}

// frame returns the next whole frame, not verified yet.
func (r *frameReader) frame() ([]byte, frame, error) {
	if r.w-r.r < frameHeader {
		if err := r.fill(frameHeader); err != nil {
			return nil, frame{}, err
		}
	}
	f := parseFrame(r.buf[r.r:])
	size := int64(frameHeader) + int64(f.stored)
	if size > r.end-r.off {
		return nil, f, corruptf(r.chain.file, int(r.chain.partition), r.off, "frame of %d bytes, %d are left", size, r.end-r.off)
	}
	if size > int64(len(r.buf)) {
		if r.mem.defers(&f, size) {
			b, err := r.openLate(f, size)
			return b, f, err
		}
		b, err := r.oversized(int(size))
		return b, f, err
	}
	if r.w-r.r < int(size) {
		if err := r.fill(int(size)); err != nil {
			return nil, f, err
		}
	}
	b := r.buf[r.r : r.r+int(size)]
	r.r += int(size)
	return b, f, nil
}

// fill reads until at least n bytes in buf are unread.
func (r *frameReader) fill(n int) error {
	r.w = copy(r.buf, r.buf[r.r:r.w])
	r.r = 0
	want := min(int64(len(r.buf)), r.end-r.off)
	if want < int64(n) {
		return corruptf(r.chain.file, int(r.chain.partition), r.off, "%d bytes are left, want %d", want, n)
	}
	if err := r.read(r.buf[r.w:want], r.off+int64(r.w)); err != nil {
		return err
	}
	r.w = int(want)
	return nil
}

// oversized reads a frame larger than the buffer into memory of its own.
func (r *frameReader) oversized(size int) ([]byte, error) {
	r.jumbo = r.mem.oversized(size)
	n := copy(r.jumbo, r.buf[r.r:r.w])
	r.r, r.w = 0, 0
	return r.jumbo, r.read(r.jumbo[n:], r.off+int64(n))
}

func (r *frameReader) dropJumbo() {
	if r.jumbo != nil {
		r.mem.dropOversized(r.jumbo)
		r.jumbo = nil
	}
}

func (r *frameReader) read(b []byte, off int64) error {
	err := readFull(r.src, b, off)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return corruptf(r.chain.file, int(r.chain.partition), off, "file ends early")
	}
	if err != nil {
		return fmt.Errorf("read %s at %d: %w", r.chain.file, off, err)
	}
	return nil
}

func (r *frameReader) close() error {
	r.dropJumbo()
	if r.onDone == nil {
		return nil
	}
	done := r.onDone
	r.onDone = nil
	return done()
}
