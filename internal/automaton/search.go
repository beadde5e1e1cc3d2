package automaton

import (
	"bytes"
	"regexp/syntax"
	"unicode/utf8"
)

// A Regexp is a compiled expression. It may be used by several goroutines at once.
type Regexp struct{ forward, backward *program }

// Compile makes a Regexp from a tree that takes no newline, unless it would be too large.
func Compile(tree *syntax.Regexp) (*Regexp, bool) {
	forward, ok := compile(tree, false)
	if !ok {
		return nil, false
	}
	backward, ok := compile(reversed(tree), true)
	return &Regexp{forward, backward}, ok
}

// A Searcher is one goroutine's use of a Regexp.
type Searcher struct {
	forward, backward *table
	searched          int // bytes
}

// NewSearcher returns a new searcher for re.
func (re *Regexp) NewSearcher() *Searcher {
	return &Searcher{forward: newTable(re.forward), backward: newTable(re.backward)}
}

// Slow reports whether the text keeps needing new states: another engine is faster.
func (s *Searcher) Slow() bool {
	const fewBytes, free = 20, 2000 // for a state that is new
	return s.forward.made+s.backward.made > free+s.searched/fewBytes
}

// Lines calls fn with each line of text that has a match, without its newline.
func (s *Searcher) Lines(text []byte, fn func(line []byte)) {
	s.searched += len(text)
	for pos := 0; pos < len(text); {
		at, _ := s.scan(text, pos, s.forward.start(lineEdge))
		if at > len(text) {
			return
		}
		from := pos + bytes.LastIndexByte(text[pos:at], '\n') + 1
		end := len(text)
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n
		}
		fn(text[from:end])
		pos = end + 1
	}
}

// Matches calls fn with the start and end of each match: those that regexp.FindAllIndex finds in each line.
func (s *Searcher) Matches(text []byte, fn func(from, to int)) {
	s.searched += len(text)
	for pos, last := 0, -1; pos <= len(text) && len(text) > 0; {
		at, state := s.scan(text, pos, s.forward.start(edgeAt(text, pos-1)))
		if at > len(text) {
			return
		}
		to := s.end(text, at, state)
		from := s.begin(text, pos, to)
		if from < to || from != last { // an empty match right behind another is none
			fn(from, to)
		}
		last = to
		if to > pos {
			pos = to
		} else {
			pos += max(1, runeLen(text[pos:]))
		}
	}
}

func runeLen(b []byte) int {
	_, n := utf8.DecodeRune(b)
	return n
}

// edgeAt returns the edge of the byte at i, which may be before or behind the text.
func edgeAt(text []byte, i int) edge {
	if i < 0 || i >= len(text) {
		return lineEdge
	}
	return edgeOf(text[i])
}

// scan continues from a state until a match has ended. It returns the index of the byte behind the match, and the
// state behind that byte. If no match ends, the index is behind the end of the text.
func (s *Searcher) scan(text []byte, i int, state uint32) (int, uint32) {
	t := s.forward
	classes := &t.p.classes
	for next := t.next; i < len(text); i++ {
		to := next[state+uint32(classes[text[i]])]
		if to >= marked {
			if to == unknown {
				to = t.step(state, classes[text[i]])
				next = t.next
			}
			if to >= marked {
				return i, to
			}
		}
		state = to
	}
	if i > len(text) || i > 0 && text[i-1] == '\n' {
		return len(text) + 1, 0 // no line begins there
	}
	if to := t.step(state, classes['\n']); to >= marked {
		return i, to
	}
	return len(text) + 1, 0
}

// end returns where the best match ends whose first end is before the byte at i; state is the one behind that byte.
func (s *Searcher) end(text []byte, i int, state uint32) int {
	t, to := s.forward, i
	for i < len(text) && text[i] != '\n' {
		if len(t.of(state).places) == 0 {
			break
		}
		i++
		class := t.p.classes['\n']
		if i < len(text) {
			class = t.p.classes[text[i]]
		}
		if state = t.step(state, class); state >= marked && t.of(state).matched {
			to = i
		}
	}
	return to
}

// begin returns where the first match begins that ends at to and does not begin before from.
func (s *Searcher) begin(text []byte, from, to int) int {
	t, begin := s.backward, to
	state := t.start(edgeAt(text, to))
	for i := to; i >= from; i-- {
		class := t.p.classes['\n']
		if i > 0 {
			class = t.p.classes[text[i-1]]
		}
		if state = t.step(state, class); state < marked {
			continue
		}
		if t.of(state).matched {
			begin = i
		}
		if len(t.of(state).places) == 0 {
			break
		}
	}
	return begin
}
