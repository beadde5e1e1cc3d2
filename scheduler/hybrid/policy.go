package hybrid

import (
	"cmp"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// A class is one of the two kinds of machine, and the queue of its jobs.
type class uint8

const (
	out class = iota
	up
	numClasses = 2
)

func (c class) other() class { return 1 - c }

// base is what orders one queue: fair.Policy or fair.Delay.
type base interface {
	scheduler.Policy
	scheduler.Explainer
	Touch(j *scheduler.Job, v *scheduler.View)
	Len(k scheduler.Kind) int
}

var (
	_ base = (*fair.Policy)(nil)
	_ base = (*fair.Delay)(nil)
)

// A Policy is the hybrid policy.
type Policy struct {
	cfg     Config
	queues  [numClasses]base
	records scheduler.PerJob[record] // nil before the job is ready
	// unstarted has the jobs of the scale-up queue without a task started, nearest
	// to the boundary first.
	unstarted *scheduler.Order[*scheduler.Job, float64]

	nodes   []class                           // of each node
	ups     []topology.NodeID                 // the scale-up nodes
	ready   [numClasses]int                   // nodes that are up
	isReady []bool                            // by node
	running [numClasses][scheduler.Driver]int // attempts
	moving  [numClasses]time.Duration         // when the class was last not stuck
	stole   map[topology.NodeID]bool          // nodes for which a job was stolen since their last heartbeat
}

var (
	_ scheduler.Policy    = (*Policy)(nil)
	_ scheduler.Ticker    = (*Policy)(nil)
	_ scheduler.Explainer = (*Policy)(nil)
	_ scheduler.Noter     = (*Policy)(nil)
)

// A record is what the policy knows about one unfinished, ready job.
type record struct {
	home  class
	value float64 // of the classifier
	// free lets the job run on both classes: without classification, or when its
	// own class cannot run it.
	free bool
}

// New returns a hybrid policy.
func New(cfg Config) (*Policy, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Policy{cfg: cfg, unstarted: scheduler.NewOrder[*scheduler.Job](cmp.Compare[float64]), stole: map[topology.NodeID]bool{}}
	for c := range p.queues {
		f := cfg.Fair
		f.Only = func(j *scheduler.Job) bool { r := p.records.Of(j); return r != nil && (r.free || r.home == class(c)) }
		var err error
		if cfg.Base == "delay" {
			p.queues[c], err = fair.NewDelay(f, cfg.Patience)
		} else {
			p.queues[c], err = fair.New(f)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Observe implements scheduler.Policy.
func (p *Policy) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	p.grow(v)
	j := v.Job(e.Job)
	if p.records.Arrives(e, j) {
		p.arrive(j, v)
	}
	switch e.Kind {
	case scheduler.EvHeartbeat:
		delete(p.stole, e.Node)
	case scheduler.EvLaunched:
		p.count(e, 1)
		if e.Task.Kind != scheduler.Driver {
			p.unstarted.Remove(j)
		}
	case scheduler.EvTaskFinished, scheduler.EvTaskFailed, scheduler.EvTaskKilled:
		p.count(e, -1)
	case scheduler.EvNodeUp, scheduler.EvNodeUpdated, scheduler.EvNodeDraining, scheduler.EvNodeDown:
		p.nodeChanged(e.Node, v)
	case scheduler.EvBan:
		p.checkBan(j, v)
	}
	for _, q := range p.queues {
		q.Observe(now, e, v)
	}
	if j != nil && j.Phase() == scheduler.Ended {
		p.unstarted.Remove(j)
		if p.records.Of(j) != nil {
			p.records.Set(j, nil)
		}
	}
}

func (p *Policy) grow(v *scheduler.View) {
	for n := topology.NodeID(len(p.nodes)); int(n) < v.Topology().NumNodes(); n++ {
		c := out
		if p.isUp(n, v) {
			c = up
			p.ups = append(p.ups, n)
		}
		p.nodes, p.isReady = append(p.nodes, c), append(p.isReady, false)
	}
}

func (p *Policy) isUp(n topology.NodeID, v *scheduler.View) bool {
	if p.cfg.IsUp != nil {
		return p.cfg.IsUp(n)
	}
	t := v.Topology()
	return t.ClassName(t.ClassOf(n)) == p.cfg.Up
}

func (p *Policy) count(e scheduler.Event, by int) {
	if e.Task.Kind != scheduler.Driver {
		p.running[p.nodes[e.Node]][e.Task.Kind] += by
	}
}

// Assign implements scheduler.Policy (spec/hybrid 3.2): the queue of the node's
// class; if that has nothing, a scale-up node stays idle and a scale-out node
// may steal.
func (p *Policy) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	c := p.nodes[n]
	d := p.queues[c].Assign(now, n, v)
	if d.OK {
		return d
	}
	if c == out && p.steal(n, v) {
		return p.queues[out].Assign(now, n, v)
	}
	if waiting := p.waiting(c.other()); d.Reason.Code == scheduler.NoWork && waiting > 0 {
		d.Reason = scheduler.Reason{Code: scheduler.ForPlan, Say: "{node} has no work: {a} jobs wait for the other class of machine", Node: n, A: int64(waiting)}
	}
	return d
}

// waiting returns how many holders in a queue have tasks to run.
func (p *Policy) waiting(c class) int {
	return p.queues[c].Len(scheduler.Map) + p.queues[c].Len(scheduler.Reduce)
}

// Explain implements scheduler.Explainer.
func (p *Policy) Explain(now time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	j := v.Job(id)
	r := p.records.Of(j)
	if r == nil {
		return scheduler.Reason{Code: scheduler.ForDriver, Say: "{job} waits for its driver", Job: id}
	}
	why := p.queues[r.home].Explain(now, id, v)
	if why.Code == scheduler.NoRoom && r.home == up && !r.free {
		why.Say, why.A = "{job} is small (value {a:milli}) and next for a scale-up machine; it waits for room", int64(1000*r.value)
	}
	return why
}
