package tracker

import (
	"encoding/binary"
	"time"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// A taskPacker writes finished tasks of one kind for a snapshot:
//
//	nodes: how many, then name and rack of each
//	entries: how many, then each as
//	    index and try, as differences to the entry before
//	    4 and the sum of the last output, if the result does not count any more; else 3, node, milliseconds, bytes in
//	    and out, when it came, in milliseconds, and the sum (masters before wrote 0 without the sum, 2 without it, and
//	    1 without the time, too)
type taskPacker struct {
	c       *Tracker
	nodes   []byte
	numbers map[topology.NodeID]uint64
	entries []byte
	n       uint64
	index   int32
	try     uint64
}

func (p *taskPacker) entry(index int32, try uint64, t *task, counts bool) {
	p.entries = binary.AppendVarint(p.entries, int64(index-p.index))
	p.entries = binary.AppendVarint(p.entries, int64(try-p.try))
	p.index, p.try, p.n = index, try, p.n+1
	if !counts {
		p.entries = binary.AppendUvarint(append(p.entries, 4), t.sum)
		return
	}
	p.entries = binary.AppendUvarint(append(p.entries, 3), p.node(t.node))
	p.entries = binary.AppendVarint(p.entries, int64(t.millis))
	p.entries = binary.AppendVarint(binary.AppendVarint(p.entries, t.in), t.out)
	p.entries = binary.AppendUvarint(binary.AppendVarint(p.entries, t.at.Milliseconds()), t.sum)
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
			p.nodes = codec.AppendText(p.nodes, s)
		}
	}
	return n
}

// take returns what was packed and starts afresh.
func (p *taskPacker) take() []byte {
	out := append(binary.AppendUvarint(nil, uint64(len(p.numbers))), p.nodes...)
	out = append(binary.AppendUvarint(out, p.n), p.entries...)
	*p = taskPacker{c: p.c}
	return out
}

// applyTasks applies what a taskPacker wrote. It leaves out what it does not understand: those tasks run again.
func (c *Tracker) applyTasks(st *stage, kind wire.TaskKind, packed []byte) {
	r := codec.NewReader(packed)
	nodes := make([]*node, r.Count())
	for i := range nodes {
		name, rack := wire.NodeName(r.Bytes()), r.Text()
		if nodes[i] = c.nodeNamed(name, rack, ""); nodes[i] == nil {
			return
		}
	}
	set := st.tasks(kind)
	var index int64
	var try uint64
	for range r.Count() {
		index, try = index+r.Int(), try+uint64(r.Int())
		t, counts, ok := readTask(&r, try, nodes)
		if !ok || r.Bad() || index < 0 || index >= int64(len(set)) {
			return
		}
		if kind == wire.MapTask {
			st.changes = append(st.changes, change{index: int32(index), try: try})
		}
		if counts && set[index].try == 0 {
			st.doneCount[kindIndex(kind)]++
			fresh := t
			fresh.counted, fresh.sum = set[index].counted, set[index].sum
			set[index] = fresh
		}
		st.putOut(kind, int32(index), t.sum)
		set[index].counted = set[index].counted || try != 0
	}
}

// readTask reads what is known of one attempt, and whether its result counts.
func readTask(r *codec.Reader, try uint64, nodes []*node) (t task, counts, ok bool) {
	switch form := r.Uint(); form {
	case 1, 2, 3:
		n := r.Uint()
		t = task{try: try, millis: int32(r.Int()), in: r.Int(), out: r.Int()}
		if form > 1 {
			t.at = time.Duration(r.Int()) * time.Millisecond
		}
		if form > 2 {
			t.sum = r.Uint()
		}
		if n >= uint64(len(nodes)) {
			return t, false, false
		}
		t.node = nodes[n].id
		return t, true, true
	case 4:
		t.sum = r.Uint()
	}
	return t, false, true
}
