// Package find looks for a fixed string in much text, faster than bytes.Index if the string's first byte is common.
//
// A sample of the text decides between two ways. If some byte of the string is rare, bytes.IndexByte jumps from one
// such byte to the next at memory speed. Otherwise the pair of bytes at the end of a window determines how far the
// window may move without missing a match (Horspool's rule on pairs). Most pairs are not in the string, and then it
// moves by almost its whole length.
package find

import "bytes"

// SampleBytes of the text suffice to show which bytes are rare in it.
const SampleBytes = 64 << 10

// A Finder looks for one string. It is safe for concurrent use.
type Finder struct {
	pattern []byte
	anchor  int  // the index of the rarest byte in the pattern
	rare    byte // that byte

	// skip[last two bytes of a window] is how far the window can move; 0 means that the pair is the pattern's last.
	// Nil if the rare byte serves better.
	skip  []uint8
	again int // how far to move after a window with the right end that did not match
}

const (
	rareBytes = 256 // a byte is rare if it appears less than once in this many
	minPairs  = 4   // shorter patterns move too little
)

// New returns a finder for text that resembles the sample. An untypical sample costs speed, but never a match.
func New(pattern, sample []byte) *Finder {
	f := &Finder{pattern: pattern}
	if len(pattern) == 0 {
		return f
	}
	sample = sample[:min(len(sample), SampleBytes)]
	var counts [256]int
	for _, b := range sample {
		counts[b]++
	}
	for i, b := range pattern {
		if counts[b] < counts[pattern[f.anchor]] {
			f.anchor = i
		}
	}
	f.rare = pattern[f.anchor]
	if len(pattern) >= minPairs && counts[f.rare]*rareBytes > len(sample) {
		f.makeSkip()
	}
	return f
}

func pair(a, b byte) int { return int(a)<<8 | int(b) }

// makeSkip fills the table. A pair in the pattern lets the window move until it is over that pair of the pattern.
// Any other lets it move by all but one byte of the length.
func (f *Finder) makeSkip() {
	p := f.pattern[max(0, len(f.pattern)-256):] // moves fit a byte
	f.skip = make([]uint8, 1<<16)
	for i := range f.skip {
		f.skip[i] = uint8(len(p) - 1)
	}
	last := len(p) - 1
	f.again = last
	for i := 1; i <= last; i++ {
		if i < last && p[i-1] == p[last-1] && p[i] == p[last] {
			f.again = last - i
		}
		f.skip[pair(p[i-1], p[i])] = uint8(last - i)
	}
}

// Index returns the index of the first match in text, or -1.
func (f *Finder) Index(text []byte) int {
	switch {
	case len(f.pattern) == 0:
		return 0
	case f.skip != nil:
		return f.byPairs(text)
	}
	return f.byRareByte(text)
}

func (f *Finder) byPairs(text []byte) int {
	skip := (*[1 << 16]uint8)(f.skip)
	n := len(f.pattern)
	for i := n - 1; i < len(text); {
		if s := skip[pair(text[i-1], text[i])]; s != 0 {
			i += int(s)
			continue
		}
		if start := i - n + 1; bytes.Equal(text[start:i+1], f.pattern) {
			return start
		}
		i += f.again
	}
	return -1
}

// A rare byte may be met once in missBytes, after missFree times. Then the finder considers it common and leaves the
// rest of the text to bytes.Index.
const (
	missBytes = 64
	missFree  = 64
)

func (f *Finder) byRareByte(text []byte) int {
	misses := 0
	for at := f.anchor; at < len(text); at++ {
		n := bytes.IndexByte(text[at:], f.rare)
		if n < 0 {
			return -1
		}
		at += n
		start := at - f.anchor
		if bytes.HasPrefix(text[start:], f.pattern) {
			return start
		}
		if misses++; misses > missFree+at/missBytes {
			return offset(start+1, bytes.Index(text[start+1:], f.pattern))
		}
	}
	return -1
}

func offset(base, i int) int {
	if i < 0 {
		return -1
	}
	return base + i
}
