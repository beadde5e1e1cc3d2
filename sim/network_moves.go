package sim

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim/flow"
)

// move is a transfer under way.
type move struct {
	task  *netTask // nil for a transfer to several reduces
	pair  *pairMove
	src   int32
	what  moveKind
	live  bool
	bytes float64
	cross bool
	ocs   bool
	id    flow.ID
}

type moveKind uint8

const (
	moveInput moveKind = iota
	moveShuffle
	moveOutput
	numMoves
)

// send begins a transfer, or completes it at once if it is too small to matter.
func (m *network) send(now time.Duration, v move, from, to flow.End) {
	v.cross = m.net.RackOf(from) != m.net.RackOf(to)
	v.ocs = v.ocs || m.elephant(v)
	if v.bytes <= m.cfg.Instant {
		m.count(&v)
		if v.task != nil && v.what == moveShuffle {
			v.task.busy[v.src] = false
		}
		return
	}
	at := m.slot()
	v.live = true
	if v.task != nil {
		v.task.flows++
	}
	m.moves[at] = v
	m.moves[at].id = m.net.Start(now, flow.Spec{From: from, To: to, Bytes: v.bytes, Optical: v.ocs, Tag: at})
}

// elephant reports whether a transfer is for the optical switch: shuffle between racks above the threshold
// (spec/jobpacker 3.1).
func (m *network) elephant(v move) bool {
	return v.cross && v.what == moveShuffle && m.cfg.Topology.OCS().Elephant(int64(v.bytes))
}

func (m *network) slot() int32 {
	if k := len(m.free); k > 0 {
		at := m.free[k-1]
		m.free = m.free[:k-1]
		return at
	}
	m.moves = append(m.moves, move{})
	return int32(len(m.moves) - 1)
}

// moved handles the end of a transfer.
func (m *network) moved(now time.Duration, at int32) {
	v := m.moves[at]
	m.moves[at] = move{}
	m.free = append(m.free, at)
	if !v.live {
		return
	}
	m.count(&v)
	if v.pair != nil {
		m.pairMoved(now, v.pair)
		return
	}
	t := v.task
	t.flows--
	switch {
	case v.what == moveInput:
		m.compute(now, t)
	case v.what == moveShuffle:
		m.fetched(now, t, v.src)
	case t.flows == 0:
		m.end(t)
	}
}

// count adds a transfer to the totals.
func (m *network) count(v *move) {
	side := 0
	if v.cross {
		side = 1
	}
	m.traffic.bytes[v.what][side] += v.bytes
	if v.ocs {
		m.traffic.Optical += v.bytes
	}
	if v.what == moveShuffle {
		j := v.pairJob()
		j.sent[side] += v.bytes
	}
}

func (v *move) pairJob() *netJob {
	if v.pair != nil {
		return v.pair.job
	}
	return v.task.job
}

// Stop ends an attempt and its transfers.
func (m *network) Stop(now time.Duration, a Attempt) {
	t := m.find(a)
	if t == nil {
		return
	}
	if t.flows > 0 {
		for at := range m.moves {
			v := &m.moves[at]
			if v.live && v.task == t {
				if m.net.Stop(now, v.id) {
					m.free = append(m.free, int32(at))
				} // else the place is free when the tag has come
				*v = move{}
			}
		}
	}
	if a.Task.Kind == scheduler.Reduce {
		t.job.forget(t)
	}
	m.drop(t)
}
