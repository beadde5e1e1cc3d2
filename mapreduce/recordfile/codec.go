package recordfile

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Encoders and decoders of zstd are expensive to make and are shared between files. Their options are constants, so
// New cannot fail.
var (
	zstdEncoders = sync.Pool{New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err)
		}
		return e
	}}
	zstdDecoders = sync.Pool{New: func() any {
		// With the cap limit a frame cannot grow past the length its block states.
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic(err)
		}
		return d
	}}
)

// compress returns src in the form of c, using the memory of dst, or src itself
// and None if less than 1/16 would be saved.
func compress(c Codec, dst, src []byte) ([]byte, Codec) {
	var out []byte
	switch c {
	case S2:
		out = s2.Encode(dst, src)
	case Zstd:
		e := zstdEncoders.Get().(*zstd.Encoder)
		defer zstdEncoders.Put(e)
		out = e.EncodeAll(src, dst[:0])
	default:
		return src, None
	}
	if len(out) > len(src)-len(src)/16 {
		return src, None
	}
	return out, c
}

// decompress returns the n bytes that src holds in the form of c, using the memory of dst. It never allocates more
// than n bytes.
func decompress(c Codec, dst, src []byte, n int) ([]byte, error) {
	dst = grow(dst, n)
	var err error
	switch c {
	case S2:
		if m, e := s2.DecodedLen(src); e != nil || m != n {
			return nil, cmp.Or(e, fmt.Errorf("holds %d bytes, not %d", m, n))
		}
		dst, err = s2.Decode(dst, src)
	case Zstd:
		d := zstdDecoders.Get().(*zstd.Decoder)
		defer zstdDecoders.Put(d)
		dst, err = d.DecodeAll(src, dst[:0:n])
	default:
		return nil, fmt.Errorf("unknown %v", c)
	}
	if err == nil && len(dst) != n {
		err = fmt.Errorf("holds %d bytes, not %d", len(dst), n)
	}
	return dst, err
}

// grow returns a slice of n bytes, using the memory of p if that is large enough.
func grow(p []byte, n int) []byte {
	if cap(p) >= n {
		return p[:n]
	}
	return make([]byte, n)
}
