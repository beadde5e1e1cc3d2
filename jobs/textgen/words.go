package textgen

import (
	"math/bits"
	"math/rand/v2"
)

const (
	maxLetters = 14
	// slotBytes is a power of two that holds the longest word, the blank behind
	// it and the advance, so that a word is copied by two 8-byte moves.
	slotBytes   = 16
	advanceByte = slotBytes - 1
)

// slot is a word, a blank, zeros, and in the last byte the number of bytes up to
// and including the blank.
type slot [slotBytes]byte

func makeSlot(word string) (s slot) {
	n := copy(s[:], word)
	s[n] = ' '
	s[advanceByte] = byte(n + 1)
	return s
}

// vocabulary returns n distinct lower-case words, the most frequent first. They are pronounceable, and as in real
// languages they get longer with their rank. A smaller vocabulary is the beginning of a larger one.
func vocabulary(n int) []slot {
	rng := rand.New(rand.NewPCG(0x6d696c6c, 0x72616365))
	seen := make(map[slot]struct{}, n)
	words := make([]slot, 0, n)
	for tries := 0; len(words) < n; tries++ {
		s := makeSlot(randomWord(rng, lettersAt(rng, len(words), tries)))
		if _, ok := seen[s]; ok {
			continue
		}
		seen[s] = struct{}{}
		words = append(words, s)
		tries = -1
	}
	return words
}

// lettersAt draws the length of the word of a rank: from 1-5 letters for the first to 6-10 at rank 100,000. Words
// that are not new get longer.
func lettersAt(rng *rand.Rand, rank, tries int) int {
	n := 1 + bits.Len(uint(rank))/3 + rng.IntN(3) + rng.IntN(3)
	return min(n+tries/4, maxLetters)
}

// randomWord alternates consonants and vowels, starting with either.
func randomWord(rng *rand.Rand, letters int) string {
	const consonants, vowels = "ttnnsshrrdlcmwfgpbvk", "eeeaaioou"
	word := make([]byte, letters)
	vowel := letters == 1 || rng.IntN(3) == 0
	for i := range word {
		set := consonants
		if vowel {
			set = vowels
		}
		word[i] = set[rng.IntN(len(set))]
		vowel = !vowel
	}
	return string(word)
}
