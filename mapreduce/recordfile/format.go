package recordfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

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
	version          = 1    // of files that do not say the types of their pairs
	typedVersion     = 2    // of files that do
	maxTypes         = 4096 // bytes of both types and what is between them
	markerBytes      = 16
	fileHeaderBytes  = 32
	blockHeaderBytes = 48
)

// endOfFile takes the place of the codec in the header that ends a file.
const endOfFile = 0xff

func checksum(p []byte) uint32 { return codec.Sum(p) }

type marker [markerBytes]byte

// fileHeader is the first 32 bytes of a file and, behind them, the types of its pairs.
type fileHeader struct {
	codec  Codec
	marker marker
	types  Types
	length int // of the text of the types
}

// Types names the types of the keys and values of a file. Both are empty if the file does not say them.
type Types struct{ Key, Value string }

func (t Types) validate() error {
	switch {
	case len(t.Key)+len(t.Value)+1 > maxTypes:
		return fmt.Errorf("record file: types of %d bytes, want at most %d", len(t.Key)+len(t.Value)+1, maxTypes)
	case strings.Contains(t.Key, "\n"):
		return fmt.Errorf("record file: type %q has a newline", t.Key)
	}
	return nil
}

func (h *fileHeader) encode() []byte {
	p := make([]byte, fileHeaderBytes)
	copy(p, Magic)
	p[8], p[9] = version, byte(h.codec)
	var types []byte
	if h.types != (Types{}) {
		types = []byte(h.types.Key + "\n" + h.types.Value)
		p[8] = typedVersion
		binary.LittleEndian.PutUint16(p[10:], uint16(len(types)))
	}
	copy(p[12:], h.marker[:])
	binary.LittleEndian.PutUint32(p[28:], checksum(p[:28]))
	if types == nil {
		return p
	}
	return binary.LittleEndian.AppendUint32(append(p, types...), checksum(types))
}

// size returns where the first block is.
func (h *fileHeader) size() int64 {
	if h.length == 0 {
		return fileHeaderBytes
	}
	return int64(fileHeaderBytes + h.length + 4)
}

func (h *fileHeader) decode(p *[fileHeaderBytes]byte) error {
	switch {
	case string(p[:len(Magic)]) != Magic:
		return corrupt(0, "no magic number: not a record file")
	case binary.LittleEndian.Uint32(p[28:]) != checksum(p[:28]):
		return corrupt(0, "file header has a wrong checksum")
	case p[8] != version && p[8] != typedVersion:
		return fmt.Errorf("record file of version %d, want %d or %d: use a newer millrace", p[8], version, typedVersion)
	case int(p[9]) >= len(codecNames):
		return fmt.Errorf("record file with unknown codec %d: use a newer millrace", p[9])
	}
	h.codec = Codec(p[9])
	h.marker = marker(p[12:28])
	if p[8] == typedVersion {
		h.length = int(binary.LittleEndian.Uint16(p[10:]))
		if h.length < 1 || h.length > maxTypes {
			return corrupt(0, fmt.Sprintf("types of %d bytes, want 1 to %d", h.length, maxTypes))
		}
	}
	return nil
}

// decodeTypes reads what is between the header and the first block.
func (h *fileHeader) decodeTypes(p []byte) (err error) {
	text, sum := p[:h.length], p[h.length:]
	if binary.LittleEndian.Uint32(sum) != checksum(text) {
		return corrupt(fileHeaderBytes, "types have a wrong checksum")
	}
	var ok bool
	if h.types.Key, h.types.Value, ok = strings.Cut(string(text), "\n"); !ok {
		return corrupt(fileHeaderBytes, "no two types")
	}
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
