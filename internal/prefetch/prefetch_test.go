package prefetch_test

import (
	"testing"

	"github.com/millrace/millrace/internal/prefetch"
)

// TestHarmless: asking for memory changes none of it, at any place of a page and at none: a hint is not a read.
func TestHarmless(t *testing.T) {
	buf := make([]byte, 3<<12)
	for i := range buf {
		buf[i] = byte(i)
		prefetch.At(&buf[i])
	}
	for i := range buf {
		if buf[i] != byte(i) {
			t.Fatalf("byte %d is %d", i, buf[i])
		}
	}
	v := struct{ a, b uint64 }{1, 2}
	prefetch.Of(&v)
	if v.a != 1 || v.b != 2 {
		t.Errorf("a value became %+v", v)
	}
	prefetch.At(nil)
	prefetch.Of[int](nil)
}
