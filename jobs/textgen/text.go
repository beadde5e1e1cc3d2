package textgen

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// TextConfig describes a text.
type TextConfig struct {
	// Seed chooses one of 2^64 texts in the same language. Any value is good.
	Seed uint64
	// Words is the size of the vocabulary, 1 to 2^24; 0 means 100,000
	// (ours, about that of a large dictionary). Larger: more distinct keys, bigger tables, slower.
	Words int
	// Exponent is that of Zipf's law: the share of the word of rank r is proportional to 1/r^Exponent. 0 makes all
	// words equally frequent; natural text is near 1, the default. Larger: fewer words carry more of the text.
	Exponent float64
	// MinLine and MaxLine bound the words of a line, drawn evenly. Both 0 means
	// 8 and 14 (ours: lines of 50 to 90 bytes). Larger: fewer, longer lines.
	MinLine, MaxLine int
}

// DefaultTextConfig returns the text of the benchmarks: 100,000 words, exponent 1.
func DefaultTextConfig() TextConfig {
	return TextConfig{Words: 100_000, Exponent: 1, MinLine: 8, MaxLine: 14}
}

func (c *TextConfig) setDefaults() {
	def := DefaultTextConfig()
	if c.Words == 0 {
		c.Words = def.Words
	}
	if c.MinLine == 0 && c.MaxLine == 0 {
		c.MinLine, c.MaxLine = def.MinLine, def.MaxLine
	}
}

func (c *TextConfig) validate() error {
	switch {
	case c.Words < 1 || c.Words > maxChoices:
		return fmt.Errorf("text: vocabulary of %d words, want 1 to %d", c.Words, maxChoices)
	case c.MinLine < 1 || c.MaxLine < c.MinLine || c.MaxLine > math.MaxInt32:
		return fmt.Errorf("text: lines of %d to %d words, want 1 <= min <= max", c.MinLine, c.MaxLine)
	}
	return validateExponent("text", c.Exponent)
}

func validateExponent(what string, e float64) error {
	if !(e >= 0 && e <= 10) { // also refuses NaN
		return fmt.Errorf("%s: Zipf exponent %v, want 0 to 10", what, e)
	}
	return nil
}

// Text makes the blocks of one text.
type Text struct {
	config  TextConfig
	words   []slot
	zipf    alias
	endings [maxLetters + 1]slot // [n] is the most common word of n letters, or zero
}

// NewText builds the vocabulary and the distribution: about 50 ms and 2.4 MB for
// 100,000 words.
func NewText(c TextConfig) (*Text, error) {
	c.setDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	t := &Text{config: c, words: vocabulary(c.Words), zipf: newZipf(c.Words, c.Exponent)}
	for _, s := range t.words {
		if n := s[advanceByte] - 1; t.endings[n] == (slot{}) {
			t.endings[n] = s
		}
	}
	return t, nil
}

// Fill writes a block of exactly len(dst) bytes, which ends with a newline.
func (t *Text) Fill(dst []byte, block uint64) {
	rng := blockSource(t.config.Seed, block)
	at, left := 0, t.lineWords(rng)
	for at+2*slotBytes <= len(dst) {
		s := &t.words[t.zipf.draw(rng.Uint64())]
		*(*slot)(dst[at:]) = *s
		at += int(s[advanceByte])
		if left--; left == 0 {
			dst[at-1] = '\n'
			left = t.lineWords(rng)
		}
	}
	t.finish(dst[at:])
	if len(dst) > 0 {
		dst[len(dst)-1] = '\n'
	}
}

// lineWords draws the number of words of a line.
func (t *Text) lineWords(rng *rand.PCG) int {
	span := uint64(t.config.MaxLine - t.config.MinLine + 1)
	extra, _ := bits.Mul64(rng.Uint64(), span)
	return t.config.MinLine + int(extra)
}

// finish fills the few remaining bytes of a block with common words, the last of which ends at the block's end, or
// with blanks if no word fits.
func (t *Text) finish(dst []byte) {
	for len(dst) > 0 {
		n := t.endingBytes(len(dst))
		if n == 0 {
			copy(dst, blanks)
			return
		}
		copy(dst, t.endings[n-1][:n])
		dst = dst[n:]
	}
}

// blanks is as long as the longest rest that finish can get.
const blanks = "                                "

// endingBytes returns the length of the longest word, with the blank behind it, that fits into room and leaves
// nothing or enough for another; 0 if none does.
func (t *Text) endingBytes(room int) int {
	const enough = 4
	for n := min(room, maxLetters+1); n > 1; n-- {
		rest := room - n
		if t.endings[n-1] != (slot{}) && (rest == 0 || rest >= enough) {
			return n
		}
	}
	return 0
}
