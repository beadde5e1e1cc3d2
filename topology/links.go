package topology

import (
	"errors"
	"fmt"
	"time"
)

// A Rate is a link's speed in bytes per second.
type Rate float64

// Gbps converts gigabits per second, the usual unit of links, to a Rate.
func Gbps(g float64) Rate { return Rate(g * 1e9 / 8) }

// Mbps converts megabits per second to a Rate.
func Mbps(m float64) Rate { return Rate(m * 1e6 / 8) }

// String returns the rate in bits per second, as usual for links.
func (r Rate) String() string {
	switch bits := float64(r) * 8; {
	case bits >= 1e9:
		return fmt.Sprintf("%gGb/s", bits/1e9)
	case bits >= 1e6:
		return fmt.Sprintf("%gMb/s", bits/1e6)
	default:
		return fmt.Sprintf("%gb/s", bits)
	}
}

// Time returns how long bytes take at rate r, or 0 if the link is not modelled.
func (r Rate) Time(bytes int64) time.Duration {
	if r <= 0 {
		return 0
	}
	return time.Duration(float64(bytes) / float64(r) * float64(time.Second))
}

// An OCS is an optical circuit switch that joins each rack to at most one
// other at a time (spec/jobpacker 2.1). The zero value means there is none.
type OCS struct {
	Rate      Rate          // one circuit; 0 means no optical switch
	Interval  time.Duration // between reconfigurations; published 1 s
	Reconfig  time.Duration // dark time of a reconfiguration; published 10 ms
	Threshold int64         // bytes above which a flow may use a circuit; published 1.125 GB
}

// Present reports whether there is an optical switch.
func (o OCS) Present() bool { return o.Rate > 0 }

// Elephant reports whether that many bytes between two racks are worth a circuit (spec/jobpacker 3.1).
func (o OCS) Elephant(bytes int64) bool { return o.Present() && bytes > o.Threshold }

// Validate refuses an impossible switch.
func (o OCS) Validate() error {
	switch {
	case o.Rate < 0:
		return errors.New("optical switch: negative rate")
	case o.Rate > 0 && o.Interval <= 0:
		return errors.New("optical switch: the reconfiguration interval must be positive, 1s for example")
	case o.Reconfig < 0 || o.Reconfig >= max(o.Interval, 1) && o.Rate > 0:
		return fmt.Errorf("optical switch: dark time %v must be shorter than the interval %v", o.Reconfig, o.Interval)
	case o.Threshold < 0:
		return errors.New("optical switch: negative elephant threshold")
	}
	return nil
}

// A Distance is how far apart two nodes are, in switch hops: larger is farther.
type Distance int8

// The distances of a two-level tree.
const (
	SameNode Distance = 0
	SameRack Distance = 2
	OffRack  Distance = 4
)

// Distance returns how far apart a and b are. Unknown nodes are OffRack.
func (t *Topology) Distance(a, b NodeID) Distance {
	switch {
	case a == b && t.Has(a):
		return SameNode
	case t.Has(a) && t.Has(b) && t.rackOf[a] == t.rackOf[b]:
		return SameRack
	default:
		return OffRack
	}
}

// Oversubscription returns how many times the NICs of rack r together exceed its uplink, or 0 if either is not
// modelled.
func (t *Topology) Oversubscription(r RackID) float64 {
	var nics Rate
	for n := range t.NodesIn(r) {
		nics += t.nodes[n].NIC
	}
	if up := t.Rack(r).Uplink; up > 0 {
		return float64(nics / up)
	}
	return 0
}
