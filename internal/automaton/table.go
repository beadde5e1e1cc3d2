package automaton

import (
	"encoding/binary"
	"regexp/syntax"
)

// An edge is what precedes or follows a place in the text.
type edge uint8

const (
	lineEdge edge = iota // a newline, or the end of the text
	wordByte
	otherByte
)

func edgeOf(b byte) edge {
	switch {
	case b == '\n':
		return lineEdge
	case b >= '0' && b <= '9', b >= 'A' && b <= 'Z', b == '_', b >= 'a' && b <= 'z':
		return wordByte
	}
	return otherByte
}

const (
	// maxTable is how many bytes a table may take before it is made anew.
	maxTable = 256 << 10
	// stateBytes is the size of a state beside its row and its places.
	stateBytes = 128

	// A state's number is the index of its row in the table. marked says that the state has matched or that nothing
	// can follow.
	marked  uint32 = 1 << 31
	unknown uint32 = 1<<32 - 1
)

// A state is all that the text up to a byte determines about the rest.
type state struct {
	places  []nodeID // where the program can be, best first
	before  edge     // the last byte
	matched bool     // a match ended before the last byte
}

// A table holds the states that the text has needed so far.
type table struct {
	p      *program
	next   []uint32 // a row for each state: the number of the state behind each class of bytes
	states []state
	ids    map[string]uint32
	starts [3]uint32 // by the edge before the first byte
	used   int       // bytes
	made   int       // states, including discarded ones
	era    int       // how often the table was discarded

	list, stack []nodeID // what step works with
	seen        []uint32 // of each node: the round in which it was seen
	round       uint32
	key         []byte
}

func newTable(p *program) *table {
	t := &table{p: p, seen: make([]uint32, len(p.nodes))}
	t.clear()
	return t
}

func (t *table) clear() {
	t.next, t.states, t.used = t.next[:0], t.states[:0], 0
	t.era++
	t.ids = map[string]uint32{}
	t.starts = [3]uint32{unknown, unknown, unknown}
}

func (t *table) width() int { return len(t.p.example) }

// start returns the state at the beginning of a search.
func (t *table) start(before edge) uint32 {
	if t.starts[before] == unknown {
		t.starts[before] = t.number(state{places: []nodeID{t.p.start}, before: before})
	}
	return t.starts[before]
}

// of returns the state with a number.
func (t *table) of(s uint32) *state { return &t.states[int(s&^marked)/t.width()] }

// number returns the number of a state, which may be new. It discards the table if it is full.
func (t *table) number(s state) uint32 {
	if !t.p.looks {
		s.before = otherByte
	}
	t.key = append(t.key[:0], byte(s.before))
	if s.matched {
		t.key = append(t.key, 1)
	}
	for _, id := range s.places {
		t.key = binary.AppendUvarint(t.key, uint64(id)+2)
	}
	if id, ok := t.ids[string(t.key)]; ok {
		return id
	}
	cost := 4*t.width() + 4*len(s.places) + len(t.key) + stateBytes
	if t.used+cost > maxTable {
		t.clear()
	}
	t.used += cost
	t.made++
	id := uint32(len(t.next))
	if s.matched || len(s.places) == 0 {
		id |= marked
	}
	s.places = append([]nodeID(nil), s.places...)
	t.states = append(t.states, s)
	for range t.width() {
		t.next = append(t.next, unknown)
	}
	t.ids[string(t.key)] = id
	return id
}

// step returns the state behind a byte of a class.
func (t *table) step(from uint32, class uint8) uint32 {
	from &^= marked
	if to := t.next[from+uint32(class)]; to != unknown {
		return to
	}
	s, b := t.of(from), t.p.example[class]
	after := edgeOf(b)
	to := state{before: after}
	to.matched = t.follow(s.places, t.around(s.before, after))
	if b == '\n' && !t.p.backward {
		to.places = []nodeID{t.p.start} // of the next line
	} else {
		to.places = t.take(b)
	}
	era := t.era
	id := t.number(to)
	if t.era == era { // otherwise the row is gone
		t.next[from+uint32(class)] = id
	}
	return id
}

// around returns what holds between the last byte and the next one.
func (t *table) around(before, after edge) (op syntax.EmptyOp) {
	if t.p.backward {
		before, after = after, before
	}
	if before == lineEdge {
		op |= syntax.EmptyBeginLine
	}
	if after == lineEdge {
		op |= syntax.EmptyEndLine
	}
	if (before == wordByte) != (after == wordByte) {
		return op | syntax.EmptyWordBoundary
	}
	return op | syntax.EmptyNoWordBoundary
}

// follow lists the nodes that take a byte and can be reached from some places without one, best first. It reports
// whether the end of a match is among them. It drops what is worse than that end, unless the longest match is
// wanted.
func (t *table) follow(places []nodeID, holds syntax.EmptyOp) (matched bool) {
	t.list, t.stack = t.list[:0], t.stack[:0]
	t.round++
	for _, place := range places {
		t.stack = append(t.stack, place)
		for len(t.stack) > 0 {
			id := t.stack[len(t.stack)-1]
			t.stack = t.stack[:len(t.stack)-1]
			if t.seen[id] == t.round {
				continue
			}
			t.seen[id] = t.round
			switch n := &t.p.nodes[id]; n.kind {
			case nodeByte:
				t.list = append(t.list, id)
			case nodeSplit:
				t.stack = append(t.stack, n.alt, n.next)
			case nodeWhen:
				if n.when&^holds == 0 {
					t.stack = append(t.stack, n.next)
				}
			case nodeMatch:
				if matched = true; !t.p.backward {
					return true
				}
			}
		}
	}
	return matched
}

// take returns the places behind those nodes of the list that take a byte.
func (t *table) take(b byte) []nodeID {
	t.round++
	out := t.stack[:0]
	for _, id := range t.list {
		n := &t.p.nodes[id]
		if b >= n.lo && b <= n.hi && t.seen[n.next] != t.round {
			t.seen[n.next] = t.round
			out = append(out, n.next)
		}
	}
	return out
}
