package pipe

import (
	"math/rand/v2"
	"testing"
)

// TestCombine compares with the checksum of the whole.
func TestCombine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 3*ChunkSize+1)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	for _, size := range []int{0, 1, 2, 100, ChunkSize - 1, ChunkSize, ChunkSize + 1, 3 * ChunkSize, len(data)} {
		for range 20 {
			cut := rng.IntN(size + 1)
			if got, want := Combine(Checksum(data[:cut]), Checksum(data[cut:size]), int64(size-cut)), Checksum(data[:size]); got != want {
				t.Errorf("%d bytes cut at %d: %08x, want %08x", size, cut, got, want)
			}
		}
		var crcs []uint32
		for at := 0; at < size; at += ChunkSize {
			crcs = append(crcs, Checksum(data[at:min(at+ChunkSize, size)]))
		}
		if got, want := CombineChunks(crcs, int64(size)), Checksum(data[:size]); got != want {
			t.Errorf("chunks of %d bytes: %08x, want %08x", size, got, want)
		}
	}
	a, b := Checksum([]byte("a")), Checksum(make([]byte, 0))
	if got := Combine(a, b, 0); got != a {
		t.Errorf("with nothing behind it: %08x, want %08x", got, a)
	}
}
