package jobs

import (
	"bytes"
	"slices"
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

// TestSeenWords: of words that wait together or apart, each is fresh once, and again after another file.
func TestSeenWords(t *testing.T) {
	s := newSeenWords(8 << 20)
	var q waitingWords
	words := []string{"a", "ab", "abcd", "abcdefgh", "abcdefghijklmno", "a", "abcd"}
	look := func() (got []string) {
		for _, w := range words {
			if q.add(&s, []byte(w)) {
				t.Fatal("no room")
			}
		}
		q.fresh(&s, func(text []byte) { got = append(got, string(text)) })
		return got
	}
	for i, want := range [][]string{words[:5], nil, words[:5]} {
		if i == 2 {
			s.clear()
		}
		if got := look(); !slices.Equal(got, want) {
			t.Errorf("round %d: fresh are %q, want %q", i, got, want)
		}
	}
	for i := range q.list {
		if full := q.add(&s, []byte("w")); full != (i == len(q.list)-1) {
			t.Fatalf("%d words wait, full is %v", i+1, full)
		}
	}
}
