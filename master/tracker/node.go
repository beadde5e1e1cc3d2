package tracker

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/program"
	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A node is one worker.
type node struct {
	id   topology.NodeID
	name wire.NodeName
	rack string
	// asked is the rack that the worker has asked to be moved to, while that has to wait; else "".
	asked string
	machine
	health
	talk
	orders
	output
	flows map[flow]int64   // bytes that this session has sent, as last reported
	fresh bool             // this master saw the session begin, so all that it has sent counts
	sent  map[string]int64 // bytes of all sessions, by kind of traffic
}

// machine is what a worker says about its machine and its program.
type machine struct {
	addr      string
	class     string
	speed     float64 // of the emulated machine; 0: no machine is emulated
	isolation string
	runs      program.Machine
	capacity  wire.Capacity
	idle      float64       // idle share of its processors, percent; negative if unknown
	circuit   string        // the rack to which its rack had a circuit at its last report
	rematch   time.Duration // when circuits are next matched; 0: unknown
	cpu       int64         // milliseconds of processor time that its worker has used
}

// health says whether a worker can be given work: it is up, nobody has asked it to drain, and it is neither sick nor
// excluded. If resting differs from what these say, the policies have yet to be told.
type health struct {
	up       bool
	draining bool
	resting  bool // the policies know that it takes no work
	drain    bool // somebody asked for it
	sick     string
	suspect  bool            // gossip has given it up
	loose    bool            // its connection broke: a new session under its name is a restart
	deaths   []time.Duration // times of recent deaths
	excluded time.Duration   // until when it gets nothing
	downAt   time.Duration   // since when it is not up
}

// talk is how far the worker and the master have heard each other. Only reports of session count, in the order of seq.
type talk struct {
	session     string
	past        []string // earlier sessions, newest last: their reports are late
	seq         uint64   // of the last report
	heard       time.Duration
	heartbeatAt time.Duration // from this time on its next report is a heartbeat
	full        bool          // its next report must be full
	woken       bool
	latecomer   string        // the session that last claimed the name while it was taken
	latecomerAt time.Duration // when that session first came
}

// orders is what the next answers to the worker say. An attempt is in want or in kill, not in both.
type orders struct {
	want  map[wire.AttemptID]*attempt // what should run there
	kill  map[wire.AttemptID]string   // what should not, while it still does
	acks  []ack                       // ends to acknowledge
	drops []wire.StageRef             // stages of the last report whose output nobody needs
	knows map[wire.StageRef]bool      // stages whose spec the worker has
}

// output is the map output on the worker's disk, and how it can be fetched.
type output struct {
	told       stretch         // the stretch of its map output that it last reported
	complaints []wire.BadFetch // complaints that it cannot be reached, until its next report
	moved      bool            // reduces have to be told its new address
	keeps      map[*stage]bool // while it is down: stages whose map output on it is not given up yet
}

// An ack is an end that the master has handled, with the number of records at that time. The worker is told once they
// are durable. Until then it reports the end again, which changes nothing.
type ack struct {
	id    wire.AttemptID
	noted int64
}

// nodeNamed returns the worker of that name, and adds it if it is new.
func (c *Tracker) nodeNamed(name wire.NodeName, rack, class string) *node {
	if n := c.byName[name]; n != nil {
		if !c.resumed {
			c.move(0, n, rack) // the later record counts
		}
		return n
	}
	id, err := c.topo.AddNode(topology.Node{Name: string(name), Rack: c.rackNamed(rack), Class: class, NIC: c.cfg.Links.NIC})
	if err != nil {
		return nil
	}
	c.engine.NodeKnown(0, id)
	n := &node{
		id: id, name: name, rack: rack, machine: machine{class: class, idle: -1}, flows: map[flow]int64{}, sent: map[string]int64{},
		orders: orders{want: map[wire.AttemptID]*attempt{}, kill: map[wire.AttemptID]string{}, knows: map[wire.StageRef]bool{}},
	}
	c.nodes = append(c.nodes, n)
	c.byName[name] = n
	return n
}

// outlives is how long after another worker has claimed its name a worker must be heard to count as alive: reports that
// it sent before it was killed may arrive late.
const outlives = time.Second

