package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A node is one worker.
type node struct {
	id        topology.NodeID
	name      wire.NodeName
	rack      string
	addr      string
	machine   string
	up        bool
	draining  bool
	drain     bool // somebody asked for it
	sick      string
	isolation string
	platform  string // of the programs it runs
	session   string
	past      []string // sessions before, newest last: their reports are late
	seq       uint64   // of the last report
	heard     time.Duration
	suspect   bool // gossip has given it up
	capacity  wire.Capacity

	want  map[wire.AttemptID]*attempt // what should run there
	kill  map[wire.AttemptID]string   // what should not, while it still does
	acks  []ack                       // ends taken note of
	drops []wire.StageRef             // of the last report: whose output nobody needs
	knows map[wire.StageRef]bool      // whose spec it has
	full  bool                        // its next report must be full
	told  stretch                     // what of its map output it has told of last
	doubt []wire.BadFetch             // complaints that it cannot be reached, until it speaks
	moved bool                        // those who fetch from it have to hear where it is now
	woken bool

	deaths   []time.Duration // lately
	excluded time.Duration   // until when it gets nothing

	downAt time.Duration   // since when it is not up
	keeps  map[*stage]bool // while it is not: those whose map output there is not given up yet

	flows map[flow]int64   // what this session has sent, as counted
	sent  map[string]int64 // by kind of traffic, of all sessions
	idle  float64          // of its processors, percent; negative if unknown
}

// An ack is an end that was taken note of, and how many records there were then: it is told to the
// worker when they are durable. Until then the worker reports the end again, which changes nothing.
type ack struct {
	id    wire.AttemptID
	noted int64
}

// nodeNamed returns the worker of that name, and makes it known if it is new.
func (c *Core) nodeNamed(name wire.NodeName, rack, machine string) *node {
	if n := c.byName[name]; n != nil {
		return n
	}
	id, err := c.topo.AddNode(topology.Node{Name: string(name), Rack: c.rackNamed(rack), Class: machine, NIC: c.cfg.Links.NIC})
	if err != nil {
		return nil
	}
	c.engine.NodeKnown(0, id, string(name), rack, machine)
	n := &node{
		id: id, name: name, rack: rack, machine: machine, want: map[wire.AttemptID]*attempt{},
		kill: map[wire.AttemptID]string{}, knows: map[wire.StageRef]bool{}, flows: map[flow]int64{}, sent: map[string]int64{}, idle: -1,
	}
	c.nodes = append(c.nodes, n)
	c.byName[name] = n
	return n
}

// Report takes in what a worker says about itself and answers with what it should do. durable is
// how many of the records made so far are on disk: as for AnswerTo.
func (c *Core) Report(now time.Duration, r *wire.Report, durable int64) (wire.Answer, error) {
	if r.Node == "" || len(r.Node) > maxName || len(r.Rack) > maxName {
		return wire.Answer{}, wire.Errorf(wire.Invalid, "a report of node %q in rack %q", r.Node, r.Rack)
	}
	n := c.nodeNamed(r.Node, r.Rack, r.Machine)
	if n == nil {
		return wire.Answer{}, wire.Errorf(wire.Invalid, "node %q cannot be taken in", r.Node)
	}
	if r.Session == n.session && r.Seq <= n.seq || slices.Contains(n.past, r.Session) {
		return wire.Answer{Epoch: c.cfg.Epoch, Seq: r.Seq}, nil // overtaken by a newer one
	}
	if r.Session != n.session {
		c.newSession(now, n, r)
	} else if !n.up {
		n.full = true // we may have given up what it still has
	}
	if n.addr != r.Addr {
		if n.addr == "" {
			c.foundOutput()
		}
		delete(c.byAddr, n.addr)
		c.byAddr[r.Addr] = n
	}
	n.seq, n.heard, n.addr, n.suspect = r.Seq, now, r.Addr, false
	c.bringUp(now, n, r)
	for i := range r.Ended {
		c.ended1(now, n, &r.Ended[i])
		n.acks = append(n.acks, ack{r.Ended[i].ID, c.noted})
	}
	c.reconcile(now, n, r)
	if r.Full {
		c.takeHeld(now, n, r)
	}
	n.drops = c.unneeded(r.Stages)
	for _, b := range r.BadFetch {
		c.complaint(now, b)
	}
	c.settleDoubts(now, n)
	if len(r.Net) <= maxFlows {
		c.countNet(n, r.Net)
	}
	if r.Idle >= 0 {
		n.idle = r.Idle
		c.feed(now, scheduler.CPUSample(n.id, r.Idle))
	}
	c.graceOver(now)
	c.offer(now, n)
	return c.AnswerTo(r.Node, durable), nil
}

