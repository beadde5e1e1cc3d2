package mapreduce

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/millrace/millrace/mapreduce/recordfile"
)

type compression uint8

const (
	plain compression = iota
	gzipped
	zstded
	bzipped
	lz4ed
	zlibbed
	snapped   // the framed form of snappy and s2
	skippable // a frame of zstd or lz4 without data; what follows decides
	refused   // a known compression that is not supported
	records   // not compressed: our own record file
)

// magics are the first bytes of compressed files.
var magics = []struct {
	begin []byte
	kind  compression
	name  string
}{
	{[]byte{0x1f, 0x8b, 8}, gzipped, "gzip"},
	{[]byte{0x28, 0xb5, 0x2f, 0xfd}, zstded, "zstd"},
	{[]byte{0x04, 0x22, 0x4d, 0x18}, lz4ed, "lz4"},
	{[]byte{0x02, 0x21, 0x4c, 0x18}, lz4ed, "lz4"}, // the legacy form
	{[]byte("\xff\x06\x00\x00sNaPpY"), snapped, "snappy"},
	{[]byte("\xff\x06\x00\x00S2sTwO"), snapped, "s2"},
	{[]byte{0xfd, '7', 'z', 'X', 'Z', 0}, refused, "xz"},
	{[]byte("PK\x03\x04"), refused, "zip"},
	{[]byte("PK\x05\x06"), refused, "zip"},
	{[]byte("PK\x07\x08"), refused, "zip"}, // the first part of several
	{[]byte{0x5d, 0, 0}, refused, "lzma"},  // the form before xz
	{[]byte{'7', 'z', 0xbc, 0xaf, 0x27, 0x1c}, refused, "7z"},
	{[]byte("Rar!\x1a\x07"), refused, "rar"},
	{[]byte{0x1f, 0x9d}, refused, "compress"},
	{[]byte{0x1f, 0xa0}, refused, "compress"},
	{[]byte{0x89, 'L', 'Z', 'O', 0}, refused, "lzop"},
	{[]byte("LZIP\x01"), refused, "lzip"},
	{[]byte(recordfile.Magic), records, "record file"},
}

// sniff returns the compression of a file, judging by its first bytes, and its name.
func sniff(head []byte) (compression, string) {
	for _, m := range magics {
		if bytes.HasPrefix(head, m.begin) {
			return m.kind, m.name
		}
	}
	switch {
	case len(head) >= 10 && bytes.HasPrefix(head, []byte("BZh")) && head[3] >= '1' && head[3] <= '9' &&
		(bytes.Equal(head[4:10], []byte{0x31, 0x41, 0x59, 0x26, 0x53, 0x59}) || bytes.Equal(head[4:10], []byte{0x17, 0x72, 0x45, 0x38, 0x50, 0x90})):
		return bzipped, "bzip2"
	case len(head) >= 8 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18}):
		return skippable, "zstd or lz4"
	case isZlib(head):
		return zlibbed, "zlib"
	}
	return plain, ""
}

// isZlib recognizes the headers that zlib writes. One of the usual window is "x^", with which a text may begin: then
// bytes that no text has must follow. One of a smaller window counts if its second byte begins no character in any
// common encoding, or if such bytes follow.
func isZlib(head []byte) bool {
	if len(head) < 8 || head[0]&0x0f != 8 || head[0] < 0x18 || head[0] > 0x78 || binary.BigEndian.Uint16(head)%31 != 0 || head[1]&0x20 != 0 {
		return false
	}
	control := func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }
	switch second := head[1]; {
	case head[0] != 0x78:
		return second >= 0x80 && second < 0xa0 || second >= 0xc0 && bytes.ContainsFunc(head[2:], control)
	case second != '^':
		return true
	}
	return bytes.ContainsFunc(head[2:], func(r rune) bool { return control(r) || r == '\uFFFD' })
}

// compression returns the compression and the first frame with data. It looks at the first bytes, and behind frames
// without data, unless the file is known to be plain.
func (s Source) compression() (kind compression, at int64, err error) {
	if s.Plain {
		return plain, 0, nil
	}
	for range maxSkippable {
		head := make([]byte, max(0, min(HeadBytes, s.Size-at)))
		if err := readFullAt(s.R, head, at); err != nil {
			return plain, at, wrapRead(s.Name, at, err)
		}
		switch kind, name := sniff(head); kind {
		case skippable:
			at += 8 + int64(binary.LittleEndian.Uint32(head[4:]))
		case refused:
			return plain, at, fmt.Errorf("%s is compressed with %s, which is not read here: unpack it, or compress it with gzip, zstd, bzip2, lz4, snappy or zlib: %w", s.Name, name, ErrCompression)
		case records:
			return plain, at, fmt.Errorf("%s is a record file, which has no lines: read it with Records: %w", s.Name, ErrCompression)
		default:
			if at > 0 && kind != lz4ed {
				kind = zstded // only frames of zstd may follow, or the file is damaged
			}
			return kind, at, nil
		}
	}
	return zstded, at, nil // the decoder says what is wrong
}

// maxSkippable is how many frames without data are skipped.
const maxSkippable = 64

// ErrCompression marks a file with an unsupported compression.
var ErrCompression = errors.New("unknown compression")

// A file determines how much its decoder allocates, for windows of zstd or blocks of lz4. More than usualWindow is
// treated as a giant record.
const usualWindow = 2 << 20

// A window is the part of a file that its decoder holds in memory.
type window struct {
	bytes uint64
	what  string
}

func (w window) String() string { return fmt.Sprintf("%s of %d MiB", w.what, w.bytes>>20) }

