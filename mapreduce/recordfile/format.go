package recordfile

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/codec"
)

// ErrCorrupt marks every error that means the bytes are not those written. It is
// final: reading again will not help.
var ErrCorrupt = errors.New("corrupt record file")

// Codec says how the blocks of a file are compressed. The values are part of the
// format.
type Codec uint8

const (
	// None stores blocks as they are.
	None Codec = 0
	// S2 is fast: several hundred MB/s in, about 1 GB/s out.
	S2 Codec = 1
	// Zstd is smaller by a third and slower by a half or more.
	Zstd Codec = 2
)

var codecNames = [...]string{None: "none", S2: "s2", Zstd: "zstd"}

// String returns the name that ParseCodec accepts.
func (c Codec) String() string {
	if int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("codec %d", uint8(c))
}

// ParseCodec returns the codec with this name.
func ParseCodec(name string) (Codec, error) {
	for c, n := range codecNames {
		if n == name {
			return Codec(c), nil
		}
	}
	return 0, fmt.Errorf("unknown codec %q: want one of %q", name, codecNames)
}

// Magic begins every record file.
const Magic = "\x89mrrec\r\n"

const (
	version          = 1
	markerBytes      = 16
	fileHeaderBytes  = 32
	blockHeaderBytes = 48
)

// endOfFile takes the place of the codec in the header that ends a file.
const endOfFile = 0xff

func checksum(p []byte) uint32 { return codec.Sum(p) }

type marker [markerBytes]byte

// fileHeader is the first 32 bytes of a file.
type fileHeader struct {
	codec  Codec
	marker marker
}

func (h *fileHeader) encode() (p [fileHeaderBytes]byte) {
	copy(p[:], Magic)
	p[8], p[9] = version, byte(h.codec)
	copy(p[12:], h.marker[:])
	binary.LittleEndian.PutUint32(p[28:], checksum(p[:28]))
	return p
}

func (h *fileHeader) decode(p *[fileHeaderBytes]byte) error {
	switch {
	case string(p[:len(Magic)]) != Magic:
		return corrupt(0, "no magic number: not a record file")
	case binary.LittleEndian.Uint32(p[28:]) != checksum(p[:28]):
		return corrupt(0, "file header has a wrong checksum")
	case p[8] != version:
		return fmt.Errorf("record file of version %d, want %d: use a newer millrace", p[8], version)
	case int(p[9]) >= len(codecNames):
		return fmt.Errorf("record file with unknown codec %d: use a newer millrace", p[9])
	}
	h.codec = Codec(p[9])
	h.marker = marker(p[12:28])
	return nil
}

// blockHeader precedes the bytes of a block.
type blockHeader struct {
	marker  marker
	offset  int64  // of the header in the file, so that no copy elsewhere is mistaken for it
	stored  uint32 // bytes that follow the header
	raw     uint32 // bytes of the records they hold
	records uint32
	codec   Codec  // of this block: the file's, None, or endOfFile
	sum     uint32 // CRC32C of the stored bytes
}

func (h *blockHeader) encode(p *[blockHeaderBytes]byte) {
	copy(p[:], h.marker[:])
	binary.LittleEndian.PutUint64(p[16:], uint64(h.offset))
	binary.LittleEndian.PutUint32(p[24:], h.stored)
	binary.LittleEndian.PutUint32(p[28:], h.raw)
	binary.LittleEndian.PutUint32(p[32:], h.records)
	p[36], p[37], p[38], p[39] = byte(h.codec), 0, 0, 0
	binary.LittleEndian.PutUint32(p[40:], h.sum)
	binary.LittleEndian.PutUint32(p[44:], checksum(p[:44]))
}

// decode reads the header found at offset at in a file with marker m.
func (h *blockHeader) decode(p *[blockHeaderBytes]byte, m marker, at int64) error {
	*h = blockHeader{
		marker:  marker(p[:markerBytes]),
		offset:  int64(binary.LittleEndian.Uint64(p[16:])),
		stored:  binary.LittleEndian.Uint32(p[24:]),
		raw:     binary.LittleEndian.Uint32(p[28:]),
		records: binary.LittleEndian.Uint32(p[32:]),
		codec:   Codec(p[36]),
		sum:     binary.LittleEndian.Uint32(p[40:]),
	}
	switch {
	case h.marker != m:
		return corrupt(at, "no sync marker where a block should start")
	case binary.LittleEndian.Uint32(p[44:]) != checksum(p[:44]):
		return corrupt(at, "block header has a wrong checksum")
	case h.offset != at:
		return corrupt(at, fmt.Sprintf("block belongs at offset %d", h.offset))
	}
	return nil
}

// corrupt returns an error that names the offset and wraps ErrCorrupt.
func corrupt(at int64, reason string) error {
	return fmt.Errorf("record file at offset %d: %s: %w", at, reason, ErrCorrupt)
}
