package tracker

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// A reduce that cannot fetch a map's output complains, again and again. An output that arrived twice with a wrong
// checksum is bad, whoever says so, and its map runs again at once. That a source cannot be reached may be the reduce's
// own trouble, so several reduces have to say it. But each of them may wait for another map, and then no output ever has
// several complainers: so whoever complains for as long as Config.FetchPatience is believed alone. The map runs again if
// reduces on other nodes have trouble with the source too, or if there is no other node; else the reduce moves.

// A trouble is an output that reduces could not fetch.
type trouble struct {
	by   map[wire.AttemptID]stretchOfTime
	last wire.BadFetch
}

// A stretchOfTime is when a reduce complained first and last.
type stretchOfTime struct{ first, last time.Duration }

// complaint handles a reduce's report that it cannot fetch a map's output. If the reduce could not reach the node, the
// node may just have died: then this output is not lost, and the node may bring it back. So the complaint waits for the
// node's next report.
func (c *Tracker) complaint(now time.Duration, b wire.BadFetch) {
	st := c.stageOf(b.Map)
	if !b.Unreached || st == nil || !st.counts(b.Map) {
		c.badFetch(now, b)
		return
	}
	if n := c.nodes[st.maps[b.Map.Index].node]; !n.up {
		c.badFetch(now, b)
	} else if len(n.complaints) < maxComplaints {
		n.complaints = append(n.complaints, b)
	}
}

// maxComplaints bounds the complaints about one node. More would say the same, and a reduce that still has trouble says
// so again.
const maxComplaints = 1000

// settleComplaints acts on the complaints about a node that has just reported.
func (c *Tracker) settleComplaints(now time.Duration, n *node) {
	list := n.complaints
	n.complaints = nil
	for _, b := range list {
		c.badFetch(now, b)
	}
}

// counts reports whether an attempt of a map is the one whose output counts.
func (st *stage) counts(id wire.AttemptID) bool {
	return id.Index >= 0 && int(id.Index) < len(st.maps) && st.maps[id.Index].try != 0 && st.maps[id.Index].try == id.Try
}

// badFetch acts on a complaint. Right after a restart the master does not know yet who is dead and how many reduces
// there are; a reduce that still fails reports again.
func (c *Tracker) badFetch(now time.Duration, b wire.BadFetch) {
	st := c.stageOf(b.Map)
	if now < c.graceEnd || st == nil || !st.counts(b.Map) {
		return
	}
	n := c.nodes[st.maps[b.Map.Index].node]
	if b.Addr != "" && b.Addr != n.addr || !n.up && n.keeps[st] {
		return // the output has moved, or giveUp will handle it
	}
	t := c.noteTrouble(now, st, n, b)
	switch {
	case len(t.by) >= c.cfg.FetchFailures, 2*len(t.by) >= int(st.busy[1]), !n.up:
		if b.Slow {
			c.leaveNode(now, st, n)
		}
		c.loseOutput(now, st, b.Map.Index, fmt.Sprintf("%d reduces could not fetch it: %s", len(t.by), b.Why))
	case b.Damaged:
		c.believe(now, st, n, b, true)
	case !b.Slow && t.by[b.By].last-t.by[b.By].first >= c.cfg.FetchPatience:
		c.believe(now, st, n, b, c.blamesOthers(now, st, n, b.By))
	default:
		return
	}
	c.offerAll(now)
}

// noteTrouble writes a complaint down, and tells the user and the log whom the job waits for.
func (c *Tracker) noteTrouble(now time.Duration, st *stage, n *node, b wire.BadFetch) *trouble {
	t := st.fetch[b.Map.Index]
	if t == nil {
		t = &trouble{by: map[wire.AttemptID]stretchOfTime{}}
		st.fetch[b.Map.Index] = t
	}
	if t.last = b; len(t.by) == 0 {
		st.lastError = c.wait(st, t)
		c.changed(st.job)
	}
	when, again := t.by[b.By]
	if !again || now-when.last > 2*c.cfg.FetchPatience { // it has had no trouble in between
		when.first = now
	}
	when.last = now
	t.by[b.By] = when
	c.blame(now, st, n, b)
	return t
}

