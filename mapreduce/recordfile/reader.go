package recordfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/millrace/millrace/internal/pages"
)

// Reader reads the records of the blocks that start in a byte range of a file.
type Reader struct {
	r      io.ReaderAt
	size   int64
	end    int64 // blocks that start here or later belong to other ranges
	limits Limits
	file   fileHeader

	next   int64 // where the next block starts; -1 if the range holds none
	block  int64 // where the current block starts
	left   uint32
	rest   []byte // the unread records of the block
	stored []byte // memory
	raw    []byte // memory
	leave  func() // releases the room of the block, if it has any
	head   [blockHeaderBytes]byte

	pair []byte // key and value of the record
	keys int    // bytes of it that are the key
	err  error
}

// NewReader returns a Reader of the blocks that start in [off, off+length) of
// the size bytes of r. The range may reach past the file's end.
func NewReader(r io.ReaderAt, size, off, length int64, limits Limits) (*Reader, error) {
	limits.setDefaults()
	if err := limits.validate(); err != nil {
		return nil, err
	}
	if off < 0 || length < 0 {
		return nil, fmt.Errorf("record file: range of %d bytes at offset %d", length, off)
	}
	rd := &Reader{r: r, size: size, end: size, limits: limits}
	if length < size-off {
		rd.end = off + length
	}
	if err := rd.readFileHeader(); err != nil {
		return nil, err
	}
	if err := rd.seek(off); err != nil {
		return nil, err
	}
	return rd, nil
}

func (r *Reader) readFileHeader() error {
	var p [fileHeaderBytes]byte
	if r.size < fileHeaderBytes {
		return corrupt(0, fmt.Sprintf("%d bytes are too short for a record file", r.size))
	}
	if err := r.readAt(p[:], 0); err != nil {
		return err
	}
	if err := r.file.decode(&p); err != nil || r.file.length == 0 {
		return err
	}
	if r.size < r.file.size() {
		return corrupt(fileHeaderBytes, fmt.Sprintf("file is truncated: types of %d bytes, %d left", r.file.length, r.size-fileHeaderBytes))
	}
	types := make([]byte, r.file.length+4)
	if err := r.readAt(types, fileHeaderBytes); err != nil {
		return err
	}
	return r.file.decodeTypes(types)
}

// Types returns the types of the file's pairs, if it says them.
func (r *Reader) Types() Types { return r.file.types }

// Next moves to the next record. It returns false at the end of the range and
// after an error.
func (r *Reader) Next() bool {
	for r.left == 0 {
		if !r.nextBlock() {
			r.pair, r.keys = nil, 0
			return false
		}
	}
	k, n := binary.Uvarint(r.rest)
	v, m := binary.Uvarint(r.rest[max(n, 0):])
	body := r.rest[max(n, 0)+max(m, 0):]
	if n <= 0 || m <= 0 || k > uint64(len(body)) || v > uint64(len(body))-k {
		return r.fail(corrupt(r.block, "record reaches past its block"))
	}
	r.pair, r.keys = body[:k+v:k+v], int(k)
	r.rest = body[k+v:]
	r.left--
	return true
}

// Key returns the key of the current record, valid until the next call of Next.
func (r *Reader) Key() []byte { return r.pair[:r.keys:r.keys] }

// Value returns the value of the current record, valid until the next call of Next.
func (r *Reader) Value() []byte { return r.pair[r.keys:] }

// Pair returns the key and the value of the current record in one slice, valid until the next call of Next.
func (r *Reader) Pair() []byte { return r.pair }

// Offset returns where the block of the current record starts in the file.
func (r *Reader) Offset() int64 { return r.block }

// Err returns what ended the reading, or nil if it was the end of the range.
func (r *Reader) Err() error { return r.err }

// fail ends the reading.
func (r *Reader) fail(err error) bool {
	r.err, r.next, r.left = err, -1, 0
	r.pair, r.keys, r.rest = nil, 0, nil
	return false
}

