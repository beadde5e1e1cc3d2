package cli

import (
	"fmt"
	"time"
)

// The limits of what can be simulated in the memory of a usual machine.
const (
	maxSimNodes = 100_000
	maxSimRoom  = 10_000_000 // containers of all nodes
	minSimRate  = 1e-6       // Gb/s
	maxSimRate  = 1e6
	minSimTime  = time.Millisecond // the shortest period
)

// blame returns an error that names the key and line of the file, or else the flag, to blame.
func (o *simOptions) blame(key, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if line, ok := o.keys[key]; ok {
		return fmt.Errorf("%s:%d: %s %w", o.file, line, key, err)
	}
	return fmt.Errorf("--%s %w", key, err)
}

// bounds refuses invalid clusters, and clusters that do not fit into memory.
func (o *simOptions) bounds() error {
	switch {
	case o.nodes < 1 || o.nodes > maxSimNodes:
		return o.blame("nodes", "is %d: give 1 to %d", o.nodes, maxSimNodes)
	case o.racks < 1 || o.racks > o.nodes || o.nodes%o.racks != 0 && o.more.Classes == nil:
		return o.blame(o.sayer("racks", "nodes", "racks"), "do not fit: %d nodes in %d racks; racks must be of equal size and not empty", o.nodes, o.racks)
	case o.containers < 1 || o.containers > maxRoom:
		return o.blame("containers", "is %d: give 1 to %d of a node", o.containers, maxRoom)
	case o.room() > maxSimRoom:
		return o.blame(o.sayer("classes", "containers", "nodes", "containers"), "are too many: %d nodes have room for %d tasks; there may be %d", o.nodes, o.room(), maxSimRoom)
	case !(o.load == 0 || o.load >= 0.001 && o.load <= 100):
		return o.blame("load", "is %v: give a share of the containers, such as 0.7, from 0.001 to 100", o.load)
	case !(o.scale > 0 && o.scale <= 1e6):
		return o.blame("scale", "is %v: give a factor above 0, at most 1000000", o.scale)
	case o.heartbeat != 0 && o.heartbeat < minSimTime:
		return o.blame("heartbeat", "is %v: give 0, or %v at least", o.heartbeat, minSimTime)
	case o.seeds < 1 || o.seeds > 1000:
		return o.blame("seeds", "is %d: give 1 to 1000", o.seeds)
	}
	return o.networkBounds()
}

func (o *simOptions) networkBounds() error {
	n := &o.network
	for _, r := range []struct {
		key  string
		rate float64
	}{{"uplink", n.uplink}, {"nic", n.nic}, {"circuit", n.circuit}} {
		if !(r.rate == 0 || r.rate >= minSimRate && r.rate <= maxSimRate) {
			return o.blame(r.key, "is %v: give Gb/s from %g to %g, or 0 for none", r.rate, minSimRate, maxSimRate)
		}
		if r.rate > 0 && !n.on() {
			return o.blame(r.key, "is %v: it needs an uplink, the Gb/s of a rack's link", r.rate)
		}
	}
	if n.tick > 0 && n.tick < minSimTime {
		return o.blame(o.sayer("net_tick", "net-tick"), "is %v: give 0, or %v at least", n.tick, minSimTime)
	}
	if n.copies < 0 || n.copies > 2 {
		return o.blame(o.sayer("write_copies", "write-copies"), "is %d: give 0 to 2", n.copies)
	}
	return nil
}

// sayer returns the first of the keys that the file has, else the last.
func (o *simOptions) sayer(keys ...string) string {
	for _, k := range keys {
		if _, ok := o.keys[k]; ok {
			return k
		}
	}
	return keys[len(keys)-1]
}