// blame notes on which node a reduce has trouble with which source.
func (c *Tracker) blame(now time.Duration, st *stage, n *node, b wire.BadFetch) {
	a := c.attempt(b.By)
	if a == nil {
		return
	}
	if st.blames[n.id] == nil {
		st.blames[n.id] = map[topology.NodeID]time.Duration{}
	}
	if _, known := st.blames[n.id][a.node.id]; !known {
		c.out.Notes = append(c.out.Notes, c.wait(st, st.fetch[b.Map.Index]))
	}
	st.blames[n.id][a.node.id] = now
}

// attempt returns an attempt that should be running, or nil.
func (c *Tracker) attempt(id wire.AttemptID) *attempt {
	for _, n := range c.nodes {
		if a := n.want[id]; a != nil {
			return a
		}
	}
	return nil
}

// blamesOthers reports whether a source, rather than the node of a reduce that cannot fetch from it, is to blame.
func (c *Tracker) blamesOthers(now time.Duration, st *stage, n *node, by wire.AttemptID) bool {
	a := c.attempt(by)
	if a == nil || a.node == n {
		return true
	}
	for reader, at := range st.blames[n.id] {
		if reader != a.node.id && now-at <= 4*c.cfg.FetchPatience {
			return true
		}
	}
	return !slices.ContainsFunc(c.nodes, func(m *node) bool { return m != n && m != a.node && m.up && !m.resting })
}

// believe acts on the word of one reduce: it runs the map again, elsewhere if its node has had trouble before, or moves
// the reduce. A reduce for which this map has run again already has trouble of its own.
func (c *Tracker) believe(now time.Duration, st *stage, n *node, b wire.BadFetch, source bool) {
	a := c.attempt(b.By)
	if a != nil && (!source || st.rerun[b.Map.Index] == b.By) {
		why := fmt.Sprintf("it cannot fetch the output of map %d from node %s: %s", b.Map.Index, n.name, b.Why)
		delete(st.fetch[b.Map.Index].by, b.By)
		c.drop(a, why)
		c.leaveNode(now, st, a.node)
		c.machineFailed(now, a.node, a, &wire.Ended{Error: why})
		return
	}
	st.rerun[b.Map.Index] = b.By
	c.avoid(now, st, n, 3)
	c.loseOutput(now, st, b.Map.Index, fmt.Sprintf("reduce %d could not fetch it: %s", b.By.Index, b.Why))
}

// wait says which reduce waits for which map on which node.
func (c *Tracker) wait(st *stage, t *trouble) string {
	on, from := "", c.nodes[st.maps[t.last.Map.Index].node].name
	if a := c.attempt(t.last.By); a != nil {
		on = " on node " + string(a.node.name)
	}
	return fmt.Sprintf("%s: reduce %d%s cannot fetch the output of map %d from node %s: %s", st.job.id, t.last.By.Index, on, t.last.Map.Index, from, t.last.Why)
}

// first returns when the first of those who complain of an output still did so, or false if nobody does any longer.
func (c *Tracker) first(now time.Duration, t *trouble) (first time.Duration, ok bool) {
	for _, when := range t.by {
		if now-when.last <= 2*c.cfg.FetchPatience && (!ok || when.first < first) {
			first, ok = when.first, true
		}
	}
	return first, ok
}

// waitsFor says for what the reduces of a stage wait, and how long they have, or "" if they can fetch everything.
func (c *Tracker) waitsFor(now time.Duration, st *stage) string {
	var oldest *trouble
	since, n := now, 0
	for _, t := range st.fetch {
		if first, ok := c.first(now, t); ok {
			if n++; oldest == nil || first < since || first == since && t.last.Map.Index < oldest.last.Map.Index {
				oldest, since = t, first
			}
		}
	}
	if oldest == nil {
		return ""
	}
	text := fmt.Sprintf("%s (for %s", c.wait(st, oldest), (now - since).Round(time.Second))
	if n > 1 {
		text += fmt.Sprintf("; so it is with %d other outputs", n-1)
	}
	return text + fmt.Sprintf("): the map runs again, or the reduce elsewhere, when that has lasted some %s", c.cfg.FetchPatience)
}
