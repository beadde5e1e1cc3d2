package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A worker that is taken for dead again and again does more harm than good: what it has done is done once more elsewhere
// each time. It gets nothing for a while. So does a worker on which attempts of a job fail again and again, from that job.

// A ban keeps a job off a node.
type ban struct {
	until time.Duration
	st    *stage
	node  topology.NodeID
}

// died counts a death of n and excludes it if there were too many lately, unless that is true of a third of the nodes:
// then it is the network, or the master, and not they.
func (c *Core) died(now time.Duration, n *node) {
	n.deaths = slices.DeleteFunc(n.deaths, func(at time.Duration) bool { return now-at > c.cfg.Exclude })
	n.deaths = append(n.deaths, now)
	if len(n.deaths) < c.cfg.Deaths {
		return
	}
	others := 0
	for _, m := range c.nodes {
		if m != n && now < m.excluded {
			others++
		}
	}
	if 3*(others+1) <= len(c.nodes) {
		n.excluded = now + c.cfg.Exclude
	}
}

// excludedWhy says why a node gets nothing, empty if that is not so.
func (c *Core) excludedWhy(now time.Duration, n *node) string {
	if now >= n.excluded {
		return ""
	}
	return fmt.Sprintf("was taken for dead %d times in %s; gets nothing for another %s", len(n.deaths), c.cfg.Exclude, (n.excluded - now).Round(time.Second))
}

// takes reports whether n may be given work.
func (n *node) takes(now time.Duration) bool {
	return n.up && n.sick == "" && now >= n.excluded
}

// avoid bans a node for a job on which its attempts fail again and again, unless that is true of one in so many
// nodes: then the job is bad, not they.
func (c *Core) avoid(now time.Duration, st *stage, n *node, oneIn int) {
	st.fails[n.id]++
	if st.fails[n.id] != c.cfg.NodeFailures {
		return
	}
	up := 0
	for _, m := range c.nodes {
		if m.up {
			up++
		}
	}
	if st.banned++; st.banned*oneIn > up || st.banned == up {
		for _, m := range c.nodes {
			c.feed(now, scheduler.Unban(st.sid, m.id))
		}
		return
	}
	c.feed(now, scheduler.Ban(st.sid, n.id))
	c.bans = append(c.bans, ban{now + c.cfg.Avoid, st, n.id})
}

// shun is avoid for a node that a job should leave at once.
func (c *Core) shun(now time.Duration, st *stage, n *node) {
	if st.fails[n.id] < c.cfg.NodeFailures {
		st.fails[n.id] = c.cfg.NodeFailures - 1
		c.avoid(now, st, n, 3)
	}
}

// unban ends bans whose time is over. Those of stages that have ended have nothing left to end.
func (c *Core) unban(now time.Duration) {
	for len(c.bans) > 0 && now >= c.bans[0].until {
		b := c.bans[0]
		c.bans = c.bans[1:]
		if c.stages[b.st.sid] != b.st {
			continue
		}
		b.st.banned--
		b.st.fails[b.node] = 0
		c.feed(now, scheduler.Unban(b.st.sid, b.node))
	}
}
