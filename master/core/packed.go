package core

import (
	"encoding/binary"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// A reader takes numbers and texts off the front of packed bytes. Behind the first thing that is not
// there bad is set and everything is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads how many things follow: never more than there are bytes.
func (r *reader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return 0
	}
	return int(n)
}

// text returns the bytes behind their length.
func (r *reader) text() []byte {
	n := r.count()
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

// A taskPacker writes finished tasks of one kind for a snapshot:
//
//	nodes: how many, then name and rack of each
//	entries: how many, then each as
//	    index and try, as differences to the entry before
//	    0, if the result does not count any more; else 1, node, milliseconds, bytes in and out
type taskPacker struct {
	c       *Core
	nodes   []byte
	numbers map[topology.NodeID]uint64
	entries []byte
	n       uint64
	index   int32
	try     uint64
}

func (p *taskPacker) entry(index int32, try uint64, t *task) {
	p.entries = binary.AppendVarint(p.entries, int64(index-p.index))
	p.entries = binary.AppendVarint(p.entries, int64(try-p.try))
	p.index, p.try, p.n = index, try, p.n+1
	if t == nil {
		p.entries = append(p.entries, 0)
		return
	}
	p.entries = binary.AppendUvarint(append(p.entries, 1), p.node(t.node))
	p.entries = binary.AppendVarint(p.entries, int64(t.millis))
	p.entries = binary.AppendVarint(binary.AppendVarint(p.entries, t.in), t.out)
}

func (p *taskPacker) node(id topology.NodeID) uint64 {
	n, ok := p.numbers[id]
	if !ok {
		if p.numbers == nil {
			p.numbers = map[topology.NodeID]uint64{}
		}
		n = uint64(len(p.numbers))
		p.numbers[id] = n
		for _, s := range []string{string(p.c.nodes[id].name), p.c.nodes[id].rack} {
			p.nodes = append(binary.AppendUvarint(p.nodes, uint64(len(s))), s...)
		}
	}
	return n
}

// take returns what was packed and starts anew.
func (p *taskPacker) take() []byte {
	out := append(binary.AppendUvarint(nil, uint64(len(p.numbers))), p.nodes...)
	out = append(binary.AppendUvarint(out, p.n), p.entries...)
	*p = taskPacker{c: p.c}
	return out
}

// applyTasks takes in what a taskPacker wrote. What is not understood is left out: its tasks run again.
func (c *Core) applyTasks(st *stage, kind wire.TaskKind, packed []byte) {
	r := reader{b: packed}
	nodes := make([]*node, r.count())
	for i := range nodes {
		name, rack := wire.NodeName(r.text()), string(r.text())
		if nodes[i] = c.nodeNamed(name, rack, ""); nodes[i] == nil {
			return
		}
	}
	set := st.tasks(kind)
	var index int64
	var try uint64
	for range r.count() {
		index, try = index+r.varint(), try+uint64(r.varint())
		var t *task
		if r.uvarint() == 1 {
			n := r.uvarint()
			t = &task{try: try, millis: int32(r.varint()), in: r.varint(), out: r.varint()}
			if n >= uint64(len(nodes)) {
				return
			}
			t.node = nodes[n].id
		}
		if r.bad || index < 0 || index >= int64(len(set)) {
			return
		}
		if kind == wire.MapTask {
			st.changes = append(st.changes, change{int32(index), try})
		}
		if t != nil && set[index].try == 0 {
			t.counted = set[index].counted
			set[index] = *t
			st.doneCount[kindIndex(kind)]++
		}
		set[index].counted = set[index].counted || try != 0
	}
}
