package mapreduce

import (
	"bytes"
	"testing"
)

// tryCodec decodes what may be anything: what is accepted encodes to the same bytes again.
func tryCodec[T any](t *testing.T, c Codec[T], b []byte, same bool) {
	t.Helper()
	v, err := c.Decode(b)
	if err != nil {
		return
	}
	again := c.Append(nil, v)
	if same && !bytes.Equal(again, b) {
		t.Errorf("%s: %x is decoded as %v, which is encoded as %x", c.TypeName(), b, v, again)
	}
	if v, err := c.Decode(again); err != nil || !bytes.Equal(c.Append(nil, v), again) {
		t.Errorf("%s: %x is decoded as %v, which is encoded as %x: %v", c.TypeName(), again, v, c.Append(nil, v), err)
	}
}

func FuzzCodecs(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("12345678"))
	f.Add([]byte(`{"A":1}`))
	f.Add(Float64.Append(nil, -0.5))
	f.Add(CodecFor[tree]().Append(nil, oak))
	f.Add(CodecFor[map[string][]byte]().Append(nil, map[string][]byte{"a": nil, "b": {1}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		tryCodec(t, Bytes, b, true)
		tryCodec(t, String, b, true)
		tryCodec(t, Int64, b, true)
		tryCodec(t, Uint64, b, true)
		tryCodec(t, Float64, b, false) // -0 and many that are not a number become one
		tryCodec(t, CodecFor[int](), b, true)
		tryCodec(t, CodecFor[int32](), b, true)
		tryCodec(t, CodecFor[bool](), b, false)
		tryCodec(t, CodecFor[struct{ A int }](), b, false)
		tryCodec(t, CodecFor[tree](), b, true)
		tryCodec(t, CodecFor[map[string][]byte](), b, true)
		tryCodec(t, CodecFor[[3000]bool](), b, false)
	})
}
