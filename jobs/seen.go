package jobs

import (
	"encoding/binary"
	"math/bits"

	"github.com/millrace/millrace/internal/prefetch"
)

// seenWords remembers some of the words seen. A word replaces the older of the two words in its slots, and long
// words are never kept. It avoids sorting words that repeat often, at less cost than a table of counts.
type seenWords struct {
	slots []shortWord // pairs, the younger word first
	shift int         // shift of a hash that gives the index of a pair
}

// newSeenWords uses a small part of the largest record, which is itself a part of the budget, and no more than fits
// in a core's cache.
func newSeenWords(maxRecord int) seenWords {
	const most, wordBytes = 2 << 20, 16
	pairs := max(1, min(maxRecord/64, most)/wordBytes/2)
	log := bits.Len(uint(pairs)) - 1
	return seenWords{slots: make([]shortWord, 2<<log), shift: 64 - log}
}

// longestSeen is the longest word that is kept, in bytes.
const longestSeen = 15

// shortWord is a word of up to 15 bytes, with its length in the highest byte; zero means none.
type shortWord struct{ low, high uint64 }

// A waitingWord is a word whose slots are being prefetched.
type waitingWord struct {
	text []byte // of a chunk
	word shortWord
	at   uint32 // its pair of slots
}

// waitingWords are looked up together once the slots of all of them have been prefetched: the table is larger than
// the share of a busy core's caches that it gets.
type waitingWords struct {
	list [32]waitingWord
	n    int
}

// add adds a word of up to 15 bytes and reports whether there is no room for another.
func (q *waitingWords) add(s *seenWords, text []byte) (full bool) {
	w := shorten(text)
	at := uint32(2 * ((w.low*0x9e3779b97f4a7c15 ^ w.high*0xc2b2ae3d27d4eb4f) >> s.shift))
	prefetch.Of(&s.slots[at])
	to := &q.list[q.n]
	to.text, to.word, to.at = text, w, at
	q.n++
	return q.n == len(q.list)
}

// fresh calls fn with the waiting words that were not seen before, and remembers them.
func (q *waitingWords) fresh(s *seenWords, fn func(text []byte)) {
	for i := range q.list[:q.n] {
		if w := &q.list[i]; !s.before(w.word, w.at) {
			fn(w.text)
		}
	}
	q.n = 0
}

// before reports whether the word was seen before, and remembers it.
func (s *seenWords) before(w shortWord, at uint32) bool {
	pair := s.slots[at : at+2 : at+2]
	if pair[0] == w {
		return true
	}
	known := pair[1] == w
	pair[0], pair[1] = w, pair[0]
	return known
}

func (s *seenWords) clear() { clear(s.slots) }

// shorten packs a word of up to 15 bytes. Where two loads overlap, they have the same bytes in the same place.
func shorten(word []byte) (w shortWord) {
	n := len(word)
	switch {
	case n >= 8:
		w.low = binary.LittleEndian.Uint64(word)
		w.high = binary.LittleEndian.Uint64(word[n-8:]) >> (8 * (16 - n))
	case n >= 4:
		w.low = uint64(binary.LittleEndian.Uint32(word)) | uint64(binary.LittleEndian.Uint32(word[n-4:]))<<(8*(n-4))
	default:
		for i, b := range word {
			w.low |= uint64(b) << (8 * i)
		}
	}
	w.high |= uint64(n) << 56
	return w
}
