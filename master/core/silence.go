package core

import "time"

// bury takes nodes for dead that have said nothing for too long while others spoke. A master that hears
// nobody is cut off itself, or was stopped: then nobody's work is given away, as there is nobody to give it
// to, and map output is not lost that all will have when the cut heals.
func (c *Core) bury(now time.Duration) {
	c.forgive(now)
	for _, n := range c.nodes {
		if n.up && c.silent(now, n) && c.outlived(n) {
			c.nodeDown(now, n, "silent")
		}
	}
}

// outlived reports whether somebody was heard well after the last word of n: half the shortest time in which a
// node is taken for dead.
func (c *Core) outlived(n *node) bool {
	for _, m := range c.nodes {
		if m.heard > n.heard+c.cfg.Silence/6 {
			return true
		}
	}
	return false
}

// forgive gives everybody the time back in which nobody was heard, or this process did not run. Otherwise the
// first to come back after a cut would be the death of all others.
func (c *Core) forgive(now time.Duration) {
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
