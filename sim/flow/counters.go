package flow

import (
	"time"

	"github.com/millrace/millrace/topology"
)

// Totals are bytes since the start.
type Totals struct {
	InRack    float64 // bytes that stayed in their rack, inside nodes included
	CrossRack float64
	Optical   float64 // those of CrossRack that used circuits
	Flows     int64   // ended
}

// count adds bytes that a flow has sent. Flows in progress are not counted yet.
func (n *Network) count(f *flow, bytes float64) {
	if f.from >= 0 && f.to >= 0 {
		n.matrix[int(f.from)*n.links.racks+int(f.to)] += bytes
	}
	n.totals.Flows++
	switch {
	case f.from == f.to:
		n.totals.InRack += bytes
		return
	case f.optical:
		n.totals.Optical += bytes
	}
	n.totals.CrossRack += bytes
}

// Totals returns what ended flows have sent.
func (n *Network) Totals() Totals { return n.totals }

// Sent returns the bytes that ended flows took from rack a to rack b.
func (n *Network) Sent(a, b topology.RackID) float64 {
	return n.matrix[int(a)*n.links.racks+int(b)]
}

// RackBytes returns the bytes that have crossed a rack's link to the packet network's
// core by now, which is not after Next.
func (n *Network) RackBytes(now time.Duration, r topology.RackID) (up, down float64) {
	return n.linkBytes(now, n.links.up(r)), n.linkBytes(now, n.links.down(r))
}

func (n *Network) linkBytes(now time.Duration, l int32) float64 {
	return n.links.moved[l] + n.links.load[l]*max(0, now-n.now).Seconds()
}

// Flows returns how many flows of the packet network are under way, and in how many
// classes.
func (n *Network) Flows() (flows, classes int) { return n.live, len(n.active) }

// Rate returns the bytes a second that a flow of the packet network has now; 0 if it has
// ended, or has not begun.
func (n *Network) Rate(id ID) float64 {
	f := &n.flows[id.slot]
	if f.gen != id.gen || !f.live || f.optical || !f.begun {
		return 0
	}
	return n.rates[f.class]
}

// RackOf returns the rack that an end is in.
func (n *Network) RackOf(e End) topology.RackID { return n.rackOf(e) }
