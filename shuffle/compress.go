package shuffle

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxPacked is the largest raw size of a compressed frame. Larger frames, which hold one oversized record, are
	// stored uncompressed. So no length in a file can make a reader allocate more than this or the length of the
	// file.
	maxPacked = 1 << 20

	// After missesMax frames in a row that did not shrink by an eighth, skipFrames frames are stored without trying.
	missesMax  = 3
	skipFrames = 32
)

// packer compresses frames and stops trying when that does not pay.
type packer struct {
	codec  Compression
	buf    []byte
	misses int
	skip   int
}

// pack returns raw in stored form, and the codec used. The result is valid until the next call.
func (p *packer) pack(raw []byte) ([]byte, Compression) {
	if p.codec == None || len(raw) > maxPacked {
		return raw, None
	}
	if p.skip > 0 {
		p.skip--
		return raw, None
	}
	switch p.codec {
	case S2:
		p.buf = s2.Encode(p.buf[:cap(p.buf)], raw)
	case Zstd:
		enc := zstdEncoders.Get().(*zstd.Encoder)
		p.buf = enc.EncodeAll(raw, p.buf[:0])
		zstdEncoders.Put(enc)
	}
	if len(p.buf) > len(raw)-len(raw)/8 {
		if p.misses++; p.misses >= missesMax {
			p.misses, p.skip = 0, skipFrames
		}
		return raw, None
	}
	p.misses = 0
	return p.buf, p.codec
}

// unpack restores a stored frame of rawLen bytes into dst, which has that capacity.
func unpack(dst, stored []byte, codec Compression, rawLen int) ([]byte, error) {
	if rawLen > maxPacked {
		return nil, fmt.Errorf("%v frame of %d bytes, limit %d", codec, rawLen, maxPacked)
	}
	var err error
	switch codec {
	case S2:
		if n, err := s2.DecodedLen(stored); err != nil || n != rawLen {
			return nil, fmt.Errorf("s2 frame says %d bytes, header %d (%v)", n, rawLen, err)
		}
		dst, err = s2.Decode(dst[:rawLen], stored)
	case Zstd:
		dec := zstdDecoders.Get().(*zstd.Decoder)
		dst, err = dec.DecodeAll(stored, dst[:0])
		zstdDecoders.Put(dec)
	default:
		return nil, fmt.Errorf("unknown %v", codec)
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w", codec, err)
	}
	if len(dst) != rawLen {
		return nil, fmt.Errorf("%v frame has %d bytes, header says %d", codec, len(dst), rawLen)
	}
	return dst, nil
}

// Encoders and decoders are expensive to make, so they are kept.
var (
	zstdEncoders = sync.Pool{New: func() any {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(maxPacked), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(fmt.Sprintf("zstd encoder options: %v", err)) // constant options
		}
		return enc
	}}
	zstdDecoders = sync.Pool{New: func() any {
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPacked),
			zstd.WithDecoderMaxWindow(maxPacked), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic(fmt.Sprintf("zstd decoder options: %v", err)) // constant options
		}
		return dec
	}}
)