// maxPast is how many earlier lives of a worker are remembered.
const maxPast = 16

// newSession is a worker that was started anew: what ran there before does not any more.
func (c *Core) newSession(now time.Duration, n *node, r *wire.Report) {
	if n.up {
		c.nodeDown(now, n, "restarted")
	}
	if n.session != "" {
		n.past = append(n.past[max(0, len(n.past)-maxPast+1):], n.session)
	}
	n.moved = n.session != "" || r.Fresh
	n.session, n.seq, n.acks, n.drops, n.woken = r.Session, 0, nil, nil, false
	clear(n.kill)
	clear(n.knows)
	clear(n.flows)
	n.full, n.told, n.doubt = true, stretch{}, nil
}

// bringUp tells the policies that a node is there, or that its room has changed.
func (c *Core) bringUp(now time.Duration, n *node, r *wire.Report) {
	room := scheduler.Capacity{
		MapSlots: r.Capacity.MapSlots, ReduceSlots: r.Capacity.ReduceSlots, Containers: r.Capacity.Containers,
		VCores: r.Capacity.VCores, MemoryMB: r.Capacity.MemoryMB,
	}
	switch {
	case !n.up:
		n.up, n.draining, n.keeps = true, false, nil
		c.feed(now, scheduler.NodeUp(n.id, room))
	case n.capacity != r.Capacity:
		c.feed(now, scheduler.NodeUpdated(n.id, room))
	}
	drain := r.Draining || n.drain
	if drain && !n.draining {
		c.feed(now, scheduler.NodeDraining(n.id))
	} else if !drain && n.draining {
		c.feed(now, scheduler.NodeUp(n.id, room))
	}
	n.capacity, n.draining, n.sick, n.isolation = r.Capacity, drain, r.Sick, r.Isolation
	n.platform = r.Platform
}

// Drain takes a worker out of service: it finishes what runs and gets nothing new. With undo it is
// back. It acts with the worker's next report, and lasts whatever restarts.
func (c *Core) Drain(now time.Duration, name wire.NodeName, undo bool) error {
	n := c.byName[name]
	if n == nil {
		return wire.Errorf(wire.NotFound, "there is no node %q", name)
	}
	if n.drain == !undo {
		return nil
	}
	kind := Drained
	if undo {
		kind = Undrained
	}
	c.note(Record{At: now, Kind: kind, Task: &TaskRecord{Node: n.name, Rack: n.rack}})
	return nil
}

// reconcile compares what runs with what should.
func (c *Core) reconcile(now time.Duration, n *node, r *wire.Report) {
	runs := make(map[wire.AttemptID]bool, len(r.Running))
	for _, p := range r.Running {
		runs[p.ID] = true
		if a := n.want[p.ID]; a != nil {
			a.seen, a.done = true, max(a.done, min(max(p.Done, 0), 1))
			n.knows[wire.StageRef{Job: p.ID.Job, Stage: p.ID.Stage}] = true
			continue
		}
		if !c.adopt(now, n, p.ID) && n.kill[p.ID] == "" {
			n.kill[p.ID] = "nobody waits for it any more"
		}
	}
	for id := range n.kill {
		if !runs[id] {
			delete(n.kill, id)
		}
	}
	for _, a := range sortedAttempts(n.want) {
		if a.seen && !runs[a.id] {
			c.lost(now, a, "its worker no longer knows it")
		}
	}
}

func sortedAttempts(m map[wire.AttemptID]*attempt) []*attempt {
	out := make([]*attempt, 0, len(m))
	for _, a := range m {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *attempt) int { return cmp.Compare(a.id.Try, b.id.Try) })
	return out
}

