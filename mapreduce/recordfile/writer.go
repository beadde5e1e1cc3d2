package recordfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/zeebo/xxh3"

	"github.com/millrace/millrace/internal/codec"
)

var errClosed = errors.New("record file: append after close")

// Writer writes a record file from its beginning to its end.
type Writer struct {
	w       io.Writer
	options Options
	marker  marker
	offset  int64  // bytes written so far
	raw     []byte // records of the block being filled
	records uint32 // how many of them
	packed  []byte // memory for the block as stored
	head    [blockHeaderBytes]byte
	closed  bool
	err     error // the first failure; nothing is written after it
}

// NewWriter returns a Writer to w, which must be empty: blocks know their offset.
func NewWriter(w io.Writer, o Options) (*Writer, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Writer{w: w, options: o}, nil
}

// Append adds a record. It keeps neither slice. After an error every further call returns that error. A record that
// is refused for its size is only left out.
func (w *Writer) Append(key, value []byte) error {
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return errClosed
	}
	// Each length is compared by itself first: their sum could overflow.
	if limit := w.options.MaxRecordBytes; len(key) > limit || len(value) > limit-len(key) {
		return fmt.Errorf("record file: record of %d + %d bytes is over the limit of %d", len(key), len(value), limit)
	}
	if len(w.raw) > 0 && len(w.raw)+recordBytes(key, value) > w.options.BlockBytes {
		if w.flush(); w.err != nil {
			return w.err
		}
	}
	w.raw = binary.AppendUvarint(w.raw, uint64(len(key)))
	w.raw = binary.AppendUvarint(w.raw, uint64(len(value)))
	if w.records++; recordBytes(key, value) >= hugeRecord {
		w.storeHuge(key, value)
		return w.err
	}
	w.raw = append(append(w.raw, key...), value...)
	return nil
}

// hugeRecord is the size from which a record is written from the caller's memory, as an uncompressed block of its
// own: copies would take most of a small budget.
const hugeRecord = 1 << 20

// recordBytes returns the most that a record takes in a block.
func recordBytes(key, value []byte) int { return recordOverhead + len(key) + len(value) }

// Offset returns how many bytes have been handed to the underlying writer.
func (w *Writer) Offset() int64 { return w.offset }

// Close writes what is left and the end of the file. It may be called again and
// then returns the same result.
func (w *Writer) Close() error {
	if w.closed || w.err != nil {
		w.closed = true
		return w.err
	}
	w.closed = true
	w.flush()
	w.begin()
	w.writeBlock(blockHeader{codec: endOfFile})
	w.raw, w.packed = nil, nil
	return w.err
}

// storeHuge writes a record as a block of its own. The block being filled has its lengths already.
func (w *Writer) storeHuge(key, value []byte) {
	w.begin(w.raw, key, value)
	w.writeBlock(blockHeader{raw: uint32(len(w.raw) + len(key) + len(value)), records: w.records, codec: None}, w.raw, key, value)
	w.raw, w.records = w.raw[:0], 0
}

// flush writes the block being filled, if it holds any record.
func (w *Writer) flush() {
	if w.records == 0 {
		return
	}
	w.begin(w.raw)
	if w.options.Codec != None {
		w.packed = grow(w.packed, s2.MaxEncodedLen(len(w.raw))) // enough for zstd too
	}
	stored, form := compress(w.options.Codec, w.packed, w.raw)
	w.writeBlock(blockHeader{raw: uint32(len(w.raw)), records: w.records, codec: form}, stored)
	w.raw, w.records = w.raw[:0], 0
}

// begin writes the file header before the first block, whose parts are in block.
func (w *Writer) begin(block ...[]byte) {
	if w.offset != 0 || w.err != nil {
		return
	}
	if w.options.Marker == nil {
		h := xxh3.New()
		for _, p := range block {
			_, _ = h.Write(p) // it never fails
		}
		w.marker = h.Sum128().Bytes()
	} else if _, err := io.ReadFull(w.options.Marker, w.marker[:]); err != nil {
		w.err = fmt.Errorf("record file: read sync marker: %w", err)
		return
	}
	w.write((&fileHeader{codec: w.options.Codec, marker: w.marker, types: w.options.Types}).encode())
}

// writeBlock completes the header and writes it and the stored bytes, which are given in parts.
func (w *Writer) writeBlock(h blockHeader, stored ...[]byte) {
	h.marker = w.marker
	h.offset = w.offset
	for _, p := range stored {
		h.stored += uint32(len(p))
		h.sum = codec.AddSum(h.sum, p)
	}
	h.encode(&w.head)
	w.write(w.head[:])
	for _, p := range stored {
		w.write(p)
	}
}

func (w *Writer) write(p []byte) {
	if w.err != nil {
		return
	}
	n, err := w.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("record file: write at offset %d: %w", w.offset, err)
	}
	w.offset += int64(n)
}
