package shuffle

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/codec"
)

// A segment is a chain of frames. Each frame holds whole records and can be verified on its own: its checksum covers
// header and payload, and its header says to which output, partition and place in the chain it belongs. See
// docs/formats/segment.md.
const (
	frameHeader = 32
	flagLast    = 1 << 0 // the partition ends with this frame
)

// frame is a decoded frame header.
type frame struct {
	tag       uint32 // checksum of the output's name
	partition uint32
	seq       uint32 // place in the partition's chain
	stored    uint32 // bytes of payload
	raw       uint32 // bytes of records
	records   uint32
	codec     Compression
	last      bool
}

// nameTag returns the tag of an output's name.
func nameTag(name string) uint32 { return codec.Sum([]byte(name)) }

// seal writes the header of a frame whose payload follows it in buf, and the checksum.
func (f *frame) seal(buf []byte) {
	f.putHeader(buf)
	binary.LittleEndian.PutUint32(buf, codec.Sum(buf[4:frameHeader+int(f.stored)]))
}

// putHeader writes all of the header but the checksum.
func (f *frame) putHeader(buf []byte) {
	le := binary.LittleEndian
	le.PutUint32(buf[4:], f.tag)
	le.PutUint32(buf[8:], f.partition)
	le.PutUint32(buf[12:], f.seq)
	le.PutUint32(buf[16:], f.stored)
	le.PutUint32(buf[20:], f.raw)
	le.PutUint32(buf[24:], f.records)
	flags := byte(0)
	if f.last {
		flags = flagLast
	}
	buf[28], buf[29], buf[30], buf[31] = byte(f.codec), flags, 0, 0
}

// parseFrame reads a header without checking it.
func parseFrame(b []byte) frame {
	le := binary.LittleEndian
	return frame{
		tag: le.Uint32(b[4:]), partition: le.Uint32(b[8:]), seq: le.Uint32(b[12:]),
		stored: le.Uint32(b[16:]), raw: le.Uint32(b[20:]), records: le.Uint32(b[24:]),
		codec: Compression(b[28]), last: b[29]&flagLast != 0,
	}
}

// verify checks the checksum of a whole frame and that its header makes sense.
func (f *frame) verify(b []byte) error {
	return f.verifySum(b, codec.Sum(b[4:frameHeader+int(f.stored)]))
}

// verifySum is verify for a frame whose checksum has been computed already; b begins with its header.
func (f *frame) verifySum(b []byte, got uint32) error {
	if want := binary.LittleEndian.Uint32(b); got != want {
		return fmt.Errorf("checksum %08x, want %08x", got, want)
	}
	if b[29]&^flagLast != 0 || b[30] != 0 || b[31] != 0 || int(f.codec) >= len(compressionNames) {
		return errors.New("unknown codec or flags")
	}
	if f.codec == None && f.raw != f.stored {
		return fmt.Errorf("plain frame of %d bytes says %d", f.stored, f.raw)
	}
	if f.codec != None && f.raw > maxPacked {
		return fmt.Errorf("compressed frame of %d raw bytes, limit %d", f.raw, maxPacked)
	}
	if f.last && f.records == 0 && f.raw == 0 {
		return nil // ends a partition whose last record was oversized
	}
	if f.records == 0 || uint64(f.records)*2 > uint64(f.raw) {
		return fmt.Errorf("%d records in %d bytes", f.records, f.raw)
	}
	return nil
}

// chain checks that frames follow each other as written, from the first to the last of one partition of one output.
type chain struct {
	file      string // for messages
	tag       uint32
	partition uint32
	seq       uint32
	ended     bool
}

// accept checks one whole frame found at offset.
func (c *chain) accept(f *frame, b []byte, offset int64) error {
	return c.acceptSum(f, b, codec.Sum(b[4:frameHeader+int(f.stored)]), offset)
}

// acceptSum is accept for a frame whose checksum has been computed already; b begins with its header.
func (c *chain) acceptSum(f *frame, b []byte, sum uint32, offset int64) error {
	if err := f.verifySum(b, sum); err != nil {
		return corruptf(c.file, int(c.partition), offset, "%w", err)
	}
	if f.tag != c.tag || f.partition != c.partition || f.seq != c.seq || c.ended {
		return corruptf(c.file, int(c.partition), offset, "frame %d of partition %d of output %08x, want frame %d of partition %d of output %08x",
			f.seq, f.partition, f.tag, c.seq, c.partition, c.tag)
	}
	c.seq++
	c.ended = f.last
	return nil
}