// AnswerTo is what a worker should do now. Launches are repeated until the worker reports them. The
// answer may go out at once: ends that are not written down durably yet are not acknowledged, and
// drivers of jobs that are not are not started. That other attempts start before the records they
// follow from are durable does no harm: after a crash they are adopted, or stopped.
func (c *Core) AnswerTo(name wire.NodeName, durable int64) wire.Answer {
	n := c.byName[name]
	if n == nil {
		return wire.Answer{Epoch: c.cfg.Epoch, Full: true}
	}
	n.woken = false
	ans := wire.Answer{Epoch: c.cfg.Epoch, Seq: n.seq, Drop: n.drops, Full: n.full}
	n.drops = nil
	n.acks = slices.DeleteFunc(n.acks, func(a ack) bool {
		if a.noted <= durable {
			ans.Ended = append(ans.Ended, a.id)
		}
		return a.noted <= durable
	})
	for _, a := range sortedAttempts(n.want) {
		if !a.seen && (a.id.Kind != wire.DriverTask || a.noted <= durable) {
			ans.Launch = append(ans.Launch, c.launchOf(n, a))
		}
	}
	for id, why := range n.kill {
		ans.Kill = append(ans.Kill, wire.Kill{ID: id, Why: why})
	}
	slices.SortFunc(ans.Kill, func(a, b wire.Kill) int { return cmp.Compare(a.ID.Try, b.ID.Try) })
	return ans
}

func (c *Core) launchOf(n *node, a *attempt) wire.Launch {
	l := wire.Launch{ID: a.id, Number: a.number, VCores: a.st.job.spec.VCores, MemoryMB: a.st.job.spec.MemoryMB}
	ref := wire.StageRef{Job: a.id.Job, Stage: a.id.Stage}
	if !n.knows[ref] {
		l.Spec = &a.st.job.spec
	}
	a.sent = true
	if a.id.Kind == wire.MapTask {
		l.Split = a.st.plan.splits.get(a.id.Index)
	}
	return l
}

// Suspect says that gossip has given a worker up. It is taken for dead when it is silent as well.
func (c *Core) Suspect(name wire.NodeName, session string) {
	if n := c.byName[name]; n != nil && n.session == session {
		n.suspect = true
	}
}

// silent reports whether a node has said nothing for too long: a third of that, if others cannot
// reach it either.
func (c *Core) silent(now time.Duration, n *node) bool {
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

// Overdue lists the workers that were not heard for that long and do not count as dead yet.
func (c *Core) Overdue(now, after time.Duration) (out []Late) {
	for _, n := range c.nodes {
		if n.up && now-n.heard > after {
			out = append(out, Late{n.name, n.addr, n.session})
		}
	}
	return out
}

// NodeGone says that the connection to a worker broke, or that gossip has given it up.
func (c *Core) NodeGone(now time.Duration, name wire.NodeName, session, why string) {
	if n := c.byName[name]; n != nil && n.up && n.session == session {
		c.nodeDown(now, n, why)
	}
}

// nodeDown gives away what ran on a dead node. Map output that lies there it may bring back: see giveUp.
func (c *Core) nodeDown(now time.Duration, n *node, why string) {
	n.up, n.downAt, n.keeps, n.doubt = false, now, map[*stage]bool{}, nil
	c.died(now, n)
	for _, a := range sortedAttempts(n.want) {
		c.detach(a)
		c.tellEnd(now, wire.PastLost, a, "node "+string(n.name)+" is gone: "+why, nil)
	}
	clear(n.kill)
	// The node is known, so that the engine has no reason to refuse.
	_ = c.engine.NodeLost(now, n.id, false)
	for _, st := range c.liveStages() {
		if st.hasOutputOn(n) {
			n.keeps[st] = true
		}
	}
	c.offerAll(now)
}

// needsOutput reports whether some reduce has still to fetch.
func (st *stage) needsOutput() bool {
	return len(st.reduces) > 0 && int(st.doneCount[1]) < len(st.reduces)
}

// liveStages lists the stages the policies know, oldest first.
func (c *Core) liveStages() []*stage {
	out := make([]*stage, 0, len(c.stages))
	for _, st := range c.stages {
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b *stage) int { return cmp.Compare(a.sid, b.sid) })
	return out
}

// foundOutput tells those who wait for map output that a node can be reached.
func (c *Core) foundOutput() {
	for _, st := range c.liveStages() {
		c.changed(st.job)
	}
}

// unneeded lists the stages among these that have ended.
func (c *Core) unneeded(kept []wire.StageRef) (out []wire.StageRef) {
	for _, ref := range kept {
		if c.stageOf(wire.AttemptID{Job: ref.Job, Stage: ref.Stage}) == nil {
			out = append(out, ref)
		}
	}
	return out
}

// stageOf is the live stage an attempt belongs to, nil if there is none.
func (c *Core) stageOf(id wire.AttemptID) *stage {
	j := c.jobs[id.Job]
	if j == nil || j.state.Ended() || id.Stage >= len(j.stages) || id.Stage < 0 {
		return nil
	}
	st := j.stages[id.Stage]
	if st.done || st.sid < 0 || c.stages[st.sid] != st {
		return nil
	}
	return st
}
