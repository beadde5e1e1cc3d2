package jobs

import (
	"encoding/binary"
	"math/bits"

	"github.com/millrace/millrace/internal/prefetch"
)

// seenWords remembers words, not all of them: a word takes the place of the older of two that fall into the same slots, and long ones are
// never kept. It spares the sorting of what comes again and again, at less than the price of a table that counts.
type seenWords struct {
	slots []shortWord // pairs, the younger word first
	shift int         // of a hash, to the number of a pair
}

// newSeenWords takes a small part of what the largest record may have, itself a part of the budget, and no more than a core's cache holds.
func newSeenWords(maxRecord int) seenWords {
	const most, wordBytes = 2 << 20, 16
	pairs := max(1, min(maxRecord/64, most)/wordBytes/2)
	log := bits.Len(uint(pairs)) - 1
	return seenWords{slots: make([]shortWord, 2<<log), shift: 64 - log}
}

// longestSeen is how many bytes a word may have to be kept.
const longestSeen = 15

// shortWord is a word of up to 15 bytes, and its length in the highest byte; zero is none.
type shortWord struct{ low, high uint64 }

// A waitingWord is one whose slots are on their way from memory.
type waitingWord struct {
	text []byte // of a chunk
	word shortWord
	at   uint32 // its pair of slots
}

// waitingWords are looked up together, when the slots of all of them have been asked for: the table is larger than what the caches of a busy
// core hold of it.
type waitingWords struct {
	list [32]waitingWord
	n    int
}

// add takes a word of up to 15 bytes, and says whether there is no room for another.
func (q *waitingWords) add(s *seenWords, text []byte) (full bool) {
	w := shorten(text)
	at := uint32(2 * ((w.low*0x9e3779b97f4a7c15 ^ w.high*0xc2b2ae3d27d4eb4f) >> s.shift))
	prefetch.Of(&s.slots[at])
	to := &q.list[q.n]
	to.text, to.word, to.at = text, w, at
	q.n++
	return q.n == len(q.list)
}

// fresh calls fn with the words that wait and were not seen before, and remembers them.
func (q *waitingWords) fresh(s *seenWords, fn func(text []byte)) {
	for i := range q.list[:q.n] {
		if w := &q.list[i]; !s.before(w.word, w.at) {
			fn(w.text)
		}
	}
	q.n = 0
}

// before reports whether the word of these slots was seen, and remembers it.
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

// shorten packs a word of up to 15 bytes. Where two loads overlap, they hold the same bytes in the same place.
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
