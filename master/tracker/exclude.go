package tracker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A worker that dies again and again does more harm than good: each time its work is done once more elsewhere. It gets
// no work for a while. A worker on which attempts of a job fail again and again gets no work from that job.

// A ban keeps a job off a node.
type ban struct {
	until time.Duration
	st    *stage
	node  topology.NodeID
}

// died counts a death of n and excludes n after too many of them, unless a third of the nodes would then be excluded:
// in that case the network or the master is to blame.
func (c *Tracker) died(now time.Duration, n *node) {
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

// excludedWhy returns why a node is excluded, or "" if it is not.
func (c *Tracker) excludedWhy(now time.Duration, n *node) string {
	if now >= n.excluded {
		return ""
	}
	return fmt.Sprintf("was taken for dead %d times in %s; gets nothing for another %s", len(n.deaths), c.cfg.Exclude, (n.excluded - now).Round(time.Second))
}

// restWhy returns why a node that is up takes no work (sick, excluded or draining), or "" if it takes work.
func (c *Tracker) restWhy(now time.Duration, n *node) string {
	switch {
	case n.sick != "":
		return "sick: " + n.sick
	case now < n.excluded:
		return "excluded: it " + c.excludedWhy(now, n)
	case n.draining:
		return "draining"
	}
	return ""
}

// tellRest tells the policies when a node stops or resumes taking work. While it takes none, its room does not count:
// else drivers would take the last room that is left, and deadlocks would not be seen.
func (c *Tracker) tellRest(now time.Duration, n *node) {
	rests := c.restWhy(now, n) != ""
	switch {
	case !n.up || rests == n.resting:
		return
	case rests:
		c.feed(now, scheduler.NodeDraining(n.id))
	default:
		c.feed(now, scheduler.NodeUp(n.id, n.room()))
	}
	n.resting = rests
}

// notServing names the nodes that are up and take no work, with the reasons.
func (c *Tracker) notServing(now time.Duration) string {
	var list []string
	for _, n := range c.nodes {
		if why := c.restWhy(now, n); n.up && why != "" {
			list = append(list, fmt.Sprintf("%s (%s)", n.name, why))
		}
	}
	if len(list) == 0 {
		return ""
	}
	more := ""
	if len(list) > maxResters {
		list, more = list[:maxResters], fmt.Sprintf(" and %d more", len(list)-maxResters)
	}
	return "; these nodes take no work: " + strings.Join(list, ", ") + more
}

// maxResters is how many nodes a sentence names.
const maxResters = 5

// avoid counts a failure and bans a node for a job once NodeFailures of its attempts have failed there. When all nodes,
// or more than one in oneIn, are banned, the job is to blame and avoid lifts the bans.
func (c *Tracker) avoid(now time.Duration, st *stage, n *node, oneIn int) {
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
	c.bans = append(c.bans, ban{now + c.cfg.Avoid, st, n.id})
	if st.banned++; st.banned*oneIn > up || st.banned == up {
		for _, m := range c.nodes {
			c.feed(now, scheduler.Unban(st.sid, m.id))
		}
		return
	}
	c.feed(now, scheduler.Ban(st.sid, n.id))
}

// leaveNode is avoid for a node that a job should leave at once.
func (c *Tracker) leaveNode(now time.Duration, st *stage, n *node) {
	if st.fails[n.id] < c.cfg.NodeFailures {
		st.fails[n.id] = c.cfg.NodeFailures - 1
		c.avoid(now, st, n, 3)
	}
}

// unban lifts bans whose time is over. Bans of ended stages are dropped.
func (c *Tracker) unban(now time.Duration) {
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
