package netmon

import (
	"iter"
	"time"

	"github.com/millrace/millrace/topology"
)

// Rack returns what is known of rack r's link to the core.
func (m *Monitor) Rack(r topology.RackID) Rack {
	if r < 0 || int(r) >= len(m.racks) {
		return Rack{}
	}
	return m.racks[r]
}

// Node returns what is known of node n's card.
func (m *Monitor) Node(n topology.NodeID) Link {
	if n < 0 || int(n) >= len(m.nodes) {
		return Link{}
	}
	return m.nodes[n]
}

// Racks yields every rack.
func (m *Monitor) Racks() iter.Seq2[topology.RackID, Rack] {
	return func(yield func(topology.RackID, Rack) bool) {
		for r := range m.racks {
			if !yield(topology.RackID(r), m.racks[r]) {
				return
			}
		}
	}
}

// Sent returns the bytes sent from rack a to rack b since the start; a == b is
// traffic that stayed in the rack, traffic inside a node included.
func (m *Monitor) Sent(a, b topology.RackID) int64 {
	if a < 0 || b < 0 || int(a) >= m.side || int(b) >= m.side {
		return 0
	}
	return m.matrix[int(a)*m.side+int(b)]
}

// A Summary adds up the whole cluster.
type Summary struct {
	CrossRack int64         // bytes between racks
	InRack    int64         // bytes that stayed in their rack
	Episodes  int           // congestion occurrences (spec/nas 3.3)
	Congested time.Duration // rack-seconds
	Racks     int           // congested now
}

// Summary returns the totals since the start.
func (m *Monitor) Summary() Summary {
	var s Summary
	for a := range m.side {
		for b := range m.side {
			if a == b {
				s.InRack += m.matrix[a*m.side+b]
			} else {
				s.CrossRack += m.matrix[a*m.side+b]
			}
		}
	}
	for r := range m.racks {
		s.Episodes += m.racks[r].Episodes
		s.Congested += m.racks[r].Total
		if m.racks[r].Congested {
			s.Racks++
		}
	}
	return s
}
