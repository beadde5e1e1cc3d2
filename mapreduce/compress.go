package mapreduce

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

type compression uint8

const (
	plain compression = iota
	gzipped
	zstded
)

// sniff tells the compression of a file by its first bytes.
func sniff(head []byte) compression {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}):
		return gzipped
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstded
	}
	return plain
}

// maxZstdWindow bounds what a file can make the decoder allocate.
const maxZstdWindow = 64 << 20

// decompress streams: what is held in memory does not grow with what comes out.
func decompress(r io.Reader, kind compression) (io.ReadCloser, error) {
	if kind == gzipped {
		z, err := gzip.NewReader(r)
		return z, err
	}
	z, err := zstd.NewReader(r,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxZstdWindow))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

// wrapRead names the file and the place, and what damage means.
func wrapRead(name string, off int64, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s: file ends in the middle of its data near offset %d (truncated?): %w", name, off, err)
	case slices.ContainsFunc(damage, func(d error) bool { return errors.Is(err, d) }):
		return fmt.Errorf("%s: compressed data is damaged near offset %d: %w", name, off, err)
	}
	return fmt.Errorf("%s: read at offset %d: %w", name, off, err)
}

// damage lists what the decoders say of bytes that no encoder wrote.
var damage = []error{
	gzip.ErrChecksum, gzip.ErrHeader, zstd.ErrCRCMismatch, zstd.ErrMagicMismatch, zstd.ErrReservedBlockType, zstd.ErrCompressedSizeTooBig,
	zstd.ErrBlockTooSmall, zstd.ErrUnexpectedBlockSize, zstd.ErrWindowSizeExceeded, zstd.ErrWindowSizeTooSmall, zstd.ErrDecoderSizeExceeded,
	zstd.ErrUnknownDictionary, zstd.ErrFrameSizeExceeded, zstd.ErrFrameSizeMismatch,
}

func itoa(n int) string { return strconv.Itoa(n) }
