package jobs

import (
	"bytes"
	"iter"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	re2 "github.com/wasilibs/go-re2"

	"github.com/millrace/millrace/internal/automaton"
	"github.com/millrace/millrace/internal/find"
)

// perLine rewrites an expression so that a search of many lines at once finds what a search of each line by itself
// would: anchors of the text become anchors of a line, and nothing matches a newline.
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

// withoutNewline removes the newline from ranges of runes, which are pairs of first and last.
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

// required returns strings of which every match contains at least one, or none. Of several such lists it takes the
// one whose shortest string is longest.
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

// shortest returns the length of the shortest string, or 0.
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
	// searchAtOnce is how much text one call searches. It fits in the processor's cache, and is large compared with
	// the cost of a call.
	searchAtOnce = 64 << 10
	// searchFirst is how much text is searched line by line before RE2 is started, which takes a millisecond.
	searchFirst = 64 << 10
	// mostCopied is the largest chunk whose lines are copied to search them, so that a giant line is not in memory
	// twice.
	mostCopied = 1 << 20
	// mostCandidates is the percentage of text with a required string above which looking for these does not pay.
	mostCandidates = 25
	// mostRequired is how many strings are looked for in turn, each of which costs a search of all the text.
	mostRequired = 4
)

// lineSearch finds a regular expression in chunks of whole lines: with an automaton, or with RE2 if the automaton
// would have too many states. It finds what the standard library finds line by line. It may be used by several
// goroutines at once.
type lineSearch struct {
	std   lineEngine
	plain string            // the only string that it matches, if there is only one
	must  []string          // every matching line contains one of them; nil if there are none
	own   *automaton.Regexp // nil if it would be too large
	fast  func() *re2.Regexp
	seen  atomic.Int64 // bytes of text searched without the automaton
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
		if err != nil || has(tree, syntax.OpNoWordBoundary) {
			return nil // RE2 has limits of its own, and finds \B inside multibyte letters
		}
		return re
	})}
	if text, whole := std.LiteralPrefix(); whole {
		s.plain = text
	}
	if must := required(tree); shortest(must) > 0 {
		s.must = must
	}
	if own, ok := automaton.Compile(tree); ok {
		s.own = own
	}
	return s, nil
}

// newFoldedSearch searches for a string of any bytes, in upper and lower case.
func newFoldedSearch(s string) *lineSearch {
	f, must := newFolded(s)
	out := &lineSearch{std: f, fast: func() *re2.Regexp { return nil }}
	if must != "" {
		out.must = []string{must}
	}
	return out
}

// has reports whether a tree contains an operation.
func has(re *syntax.Regexp, op syntax.Op) bool {
	return re.Op == op || slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return has(sub, op) })
}

// A searcher is one goroutine's use of a lineSearch.
type searcher struct {
	*lineSearch
	states  *automaton.Searcher
	finders []*find.Finder // of the strings in must
	next    []int          // where each of them next finds its string in the chunk
	batch   []byte         // lines that contain a required string
	useless bool           // too many lines contain one
}

// eachLine calls fn with the lines of a chunk that have a match.
func (s *searcher) eachLine(chunk []byte, fn func(line []byte)) {
	for text := range s.texts(chunk) {
		if a := s.automaton(); a != nil && utf8.Valid(text) {
			a.Lines(text, fn)
			continue
		}
		next := 0 // where the line behind the last one found begins
		s.others(text, func(from, _ int) {
			if from < next {
				return
			}
			line := text[next+bytes.LastIndexByte(text[next:from], '\n')+1 : lineEnd(text, from)]
			if next = lineEnd(text, from); !bytes.HasSuffix(line, newline) {
				next++ // there is no line, not even an empty one
			}
			fn(bytes.TrimSuffix(line, newline))
		})
	}
}

// eachMatch calls fn for each match, from left to right, with some whole lines of the chunk and where in them it
// begins and ends.
func (s *searcher) eachMatch(chunk []byte, fn func(text []byte, from, to int)) {
	for text := range s.texts(chunk) {
		found := func(from, to int) { fn(text, from, to) }
		if a := s.automaton(); a != nil && utf8.Valid(text) {
			a.Matches(text, found)
		} else {
			s.others(text, found)
		}
	}
}

// texts yields the parts of a chunk that may have matches, each of whole lines.
func (s *searcher) texts(chunk []byte) iter.Seq[[]byte] {
	if s.must != nil && !s.useless && len(chunk) <= mostCopied {
		all := len(chunk)
		chunk = s.candidates(chunk)
		s.useless = len(chunk) > all/100*mostCandidates
	}
	return func(yield func([]byte) bool) {
		for len(chunk) > 0 {
			n := lineEnd(chunk, searchAtOnce)
			if !yield(chunk[:n]) {
				return
			}
			chunk = chunk[n:]
		}
	}
}

// automaton returns the searcher, or nil for an expression with too many states.
func (s *searcher) automaton() *automaton.Searcher {
	if s.states == nil && s.own != nil {
		s.states = s.own.NewSearcher()
	}
	if s.states != nil && s.states.Slow() {
		return nil
	}
	return s.states
}

// candidates returns the lines of a chunk that contain a required string.
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

// placeOf returns where f finds its string at or after from, or the end.
func placeOf(f *find.Finder, b []byte, from int) int {
	if i := f.Index(b[from:]); i >= 0 {
		return from + i
	}
	return len(b)
}

// lineEnd returns the index behind the first newline at or after i, or the end.
func lineEnd(b []byte, i int) int {
	if i < len(b) {
		if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
			return i + n + 1
		}
	}
	return len(b)
}

// others finds the matches in text with the other engines: RE2, or the standard library line by line for the first
// text and for bytes that are not UTF-8, which the two treat differently.
func (s *searcher) others(text []byte, fn func(from, to int)) {
	first := s.seen.Add(int64(len(text))) <= searchFirst
	if !first && utf8.Valid(text) {
		if re := s.fast(); re != nil {
			eachOf(re.FindAllIndex(text, -1), text, 0, fn)
			return
		}
	}
	at := 0
	for line := range bytes.Lines(text) {
		eachOf(s.std.FindAllIndex(bytes.TrimSuffix(line, newline), -1), text, at, fn)
		at += len(line)
	}
}

// eachOf passes on matches, which are relative to at.
func eachOf(all [][]int, text []byte, at int, fn func(from, to int)) {
	for _, m := range all {
		if from := at + m[0]; from < len(text) || !bytes.HasSuffix(text, newline) { // no line begins behind the last newline
			fn(from, at+m[1])
		}
	}
}