// taken returns the error for another worker that claims this node's name. Invalid is final: the worker that has the
// name was heard after the claim, so it is alive. Exists asks the other to try again: the worker that has the name may
// have been killed.
func (n *node) taken(now time.Duration, session string) error {
	if n.latecomer != session {
		n.latecomer, n.latecomerAt = session, now
	}
	kind, heard := wire.Exists, (now - n.heard).Round(time.Millisecond)
	if n.heard-n.latecomerAt > outlives {
		kind = wire.Invalid
	}
	return wire.Errorf(kind, "there is a worker %s already, at %s, heard of %s ago: stop it, or give this one another --name", n.name, n.addr, heard)
}

// moveTo notes a node's address. Another node may have had that address before.
func (c *Tracker) moveTo(n *node, addr string) {
	if c.byAddr[n.addr] == n {
		delete(c.byAddr, n.addr)
	}
	c.byAddr[addr] = n
}

// Report handles what a worker says about itself and returns what it should do. durable is how many of the records made
// so far are on disk, as for AnswerTo.
func (c *Tracker) Report(now time.Duration, r *wire.Report, durable int64) (wire.Answer, error) {
	if err := r.Check(); err != nil {
		return wire.Answer{}, err
	}
	n := c.nodeNamed(r.Node, r.Rack, r.Machine)
	if n == nil {
		return wire.Answer{}, wire.Errorf(wire.Invalid, "node %q cannot be registered", r.Node)
	}
	if r.Session == n.session && r.Seq <= n.seq || slices.Contains(n.past, r.Session) {
		return wire.Answer{Epoch: c.cfg.Epoch, Seq: r.Seq}, nil // a newer report has overtaken this one
	}
	if r.Session != n.session {
		if n.up && !n.loose && now-n.heard < c.cfg.Held {
			return wire.Answer{}, n.taken(now, r.Session)
		}
		c.newSession(now, n, r)
	} else if !n.up {
		n.full = true // the tracker may have given up what the worker still has
	}
	if n.addr != r.Addr {
		if n.addr == "" {
			c.foundOutput()
		}
		c.moveTo(n, r.Addr)
	}
	c.isOf(now, n, r.Machine)
	c.comeBackIn(now, n, r.Rack)
	n.seq, n.heard, n.addr, n.speed, n.suspect, n.loose = r.Seq, now, r.Addr, r.Speed, false, false
	c.bringUp(now, n, r)
	for i := range r.Ended {
		r.Ended[i].Bounded()
		c.takeEnd(now, n, &r.Ended[i])
		n.acks = append(n.acks, ack{r.Ended[i].ID, c.noted})
	}
	c.reconcile(now, n, r)
	if r.Full {
		c.takeHeld(now, n, r)
	}
	n.drops = c.unneeded(r.Stages)
	for _, ref := range n.drops {
		delete(n.knows, ref)
	}
	for _, b := range r.BadFetch {
		if b.Of(b.By) && n.want[b.By] != nil {
			b.Bounded()
			c.complaint(now, b)
		}
	}
	c.settleComplaints(now, n)
	if len(r.Net) <= maxFlows {
		c.countNet(n, r.Net)
	}
	if r.CPUMillis > 0 {
		n.cpu = r.CPUMillis
	}
	if r.Circuit != nil {
		n.circuit, n.rematch = r.Circuit.To, now+time.Duration(r.Circuit.NextMillis)*time.Millisecond
	}
	if r.Idle >= 0 {
		n.idle = r.Idle
		c.feed(now, scheduler.CPUSample(n.id, r.Idle))
	}
	c.graceOver(now)
	c.heartbeat(now, n)
	c.offer(now, n)
	return c.AnswerTo(r.Node, durable), nil
}

// heartbeat tells the policies of a heartbeat if one is due.
func (c *Tracker) heartbeat(now time.Duration, n *node) {
	if now < n.heartbeatAt {
		return
	}
	// On a grid: reports between two heartbeats do not put off the next.
	n.heartbeatAt += (now-n.heartbeatAt)/c.cfg.Heartbeat*c.cfg.Heartbeat + c.cfg.Heartbeat
	c.feed(now, scheduler.Heartbeat(n.id))
}

// maxPast is how many earlier sessions of a worker are remembered.
const maxPast = 16

