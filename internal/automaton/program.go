package automaton

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A nodeID is the index of a node in a program.
type nodeID = uint32

type nodeKind uint8

const (
	nodeFail  nodeKind = iota
	nodeByte           // takes one byte from lo to hi
	nodeSplit          // continues at next or, as second choice, at alt
	nodeWhen           // continues if the surroundings satisfy when
	nodeMatch
)

type node struct {
	kind      nodeKind
	lo, hi    byte
	when      syntax.EmptyOp
	next, alt nodeID
}

// maxNodes is the size limit of a program: a step to a new state visits all its nodes.
const maxNodes = 2000

// A program is a regular expression over bytes. It does not change once made.
type program struct {
	nodes    []node
	start    nodeID
	backward bool       // the text is read from its end, and the longest match is wanted, not the best
	looks    bool       // the surroundings of a place matter
	classes  [256]uint8 // no node distinguishes bytes of one class
	example  []byte     // one byte of each class
}

// compile makes a program from a simplified tree, unless it would be too large.
func compile(re *syntax.Regexp, backward bool) (*program, bool) {
	code, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, false
	}
	b := builder{p: &program{backward: backward}, known: map[node]nodeID{}}
	b.p.nodes = make([]node, len(code.Inst))
	for i := range code.Inst {
		b.instruction(nodeID(i), &code.Inst[i])
		if len(b.p.nodes) > maxNodes {
			return nil, false
		}
	}
	b.p.start = nodeID(code.Start)
	if !backward {
		b.loop()
	}
	b.p.classify()
	return b.p, true
}

// A builder makes a program. Nodes that are not instructions are shared by value, so that sequences of bytes share
// their ends.
type builder struct {
	p     *program
	known map[node]nodeID
}

func (b *builder) add(n node) nodeID {
	id, ok := b.known[n]
	if !ok {
		id = nodeID(len(b.p.nodes))
		b.p.nodes = append(b.p.nodes, n)
		b.known[n] = id
	}
	return id
}

func (b *builder) instruction(id nodeID, in *syntax.Inst) {
	n := node{next: in.Out}
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		n.kind, n.alt = nodeSplit, in.Arg
	case syntax.InstCapture, syntax.InstNop:
		n.kind, n.alt = nodeSplit, in.Out
	case syntax.InstEmptyWidth:
		n.kind, n.when = nodeWhen, syntax.EmptyOp(in.Arg)
		b.p.looks = true
	case syntax.InstMatch:
		n.kind = nodeMatch
	case syntax.InstFail:
		n.kind = nodeFail
	default:
		n = b.runes(rangesOf(in), in.Out)
	}
	b.p.nodes[id] = n
}

// loop lets a match begin after any number of runes, as a worse choice than beginning at once.
func (b *builder) loop() {
	id := nodeID(len(b.p.nodes))
	b.p.nodes = append(b.p.nodes, node{}, node{})
	b.p.nodes[id+1] = b.runes([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}, id)
	b.p.nodes[id] = node{kind: nodeSplit, next: b.p.start, alt: id + 1}
	b.p.start = id
}

// rangesOf returns the runes that an instruction takes, as pairs of first and last.
func rangesOf(in *syntax.Inst) (out []rune) {
	switch {
	case in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}
	case len(in.Rune) != 1:
		return in.Rune
	}
	r := in.Rune[0] // of a literal
	out = append(out, r, r)
	if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			out = append(out, f, f)
		}
	}
	return out
}

// runes returns a node that takes a rune in some ranges, as bytes, and continues at next.
func (b *builder) runes(ranges []rune, next nodeID) (n node) {
	for i := 0; i+1 < len(ranges) && len(b.p.nodes) <= maxNodes; i += 2 {
		eachSequence(ranges[i], ranges[i+1], func(seq [][2]byte) {
			if b.p.backward {
				slices.Reverse(seq)
			}
			after := next
			for _, r := range slices.Backward(seq[1:]) {
				after = b.add(node{kind: nodeByte, lo: r[0], hi: r[1], next: after})
			}
			first := node{kind: nodeByte, lo: seq[0][0], hi: seq[0][1], next: after}
			if n.kind == nodeFail {
				n = first
			} else {
				n = node{kind: nodeSplit, next: b.add(n), alt: b.add(first)}
			}
		})
	}
	return n
}

const (
	surrogateMin = 0xD800
	surrogateMax = 0xDFFF
)

// eachSequence calls fn with sequences of byte ranges that together are the UTF-8 of all runes from lo to hi.
func eachSequence(lo, hi rune, fn func(seq [][2]byte)) {
	cut := func(last rune) { // behind this rune the bytes have another form
		eachSequence(lo, last, fn)
		eachSequence(last+1, hi, fn)
	}
	switch {
	case lo > hi || lo >= surrogateMin && hi <= surrogateMax: // no text has half a surrogate pair
		return
	case lo < surrogateMin && hi >= surrogateMin:
		cut(surrogateMin - 1)
		return
	case lo <= surrogateMax && hi > surrogateMax:
		cut(surrogateMax)
		return
	}
	for _, last := range []rune{0x7F, 0x7FF, 0xFFFF} {
		if lo <= last && last < hi {
			cut(last)
			return
		}
	}
	for low := rune(0x3F); low < utf8.MaxRune; low = low<<6 | 0x3F { // the bits of the last bytes
		switch {
		case hi < utf8.RuneSelf || lo&^low == hi&^low:
		case lo&low != 0:
			cut(lo | low)
			return
		case hi&low != low:
			cut(hi&^low - 1)
			return
		}
	}
	first, last := utf8.AppendRune(nil, lo), utf8.AppendRune(nil, hi)
	seq := make([][2]byte, len(first))
	for i := range seq {
		seq[i] = [2]byte{first[i], last[i]}
	}
	fn(seq)
}

// classify finds the bytes that no node distinguishes. The newline, which no node takes, is a class of its own.
func (p *program) classify() {
	var begins [257]bool // of a class
	mark := func(lo, hi byte) { begins[lo], begins[int(hi)+1] = true, true }
	mark('\n', '\n')
	for _, n := range p.nodes {
		if n.kind == nodeByte {
			mark(n.lo, n.hi)
		}
	}
	if p.looks {
		mark('0', '9')
		mark('A', 'Z')
		mark('_', '_')
		mark('a', 'z')
	}
	p.example = []byte{0}
	for i := 1; i < 256; i++ {
		if begins[i] {
			p.example = append(p.example, byte(i))
		}
		p.classes[i] = uint8(len(p.example) - 1)
	}
}

// reversed returns the expression for text read from its end.
func reversed(re *syntax.Regexp) *syntax.Regexp {
	r := *re
	r.Rune, r.Sub = slices.Clone(re.Rune), make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		r.Sub[i] = reversed(sub)
	}
	switch re.Op {
	case syntax.OpConcat:
		slices.Reverse(r.Sub)
	case syntax.OpLiteral:
		slices.Reverse(r.Rune)
	}
	return &r
}