// nextBlock loads the next block of the range. It also reads the header behind the last block, though that may
// belong to the next range: if it is damaged, that range's reader cannot know that a block was there.
func (r *Reader) nextBlock() bool {
	if r.next < 0 {
		r.Close()
		return false
	}
	if len(r.rest) > 0 {
		return r.fail(corrupt(r.block, fmt.Sprintf("block has %d bytes after its last record", len(r.rest))))
	}
	h, err := r.readBlockHeader(r.next)
	if err != nil {
		return r.fail(err)
	}
	if h.codec == endOfFile || r.next >= r.end {
		r.next = -1
		return false
	}
	if err := r.load(&h); err != nil {
		return r.fail(err)
	}
	return true
}

func (r *Reader) readBlockHeader(at int64) (h blockHeader, err error) {
	if at > r.size-blockHeaderBytes {
		return h, corrupt(at, "file is truncated: no block and no end mark")
	}
	if err := r.readAt(r.head[:], at); err != nil {
		return h, err
	}
	if err := h.decode(&r.head, r.file.marker, at); err != nil {
		return h, err
	}
	return h, r.judge(&h, at)
}

// judge refuses a header that is intact but makes no sense, or asks for too much.
func (r *Reader) judge(h *blockHeader, at int64) error {
	after := r.size - at - blockHeaderBytes
	switch {
	case h.codec == endOfFile && h.stored|h.raw|h.records != 0:
		return corrupt(at, "end mark is not empty")
	case h.codec == endOfFile && after != 0:
		return corrupt(at, fmt.Sprintf("%d bytes follow the end mark", after))
	case h.codec == endOfFile:
		return nil
	case h.codec != None && h.codec != r.file.codec:
		return corrupt(at, fmt.Sprintf("block is %v in a file that is %v", h.codec, r.file.codec))
	case int64(h.stored) > after:
		return corrupt(at, fmt.Sprintf("file is truncated: block of %d bytes, %d left", h.stored, after))
	case h.records == 0, h.stored > h.raw, h.codec == None && h.stored < h.raw:
		return corrupt(at, "block lengths contradict each other")
	case int64(h.raw) > int64(r.limits.MaxBlockBytes):
		return fmt.Errorf("record file at offset %d: block of %d bytes is over the limit of %d", at, h.raw, r.limits.MaxBlockBytes)
	}
	return nil
}

// load makes the block at r.next the current block.
func (r *Reader) load(h *blockHeader) error {
	at := r.next
	if err := r.enter(h); err != nil {
		return err
	}
	r.stored = grow(r.stored, int(h.stored))
	if err := r.readAt(r.stored, at+blockHeaderBytes); err != nil {
		return err
	}
	if checksum(r.stored) != h.sum {
		return corrupt(at, "block has a wrong checksum")
	}
	r.rest = r.stored
	if h.codec != None {
		raw, err := decompress(h.codec, r.raw, r.stored, int(h.raw))
		if err != nil {
			return corrupt(at, fmt.Sprintf("block does not decompress: %v", err))
		}
		r.raw, r.rest = raw, raw
	}
	r.block, r.left = at, h.records
	r.next = at + blockHeaderBytes + int64(h.stored)
	return nil
}

// enter waits for the room of a large block, after it has released that of the last.
func (r *Reader) enter(h *blockHeader) (err error) {
	r.Close()
	bytes := int64(h.stored)
	if h.codec != None {
		bytes += int64(h.raw)
	}
	if bytes >= pages.Large && r.limits.Room != nil {
		r.leave, err = r.limits.Room(bytes)
	}
	return err
}

// Close releases the room and memory of the current block, and so the current record. Without Limits.Room it is not
// needed.
func (r *Reader) Close() {
	if r.leave == nil {
		return
	}
	pages.Drop(r.stored)
	pages.Drop(r.raw)
	r.stored, r.raw, r.rest, r.pair, r.keys = nil, nil, nil, nil, 0
	r.leave()
	r.leave = nil
}

// readAt fills p from offset at, which must lie inside the file.
func (r *Reader) readAt(p []byte, at int64) error {
	n, err := r.r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return corrupt(at+int64(n), fmt.Sprintf("file ends here, %d bytes were expected", r.size))
	}
	return fmt.Errorf("record file: read at offset %d: %w", at, err)
}
