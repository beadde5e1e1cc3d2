package tracker

import (
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// markDead marks nodes as dead that were silent for too long while others reported. A master that hears no node at all
// is itself cut off, or was stopped. It then marks none as dead: no other node could take over their work, and their
// map output is still there when the cut heals.
func (c *Tracker) markDead(now time.Duration) {
	c.extendTimeouts(now)
	for _, n := range c.nodes {
		if n.up && c.silent(now, n) && c.outlived(n) {
			c.nodeDown(now, n, "silent")
		}
	}
}

// outlived reports whether another node was heard well after n was last heard: later by half the shortest time in which
// a node is taken for dead.
func (c *Tracker) outlived(n *node) bool {
	for _, m := range c.nodes {
		if m.heard > n.heard+c.cfg.Silence/6 {
			return true
		}
	}
	return false
}

// extendTimeouts does not count as silence the time in which no node was heard or this process did not run. Otherwise the
// first node to report after a cut would make all others look dead.
func (c *Tracker) extendTimeouts(now time.Duration) {
	last := c.newest
	for _, n := range c.nodes {
		last = max(last, n.heard)
	}
	gap := max(last-c.newest, now-c.ticked)
	c.newest, c.ticked = last, now
	if gap <= c.cfg.Silence/3 {
		return
	}
	for _, n := range c.nodes {
		n.heard, n.suspect = min(n.heard+gap, now), false
	}
}

// Suspect notes that gossip has given a worker up. The worker is taken for dead when it is silent as well.
func (c *Tracker) Suspect(name wire.NodeName, session string) {
	if n := c.byName[name]; n != nil && n.session == session {
		n.suspect = true
	}
}

// silent reports whether a node has been silent for too long: for a third of Silence if others cannot reach it either.
func (c *Tracker) silent(now time.Duration, n *node) bool {
	limit := c.cfg.Silence
	if n.suspect {
		limit /= 3
	}
	return now-n.heard > limit
}

// A Late worker should have reported by now.
type Late struct {
	Node          wire.NodeName
	Addr, Session string
}

// Overdue returns the workers that were not heard for that long and do not yet count as dead.
func (c *Tracker) Overdue(now, after time.Duration) (out []Late) {
	for _, n := range c.nodes {
		if n.up && now-n.heard > after {
			out = append(out, Late{n.name, n.addr, n.session})
		}
	}
	return out
}

// Loose notes that the connection of a worker broke. If the worker is restarted, it gets its name back at once.
func (c *Tracker) Loose(name wire.NodeName, session string) {
	if n := c.byName[name]; n != nil && n.session == session {
		n.loose = true
	}
}

// NodeGone notes that the process of a worker is gone: its connection broke and it did not come back, or its machine
// says that no process listens at its address.
func (c *Tracker) NodeGone(now time.Duration, name wire.NodeName, session, why string) {
	if n := c.byName[name]; n != nil && n.up && n.session == session {
		c.nodeDown(now, n, why)
	}
}

// nodeDown gives away what ran on a dead node. The node may come back with its map output: see giveUp.
func (c *Tracker) nodeDown(now time.Duration, n *node, why string) {
	n.up, n.downAt, n.keeps, n.complaints = false, now, map[*stage]bool{}, nil
	c.died(now, n)
	for _, a := range sortedAttempts(n.want) {
		c.detach(a)
		c.tellEnd(now, wire.PastLost, a, "node "+string(n.name)+" is gone: "+why, nil)
	}
	c.runsNothing(n)
	if err := c.engine.NodeLost(now, n.id, false, nil); err != nil {
		c.broken(now, err) // the node is known, so the engine has no reason to refuse
	}
	for _, st := range c.liveStages() {
		if st.hasOutputOn(n) {
			n.keeps[st] = true
		}
	}
	c.offerAll(now)
}
