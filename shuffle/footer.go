package shuffle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/millrace/millrace/internal/codec"
)

const (
	segmentMagic   = "MILLSEG1"
	segmentHeader  = 16
	segmentTrailer = 40
	indexEntry     = 32
)

// PartitionInfo describes one partition of an output.
type PartitionInfo struct {
	Records     int64
	RawBytes    int64 // of records, before compression
	StoredBytes int64 // in the file; in memory, the bytes of the records
	Offset      int64 // in the file
}

// footer describes a segment file.
type footer struct {
	tag        uint32
	frame      uint32 // largest frame, except those of oversized records, in bytes with its header
	codec      Compression
	partitions []PartitionInfo
	sum        uint64 // of the content, while it is being written; not in the file
}

// appendHeader appends the header of a segment file.
func appendHeader(b []byte, tag uint32) []byte {
	b = append(b, segmentMagic...)
	b = binary.LittleEndian.AppendUint32(b, tag)
	return binary.LittleEndian.AppendUint32(b, 0)
}

// appendTo appends index and trailer.
func (f *footer) appendTo(b []byte, indexOffset int64) []byte {
	le := binary.LittleEndian
	from := len(b)
	for _, p := range f.partitions {
		b = le.AppendUint64(b, uint64(p.Offset))
		b = le.AppendUint64(b, uint64(p.StoredBytes))
		b = le.AppendUint64(b, uint64(p.RawBytes))
		b = le.AppendUint64(b, uint64(p.Records))
	}
	b = le.AppendUint64(b, uint64(indexOffset))
	b = le.AppendUint32(b, uint32(len(f.partitions)))
	b = le.AppendUint32(b, f.frame)
	b = le.AppendUint32(b, f.tag)
	b = le.AppendUint32(b, uint32(f.codec))
	b = le.AppendUint32(b, 0)
	sum := codec.AddSum(codec.Sum(appendHeader(nil, f.tag)), b[from:])
	b = le.AppendUint32(b, sum)
	return append(b, segmentMagic...)
}

// readFooter reads and checks the description of a segment file of a given size.
func readFooter(r io.ReaderAt, size int64) (*footer, error) {
	if size < segmentHeader+segmentTrailer {
		return nil, fmt.Errorf("%d bytes are too few", size)
	}
	var head [segmentHeader]byte
	var tail [segmentTrailer]byte
	if err := readFull(r, head[:], 0); err != nil {
		return nil, err
	}
	if err := readFull(r, tail[:], size-segmentTrailer); err != nil {
		return nil, err
	}
	if string(head[:8]) != segmentMagic || string(tail[32:]) != segmentMagic {
		return nil, errors.New("not a segment file, or cut short")
	}
	le := binary.LittleEndian
	at, n := le.Uint64(tail[0:]), int64(le.Uint32(tail[8:]))
	if n < 1 || n > maxPartitions || at != uint64(size-segmentTrailer-n*indexEntry) {
		return nil, fmt.Errorf("index of %d partitions at %d does not fit %d bytes", n, at, size)
	}
	index := make([]byte, n*indexEntry)
	if err := readFull(r, index, int64(at)); err != nil {
		return nil, err
	}
	sum := codec.Sum(head[:])
	sum = codec.AddSum(sum, index)
	sum = codec.AddSum(sum, tail[:28])
	if want := le.Uint32(tail[28:]); sum != want {
		return nil, fmt.Errorf("index checksum %08x, want %08x", sum, want)
	}
	f := &footer{tag: le.Uint32(tail[16:]), frame: le.Uint32(tail[12:]), codec: Compression(tail[20])}
	return f, f.parseIndex(index, int64(at))
}

// parseIndex reads the index and checks that partitions follow each other without a gap.
func (f *footer) parseIndex(b []byte, indexOffset int64) error {
	le := binary.LittleEndian
	f.partitions = make([]PartitionInfo, len(b)/indexEntry)
	next := int64(segmentHeader)
	for i := range f.partitions {
		e := b[i*indexEntry:]
		p := PartitionInfo{
			Offset: int64(le.Uint64(e)), StoredBytes: int64(le.Uint64(e[8:])),
			RawBytes: int64(le.Uint64(e[16:])), Records: int64(le.Uint64(e[24:])),
		}
		if p.Offset != next || p.StoredBytes < 0 || p.StoredBytes > indexOffset-next || p.RawBytes < 0 || p.Records < 0 {
			return fmt.Errorf("index entry of partition %d does not follow", i)
		}
		next += p.StoredBytes
		f.partitions[i] = p
	}
	if next != indexOffset {
		return fmt.Errorf("partitions end at %d, index begins at %d", next, indexOffset)
	}
	if f.frame < frameHeader || f.frame > maxBlock {
		return fmt.Errorf("frames of %d bytes", f.frame)
	}
	return nil
}

// readFull reads exactly len(b) bytes at an offset. A failure of the disk is ErrScratch.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrScratch, err)
}
