package tracker

import (
	"fmt"
	"time"
)

// comeBackIn handles a worker that comes back in another rack. Policies and jobs count by rack: while there are jobs,
// the worker stays in its old one.
func (c *Tracker) comeBackIn(now time.Duration, n *node, rack string) {
	switch {
	case n.rack == rack:
	case len(c.stages) == 0:
		c.out.Notes = append(c.out.Notes, fmt.Sprintf("worker %s is in rack %s now, no longer in %s", n.name, rack, n.rack))
		if n.up {
			n.up = false // it comes up again there
			if err := c.engine.NodeLost(now, n.id, false, nil); err != nil {
				c.broken(now, err)
			}
		}
		c.move(now, n, rack)
	case n.asked != rack:
		n.asked = rack
		c.out.Notes = append(c.out.Notes, fmt.Sprintf("worker %s has come back in rack %s: it counts as one of %s while there are jobs", n.name, rack, n.rack))
	}
}

// move puts a worker that is not up into another rack. The policies must know no job.
func (c *Tracker) move(now time.Duration, n *node, rack string) {
	if n.rack == rack || c.topo.SetRack(n.id, c.rackNamed(rack)) != nil {
		return
	}
	n.rack, n.asked = rack, ""
	c.engine.NodeKnown(now, n.id)
}

// isOf notes the class of a node: the journal does not say it.
func (c *Tracker) isOf(now time.Duration, n *node, class string) {
	if n.class == class || c.topo.SetClass(n.id, class) != nil {
		return
	}
	n.class = class
	c.engine.NodeKnown(now, n.id)
}
