package jobs

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	re2 "github.com/wasilibs/go-re2"

	"github.com/millrace/millrace/internal/find"
)

// perLine rewrites an expression so that a search of many lines at once finds what a search of each line by itself would: the ends of
// the text become the ends of a line, and nothing matches a newline.
func perLine(expr string) (*syntax.Regexp, error) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	keepInLine(re)
	return re, nil
}

func keepInLine(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op, re.Flags = syntax.OpEndLine, re.Flags&^syntax.WasDollar
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpCharClass:
		if re.Rune = withoutNewline(re.Rune); len(re.Rune) == 0 {
			re.Op = syntax.OpNoMatch
		}
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') {
			re.Op, re.Rune = syntax.OpNoMatch, nil
		}
	}
	for _, sub := range re.Sub {
		keepInLine(sub)
	}
}

// withoutNewline takes the newline out of ranges of runes, each two of which are a first and a last.
func withoutNewline(ranges []rune) (out []rune) {
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if lo > '\n' || hi < '\n' {
			out = append(out, lo, hi)
			continue
		}
		if lo < '\n' {
			out = append(out, lo, '\n'-1)
		}
		if hi > '\n' {
			out = append(out, '\n'+1, hi)
		}
	}
	return out
}

// required gives strings of which every match has at least one in it, or none. Of several such lists it takes the one whose shortest
// string is longest.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if list := required(sub); shortest(list) > shortest(best) {
				best = list
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			list := required(sub)
			if all = append(all, list...); len(list) == 0 || len(all) > mostRequired {
				return nil
			}
		}
		return all
	}
	return nil
}

// shortest is the length of the shortest string, 0 of none.
func shortest(list []string) int {
	n := 0
	for i, s := range list {
		if i == 0 || len(s) < n {
			n = len(s)
		}
	}
	return n
}

const (
	// searchAtOnce is how much text is searched by one call: it fits in the processor's cache, and a call costs little against it.
	searchAtOnce = 64 << 10
	// searchFirst is how much text is searched line by line before the other engine is started, which takes a millisecond.
	searchFirst = 64 << 10
	// mostCopied is the largest chunk whose lines are copied to search them: a giant line is not in memory twice.
	mostCopied = 1 << 20
	// mostCandidates is how many lines in a hundred may have a required string before looking for it is given up.
	mostCandidates = 25
	// mostRequired is how many strings are looked for in turn; each costs a search of all the text.
	mostRequired = 4
)

// lineSearch finds a regular expression in chunks of whole lines. What it finds is what the standard library finds line by line.
// It may be used by several goroutines at once.
type lineSearch struct {
	std  *regexp.Regexp
	must []string // every matching line has one of them in it; nil for nothing
	fast func() *re2.Regexp
	seen atomic.Int64 // bytes of text
}

func newLineSearch(expr string) (*lineSearch, error) {
	std, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	tree, err := perLine(expr)
	if err != nil {
		return nil, err
	}
	s := &lineSearch{std: std, fast: sync.OnceValue(func() *re2.Regexp {
		re, err := re2.Compile(tree.String())
		if err != nil {
			return nil // some limits of its own: the standard library has taken it
		}
		return re
	})}
	if must := required(tree); shortest(must) > 0 {
		s.must = must
	}
	return s, nil
}

// A searcher is one goroutine's use of a lineSearch.
type searcher struct {
	*lineSearch
	finders []*find.Finder // of must
	next    []int          // where each of them has found its string in the rest of the chunk
	batch   []byte         // lines that have what a match must have
	useless bool           // most lines have it
}

// each calls fn with texts of one or more whole lines of a chunk, and where the matches in them are, from left to right.
func (s *searcher) each(chunk []byte, fn func(text []byte, all [][]int)) {
	if s.seen.Add(int64(len(chunk))) <= searchFirst {
		s.slowly(chunk, fn)
		return
	}
	if s.must != nil && !s.useless && len(chunk) <= mostCopied {
		all := len(chunk)
		chunk = s.candidates(chunk)
		s.useless = len(chunk) > all/100*mostCandidates
	}
	for len(chunk) > 0 {
		n := lineEnd(chunk, searchAtOnce)
		s.quickly(chunk[:n], fn)
		chunk = chunk[n:]
	}
}

// candidates are the lines of a chunk that have what a match must have.
func (s *searcher) candidates(chunk []byte) []byte {
	for i := len(s.finders); i < len(s.must); i++ {
		s.finders, s.next = append(s.finders, find.New([]byte(s.must[i]), chunk)), append(s.next, 0)
	}
	s.batch = s.batch[:0]
	for i, f := range s.finders {
		s.next[i] = placeOf(f, chunk, 0)
	}
	for done := 0; ; {
		at := slices.Min(s.next)
		if at == len(chunk) {
			return s.batch
		}
		from := done + bytes.LastIndexByte(chunk[done:at], '\n') + 1
		done = lineEnd(chunk, at)
		s.batch = append(s.batch, chunk[from:done]...)
		for i, f := range s.finders {
			if s.next[i] < done {
				s.next[i] = placeOf(f, chunk, done)
			}
		}
	}
}

// placeOf is where f finds its string at or after from, or the end.
func placeOf(f *find.Finder, b []byte, from int) int {
	if i := f.Index(b[from:]); i >= 0 {
		return from + i
	}
	return len(b)
}

// lineEnd is behind the first newline at or after i, or the end.
func lineEnd(b []byte, i int) int {
	if i < len(b) {
		if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
			return i + n + 1
		}
	}
	return len(b)
}

// quickly searches many lines by one call. Bytes that are no UTF-8 mean different things to the two engines.
func (s *searcher) quickly(text []byte, fn func(text []byte, all [][]int)) {
	re := s.fast()
	if re == nil || !utf8.Valid(text) {
		s.slowly(text, fn)
		return
	}
	all := re.FindAllIndex(text, -1)
	if n := len(all) - 1; n >= 0 && all[n][0] == len(text) && bytes.HasSuffix(text, newline) {
		all = all[:n] // behind the last newline no line begins
	}
	if len(all) > 0 {
		fn(text, all)
	}
}

// slowly searches line by line.
func (s *searcher) slowly(text []byte, fn func(text []byte, all [][]int)) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, newline)
		if all := s.std.FindAllIndex(line, -1); len(all) > 0 {
			fn(line, all)
		}
	}
}
