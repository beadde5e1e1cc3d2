package jobs

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// lineEngine finds matches in one line. A *regexp.Regexp is one.
type lineEngine interface {
	Match(line []byte) bool
	FindAllIndex(line []byte, n int) [][]int
}

// folded is a string of any bytes that matches in upper and lower case. Letters match what they match in an
// expression with (?i). Bytes that are not UTF-8, which no expression can contain, match themselves.
type folded struct {
	parts [][][]byte // each part matches one of several
	first [256]bool  // bytes that a match can begin with
}

var _ lineEngine = (*folded)(nil)

// newFolded also returns the longest string that every match contains unchanged.
func newFolded(s string) (f *folded, must string) {
	f = &folded{}
	plain := 0 // bytes before i that match only themselves
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		var part [][]byte
		if r == utf8.RuneError && n == 1 {
			part = [][]byte{{s[i]}}
		} else {
			part = foldsOf(r)
		}
		f.parts = append(f.parts, part)
		if i += n; len(part) > 1 {
			plain = 0
		} else if plain += n; plain > len(must) {
			must = s[i-plain : i]
		}
	}
	for _, b := range f.parts[0] {
		f.first[b[0]] = true
	}
	return f, must
}

// foldsOf returns a rune and those that differ from it only in case.
func foldsOf(r rune) (out [][]byte) {
	out = append(out, utf8.AppendRune(nil, r))
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		out = append(out, utf8.AppendRune(nil, c))
	}
	return out
}

// next returns where the first match at or behind from begins and ends, or -1.
func (f *folded) next(line []byte, from int) (begin, end int) {
	for ; from < len(line); from++ {
		if f.first[line[from]] {
			if end := f.matchAt(line, from); end >= 0 {
				return from, end
			}
		}
	}
	return -1, -1
}

// matchAt returns where a match ends that begins at a place, or -1 if none does. No alternative of a part is a
// prefix of another.
func (f *folded) matchAt(line []byte, at int) int {
	for _, part := range f.parts {
		was := at
		for _, b := range part {
			if bytes.HasPrefix(line[at:], b) {
				at += len(b)
				break
			}
		}
		if at == was {
			return -1
		}
	}
	return at
}

// Match reports whether a line has a match.
func (f *folded) Match(line []byte) bool {
	begin, _ := f.next(line, 0)
	return begin >= 0
}

// FindAllIndex returns the first n matches, or all of them if n is negative, from left to right, without overlaps.
func (f *folded) FindAllIndex(line []byte, n int) (out [][]int) {
	for begin, end := f.next(line, 0); begin >= 0 && len(out) != n; begin, end = f.next(line, end) {
		out = append(out, []int{begin, end})
	}
	return out
}
