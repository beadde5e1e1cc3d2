package sim

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim/flow"
	"github.com/millrace/millrace/topology"
)

// A Gate reports whether ready map output of a job may now go from one rack to another: it is scheduler.ShuffleGate
// with the view filled in.
type Gate func(now time.Duration, j scheduler.JobID, src, dst topology.RackID, avail int64) bool

// Gated is a model that holds transfers back as a gate says. Ask makes it ask the gate again for what it holds.
type Gated interface {
	SetGate(g Gate)
	Ask(now time.Duration)
}

// pairBook is what a job has sent between racks if the reduces of a rack fetch together.
type pairBook struct {
	racks  int
	placed [][]*netTask // by destination: reduces that fetch
	open   []*pairMove  // by pair: the transfer under way
	held   bool         // the gate holds back something that is ready
}

// pairMove is one transfer for several reduces.
type pairMove struct {
	job   *netJob
	pair  int
	parts []*netTask // one entry for each share of each reduce
	tries []uint32
	at    int32 // in network.moves
}

// SetGate implements Gated.
func (m *network) SetGate(g Gate) { m.gate = g }

// Ask implements Gated.
func (m *network) Ask(now time.Duration) {
	if !m.cfg.Pairs {
		return
	}
	for _, j := range m.holding {
		if j.pairs != nil && j.pairs.held {
			m.offerAll(now, j)
		}
	}
	m.holding = slices.DeleteFunc(m.holding, func(j *netJob) bool { return !j.pairs.held })
}

// place adds a reduce that begins to fetch and offers it what is ready.
func (m *network) place(now time.Duration, t *netTask) {
	j := t.job
	if j.pairs == nil {
		k := m.cfg.Topology.NumRacks()
		j.pairs = &pairBook{racks: k, placed: make([][]*netTask, k), open: make([]*pairMove, k*k)}
	}
	dst := m.cfg.Topology.RackOf(t.a.Node)
	j.pairs.placed[dst] = append(j.pairs.placed[dst], t)
	for _, src := range j.from {
		m.offerPair(now, j, topology.RackID(src), dst)
	}
}

func (b *pairBook) forget(t *netTask) {
	for dst := range b.placed {
		if i := slices.Index(b.placed[dst], t); i >= 0 {
			b.placed[dst] = slices.Delete(b.placed[dst], i, i+1)
			return
		}
	}
}

func (m *network) offerFrom(now time.Duration, j *netJob, src int32) {
	for dst := range m.cfg.Topology.NumRacks() {
		m.offerPair(now, j, topology.RackID(src), topology.RackID(dst))
	}
}

func (m *network) offerAll(now time.Duration, j *netJob) {
	if j.pairs == nil {
		return
	}
	j.pairs.held = false
	for _, src := range j.from {
		m.offerFrom(now, j, src)
	}
}

// offerPair sends what is ready on one rack for the reduces of another, if the gate allows it.
func (m *network) offerPair(now time.Duration, j *netJob, src, dst topology.RackID) {
	if j.pairs == nil || len(j.pairs.placed[dst]) == 0 {
		return
	}
	bytes := 0.0
	for _, t := range j.pairs.placed[dst] {
		bytes += j.ready[src] - t.got[src]
	}
	if bytes <= 0 {
		return
	}
	if src != dst && m.gate != nil && !m.gate(now, j.job.Spec.ID, src, dst, int64(bytes)) {
		if !j.pairs.held {
			j.pairs.held = true
			if !slices.Contains(m.holding, j) {
				m.holding = append(m.holding, j)
			}
		}
		return
	}
	m.sendPair(now, j, src, dst, bytes)
}

// sendPair begins a transfer, or adds to the one under way.
func (m *network) sendPair(now time.Duration, j *netJob, src, dst topology.RackID, bytes float64) {
	pair := int(src)*j.pairs.racks + int(dst)
	p := j.pairs.open[pair]
	fresh := p == nil || !m.joins(p, src, dst, bytes) || !m.net.Extend(now, m.moves[p.at].id, bytes)
	if fresh {
		p = &pairMove{job: j, pair: pair}
	} else {
		m.moves[p.at].bytes += bytes
	}
	for _, t := range j.pairs.placed[dst] {
		if t.got[src] < j.ready[src] {
			t.got[src] = j.ready[src]
			t.flows++
			p.parts, p.tries = append(p.parts, t), append(p.tries, t.a.Try)
		}
	}
	if !fresh {
		return
	}
	v := move{pair: p, what: moveShuffle, bytes: bytes, cross: src != dst, live: true}
	v.ocs = m.elephant(v)
	j.pairs.open[pair] = p
	p.at = m.slot()
	m.moves[p.at] = v
	m.moves[p.at].id = m.net.Start(now, flow.Spec{From: flow.Rack(src), To: flow.Rack(dst), Bytes: bytes, Optical: v.ocs, Tag: p.at})
}

// joins reports whether bytes may join a transfer: elephants join elephants, and mice join mice (spec/jobpacker 5, item
// 9).
func (m *network) joins(p *pairMove, src, dst topology.RackID, bytes float64) bool {
	return m.moves[p.at].ocs == m.elephant(move{what: moveShuffle, cross: src != dst, bytes: bytes})
}

// pairMoved handles the end of a transfer: its reduces have their shares.
func (m *network) pairMoved(now time.Duration, p *pairMove) {
	book := p.job.pairs
	if book.open[p.pair] == p {
		book.open[p.pair] = nil
	}
	src, dst := p.pair/book.racks, p.pair%book.racks
	for i, t := range p.parts {
		if t.a.Try == p.tries[i] {
			t.flows--
		}
	}
	if p.job.done || p.job.ready[src]-p.job.told[src] >= p.job.part {
		m.offerPair(now, p.job, topology.RackID(src), topology.RackID(dst))
	}
	for i, t := range p.parts {
		if t.a.Try == p.tries[i] && t.job == p.job {
			m.tryReduce(now, t)
		}
	}
}
