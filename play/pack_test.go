package play

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDecisionsKeepTheirAttempts: which attempt a decision is about, the first one too, comes out as it went in, read as assets/unpack.js does.
func TestDecisionsKeepTheirAttempts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := append([]int32{0, -1}, rapid.SliceOf(rapid.OneOf(rapid.Just(int32(-1)), rapid.Int32Range(0, 300), rapid.Int32Min(0))).Draw(rt, "attempts")...)
		var p packer
		p.about(want)
		var got []int32
		for next, at := int32(0), 0; at < len(p.out); {
			v, n := binary.Uvarint(p.out[at:])
			at += n
			if v == 0 {
				got = append(got, -1)
				continue
			}
			x := next + (int32(uint32(v-1)>>1) ^ -int32((v-1)&1))
			got, next = append(got, x), x+1
		}
		if !slices.Equal(got, want) {
			rt.Errorf("%v came out as %v", want, got)
		}
	})
}