// decompress returns a decompressing stream. Its memory does not grow with the output.
func decompress(r io.Reader, kind compression) (io.ReadCloser, error) {
	switch kind {
	case gzipped:
		return newMembers(r)
	case bzipped:
		return io.NopCloser(bzip2.NewReader(r)), nil
	case zlibbed:
		return newZlibs(r)
	}
	return io.NopCloser(s2.NewReader(r)), nil
}

// openHeld opens a file of zstd or lz4. The first frame, at offset at, says how much its decoder holds in memory.
func (l *lineReader) openHeld(src Source, kind compression, at int64) (io.ReadCloser, error) {
	head := make([]byte, max(0, min(zstd.HeaderMaxSize, src.Size-at)))
	if err := readFullAt(src.R, head, at); err != nil {
		return nil, wrapRead(src.Name, at, err)
	}
	w := window{lz4Blocks(head), "room for blocks of lz4"}
	if kind == zstded {
		w = window{zstdWindow(head), "zstd window"}
	}
	done, err := l.hold(w)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.Name, err)
	}
	if kind == lz4ed {
		return roomyReader{io.NopCloser(lz4.NewReader(src.section(0, src.Size))), done}, nil
	}
	z, err := zstd.NewReader(src.section(0, src.Size), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(max(w.bytes, usualWindow)))
	if err != nil {
		done()
		return nil, err
	}
	return roomyReader{z.IOReadCloser(), done}, nil
}

// zstdWindow returns the window size of a frame. It is 0 for what cannot be a frame; the decoder says what is wrong.
func zstdWindow(head []byte) uint64 {
	var h zstd.Header
	switch {
	case h.Decode(head) != nil:
		return 0
	case h.SingleSegment:
		return h.FrameContentSize
	}
	return h.WindowSize
}

// lz4Blocks returns how much the decoder of a frame holds: a block as stored, and decompressed.
func lz4Blocks(head []byte) uint64 {
	switch {
	case len(head) < 6:
		return 0
	case head[0] == 0x02: // the legacy form has blocks of 8 MiB
		return 2 * 8 << 20
	}
	return 2 << (8 + 2*(head[5]>>4&7)) // 4 says 64 KiB, 7 says 4 MiB
}

// hold reserves the room for a window. For a large one it reserves all the room of giants, so that no record waits
// for more. Records may then have what the window leaves, or half of the limit.
func (l *lineReader) hold(w window) (done func(), err error) {
	if w.bytes > uint64(l.max) {
		return nil, fmt.Errorf("its %s is more than a record may have here (%d MiB): --memory %dMiB would do (a record may have a quarter of it), or other options of the compressor (zstd without --long and --ultra, lz4 without -l and -B7)",
			w, l.max>>20, inMiB(4*int64(w.bytes)))
	}
	if w.bytes <= usualWindow || l.giant == nil {
		return func() {}, nil
	}
	if done, err = l.giant(int64(l.max)); err != nil {
		return nil, err
	}
	l.held, l.whole = w, l.max
	l.giant, l.max = nil, max(l.max-int(w.bytes), l.max/2)
	return done, nil
}

// tooLong returns an error for a line that is too long, and says what would help.
func (l *lineReader) tooLong() error {
	err := tooLarge(l.name, l.off, "more than "+itoa(l.max), l.max)
	if l.held.bytes == 0 {
		return err
	}
	would := 4 * (int64(l.whole) + min(int64(l.held.bytes), int64(l.whole)))
	return fmt.Errorf("%w; the file's %s takes room from its records: with --memory %dMiB they may have %d MiB", err, l.held, inMiB(would), l.whole>>20)
}

// inMiB returns n in MiB, rounded up.
func inMiB(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

// A roomyReader releases its room when it is closed.
type roomyReader struct {
	io.ReadCloser
	done func()
}

func (r roomyReader) Close() error {
	defer r.done()
	return r.ReadCloser.Close()
}

// wrapRead adds the file and the offset to a read error, and what damage means.
func wrapRead(name string, off int64, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s: file ends in the middle of its data near offset %d (truncated, or something else stands behind its data?): %w", name, off, err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("%s: compressed data is damaged near offset %d, or has a frame with a larger window than its first one (compress it as a whole): %w", name, off, err)
	case slices.ContainsFunc(damage, func(d error) bool { return errors.Is(err, d) }) || isBzipError(err):
		return fmt.Errorf("%s: compressed data is damaged near offset %d: %w", name, off, err)
	}
	return fmt.Errorf("%s: read at offset %d: %w", name, off, err)
}

func isBzipError(err error) bool {
	_, ok := errors.AsType[bzip2.StructuralError](err)
	return ok
}

// damage lists the decoders' errors for bytes that no encoder writes.
var damage = []error{
	gzip.ErrChecksum, gzip.ErrHeader, zstd.ErrCRCMismatch, zstd.ErrMagicMismatch, zstd.ErrReservedBlockType, zstd.ErrCompressedSizeTooBig,
	zstd.ErrBlockTooSmall, zstd.ErrUnexpectedBlockSize, zstd.ErrWindowSizeTooSmall,
	zstd.ErrUnknownDictionary, zstd.ErrFrameSizeExceeded, zstd.ErrFrameSizeMismatch, zlib.ErrChecksum, zlib.ErrHeader, zlib.ErrDictionary,
	s2.ErrCorrupt, s2.ErrCRC, s2.ErrUnsupported, lz4.ErrInvalidFrame, lz4.ErrInvalidBlockChecksum, lz4.ErrInvalidFrameChecksum,
	lz4.ErrInvalidHeaderChecksum, lz4.ErrInvalidSourceShortBuffer,
}

func itoa(n int) string { return strconv.Itoa(n) }
