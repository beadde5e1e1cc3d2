package find

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The clever search against the library's, over few letters so that near matches abound.
func TestIndexAgainstLibrary(t *testing.T) {
	letters := rapid.SliceOf(rapid.SampledFrom([]byte("ab\nc")))
	rapid.Check(t, func(t *rapid.T) {
		text := letters.Draw(t, "text")
		pattern := rapid.SliceOfN(rapid.SampledFrom([]byte("ab\nc")), 0, 9).Draw(t, "pattern")
		f := New(pattern, letters.Draw(t, "sample"))
		if got, want := f.Index(text), bytes.Index(text, pattern); got != want {
			t.Fatalf("found at %d, want %d", got, want)
		}
	})
}

// A byte that the sample does not have but the text is full of.
func TestIndexWrongSample(t *testing.T) {
	text := []byte(strings.Repeat("zebra", 10_000) + "zebu" + strings.Repeat("zebra", 10))
	f := New([]byte("zebu"), []byte("uuuuuu"))
	if got, want := f.Index(text), 50_000; got != want {
		t.Errorf("found at %d, want %d", got, want)
	}
	if got := f.Index(text[:50_003]); got != -1 {
		t.Errorf("found at %d what is not there", got)
	}
}

// A pattern longer than a move, and one that repeats itself.
func TestIndexLongPatterns(t *testing.T) {
	for _, pattern := range []string{strings.Repeat("ab", 300), strings.Repeat("a", 400) + "b", "abababab", "aaaa"} {
		for _, before := range []int{0, 1, 7, 255, 256, 1000} {
			text := []byte(strings.Repeat("a", before) + "x" + pattern + "tail")
			f := New([]byte(pattern), text)
			if got, want := f.Index(text), bytes.Index(text, []byte(pattern)); got != want {
				t.Errorf("%.20q behind %d bytes: found at %d, want %d", pattern, before, got, want)
			}
		}
	}
}

func BenchmarkIndex1MiB(b *testing.B) {
	text := []byte(strings.Repeat("the quick brown fox jumps over a lazy dog and tells a tale of it ", 1<<14)[:1<<20])
	for name, pattern := range map[string]string{"common": "tarotelanemil", "rare": "quartz %"} {
		f := New([]byte(pattern), text)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				f.Index(text)
			}
		})
		b.Run(name+"-library", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				bytes.Index(text, []byte(pattern))
			}
		})
	}
}
