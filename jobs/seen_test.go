package jobs

import (
	"bytes"
	"testing"
)

// FuzzShorten: different words are different when they are packed, and equal ones equal.
func FuzzShorten(f *testing.F) {
	f.Add([]byte("abc"), []byte("abcd"))
	f.Add([]byte("abcdefgh"), []byte("abcdefgh\x00"))
	f.Add([]byte("abcdefghijklmno"), []byte("abcdefghijklmnp"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if len(a) > 15 || len(b) > 15 {
			return
		}
		if (shorten(a) == shorten(b)) != bytes.Equal(a, b) {
			t.Errorf("%q and %q: %x and %x", a, b, shorten(a), shorten(b))
		}
	})
}

// TestSeenWords: a word is not said to be seen before it was.
func TestSeenWords(t *testing.T) {
	s := newSeenWords(8 << 20)
	long := []byte("sixteen bytes ++")
	for _, want := range []bool{false, true} {
		for _, word := range []string{"a", "ab", "abcd", "abcdefgh", "abcdefghijklmno"} {
			if got := s.before([]byte(word)); got != want {
				t.Errorf("%s was seen: %v, want %v", word, got, want)
			}
		}
	}
	for range 2 {
		if s.before(long) {
			t.Error("a word that is too long to keep was seen")
		}
	}
	s.clear()
	if s.before([]byte("a")) {
		t.Error("a word of another file was seen")
	}
}
