package capacity

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Policy is the capacity policy.
type Policy struct {
	cfg Config
	*tree
	seats    []seat // by job slot
	cluster  [kinds]int32
	shared   bool             // maps and reduces share containers
	received []sinceHeartbeat // by node
	lagging  []release
	kept     [][kinds]reservation // by node; empty until one is made
	block    block
}

// sinceHeartbeat is what a node has received since its last heartbeat (spec/capacity 3.5, assign).
type sinceHeartbeat struct {
	tasks, reduces int
	left           int  // maps that may still follow a remote one
	remote         bool // a remote map was launched
	noMaps         bool
}

var (
	_ scheduler.Policy    = (*Policy)(nil)
	_ scheduler.Explainer = (*Policy)(nil)
)

// New returns the policy that cfg describes.
func New(cfg Config) (*Policy, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	t, err := newTree(cfg.Queues)
	if err != nil {
		return nil, err
	}
	return &Policy{cfg: cfg, tree: t}, nil
}

// Observe implements scheduler.Policy.
func (p *Policy) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	p.settle(now)
	switch e.Kind {
	case scheduler.EvHeartbeat:
		*p.sinceHeartbeat(e.Node) = sinceHeartbeat{left: p.cfg.AfterOffSwitch}
	case scheduler.EvNodeUp:
		p.shared = !e.Capacity.Slotted()
	case scheduler.EvNodeDown, scheduler.EvNodeDraining:
		p.release(e.Node)
	}
	if j := v.Job(e.Job); j != nil {
		p.observeJob(now, e, j)
	}
}

func (p *Policy) observeJob(now time.Duration, e scheduler.Event, j *job) {
	switch e.Kind {
	case scheduler.EvJobSubmitted:
		q, _ := p.find(j.Queue().Name())
		*p.seat(j) = seat{leaf: q}
		q.leaf.user(j)
	case scheduler.EvLaunched:
		p.launched(j, e)
	case scheduler.EvTaskFinished, scheduler.EvTaskFailed, scheduler.EvTaskKilled:
		if e.Task.Kind != scheduler.Driver {
			p.ended(now, j, e)
		}
	}
	p.list(j)
	if j.Phase() == scheduler.Ended {
		p.releaseAll(j)
		*p.seat(j) = seat{}
	}
}

func (p *Policy) launched(j *job, e scheduler.Event) {
	if e.Task.Kind == scheduler.Driver {
		return
	}
	charge(p.seat(j).leaf, j.User().Slot(), e.Task.Kind, p.slotsOf(j, e.Task.Kind))
	b := p.sinceHeartbeat(e.Node)
	b.tasks++
	if e.Task.Kind == scheduler.Reduce {
		b.reduces++
		return
	}
	if b.remote = b.remote || e.Locality == scheduler.Remote; b.remote { // lines 6 and 7 of assign
		b.noMaps = b.left == 0
		b.left--
	}
}

// Assign implements scheduler.Policy: one turn of assign of spec/capacity 3.5.
func (p *Policy) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	p.settle(now)
	p.measure(v)
	why := scheduler.Reason{Code: scheduler.NoWork, Say: "no job has work for {node}", Node: n}
	if got := p.sinceHeartbeat(n).tasks; got >= p.cfg.TasksPerHeartbeat {
		return scheduler.Idle(scheduler.Reason{Code: scheduler.AtLimit, Say: "this heartbeat of {node} has received {a} tasks, all it may", Node: n, A: int64(got)})
	}
	for _, k := range p.cfg.Reduces.Kinds(v, n) {
		if p.root.listed[k] == 0 {
			continue
		}
		d := p.assign(n, k, v)
		if d.OK {
			return d
		}
		why = d.Reason
	}
	return scheduler.Idle(why)
}

func (p *Policy) assign(n topology.NodeID, k scheduler.Kind, v *scheduler.View) scheduler.Decision {
	switch {
	case !v.HasRoom(n, k):
		return scheduler.Idle(scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for any pending {kind}", Node: n, Kind: k})
	case k == scheduler.Map && p.sinceHeartbeat(n).noMaps:
		return scheduler.Idle(scheduler.Reason{Code: scheduler.ForLocality, Say: "this heartbeat of {node} has received a remote map: no more maps", Node: n})
	case k == scheduler.Reduce && p.sinceHeartbeat(n).reduces >= p.cfg.ReducesPerHeartbeat:
		return scheduler.Idle(scheduler.Reason{Code: scheduler.AtLimit, Say: "this heartbeat of {node} has received {a} reduces, all it may", Node: n, A: int64(p.sinceHeartbeat(n).reduces)})
	}
	return p.pick(n, k, v)
}

// sinceHeartbeat returns what n has received since its last heartbeat.
func (p *Policy) sinceHeartbeat(n topology.NodeID) *sinceHeartbeat {
	for int(n) >= len(p.received) {
		p.received = append(p.received, sinceHeartbeat{left: p.cfg.AfterOffSwitch})
	}
	return &p.received[n]
}

// measure recomputes guaranteed and maximum slots when the cluster has changed.
func (p *Policy) measure(v *scheduler.View) {
	total := v.Total()
	if now := [kinds]int32{total.Slots[scheduler.Map], total.Slots[scheduler.Reduce]}; now != p.cluster {
		p.cluster = now
		p.resize(p.root, now)
	}
}