// newSession handles the restart of a worker: what ran there before no longer runs.
func (c *Tracker) newSession(now time.Duration, n *node, r *wire.Report) {
	if n.up {
		c.nodeDown(now, n, "restarted")
	}
	if n.session != "" {
		n.past = append(n.past[max(0, len(n.past)-maxPast+1):], n.session)
	}
	n.moved = n.session != "" || r.Fresh
	n.session, n.seq, n.acks, n.drops, n.woken = r.Session, 0, nil, nil, false
	c.runsNothing(n)
	clear(n.knows)
	clear(n.flows)
	n.fresh = r.Fresh
	n.idle = -1
	n.full, n.told, n.complaints = true, stretch{}, nil
}

// bringUp tells the policies that a node is up, or that its room has changed.
func (c *Tracker) bringUp(now time.Duration, n *node, r *wire.Report) {
	changed := n.capacity != r.Capacity
	n.capacity, n.draining, n.sick, n.isolation = r.Capacity, r.Draining || n.drain, r.Sick, r.Isolation
	n.runs = program.Machine{Platform: r.Platform, Lacks: r.Lacks}
	switch {
	case !n.up:
		n.up, n.resting, n.keeps = true, false, nil
		c.feed(now, scheduler.NodeUp(n.id, n.room()))
	case changed:
		c.feed(now, scheduler.NodeUpdated(n.id, n.room()))
	}
	c.tellRest(now, n)
}

// room returns what a node has room for, as the policies count it.
func (n *node) room() scheduler.Capacity {
	return scheduler.Capacity{
		MapSlots: n.capacity.MapSlots, ReduceSlots: n.capacity.ReduceSlots, Containers: n.capacity.Containers,
		VCores: n.capacity.VCores, MemoryMB: n.capacity.MemoryMB,
	}
}

// nodeNames returns the names of all workers there ever were.
func (c *Tracker) nodeNames() (names []string) {
	for _, n := range c.nodes {
		names = append(names, string(n.name))
	}
	return names
}

// Drain takes a worker out of service: it finishes what runs and gets nothing new. With undo it returns to service.
// Drain takes effect with the worker's next report and survives restarts.
func (c *Tracker) Drain(now time.Duration, name wire.NodeName, undo bool) error {
	n := c.byName[name]
	if n == nil {
		return wire.Errorf(wire.NotFound, "there is no node %q%s (millrace node ls lists them)", name, suggest.Meant(string(name), c.nodeNames()))
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

// reconcile compares what runs on a worker with what should.
func (c *Tracker) reconcile(now time.Duration, n *node, r *wire.Report) {
	runs := make(map[wire.AttemptID]bool, len(r.Running))
	for _, p := range r.Running {
		runs[p.ID] = true
		if a := n.want[p.ID]; a != nil {
			a.seen, a.done = true, max(a.done, min(max(p.Done, 0), 1))
			n.knows[wire.StageRef{Job: p.ID.Job, Stage: p.ID.Stage}] = true
			continue
		}
		if !c.adopt(now, n, &p) && n.kill[p.ID] == "" {
			n.kill[p.ID] = "nobody waits for it any more"
		}
	}
	for id := range n.kill {
		if !runs[id] {
			c.runsNoMore(n, id)
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

// needsOutput reports whether some reduce still has to fetch.
func (st *stage) needsOutput() bool {
	return int(st.doneCount[1]) < len(st.reduces)
}

// liveStages returns the stages that the policies know, oldest first.
func (c *Tracker) liveStages() []*stage {
	out := make([]*stage, 0, len(c.stages))
	for _, st := range c.stages {
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b *stage) int { return cmp.Compare(a.sid, b.sid) })
	return out
}

// foundOutput tells those who wait for map output that another node can be reached.
func (c *Tracker) foundOutput() {
	for _, st := range c.liveStages() {
		c.changed(st.job)
	}
}

// unneeded returns those of these stages that have ended.
func (c *Tracker) unneeded(kept []wire.StageRef) (out []wire.StageRef) {
	for _, ref := range kept {
		if c.stageOf(wire.AttemptID{Job: ref.Job, Stage: ref.Stage}) == nil {
			out = append(out, ref)
		}
	}
	return out
}

// stageOf returns the live stage that an attempt belongs to, or nil if there is none.
func (c *Tracker) stageOf(id wire.AttemptID) *stage {
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
