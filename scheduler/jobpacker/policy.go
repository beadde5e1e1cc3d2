package jobpacker

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// A Policy is JobPacker, or with Config.Corral its baseline.
type Policy struct {
	cfg     Config
	planner planner
	model   Model
	stale   bool // the cluster changed since the planner last looked

	expected []*plan                  // announced and not arrived
	arrived  []*plan                  // of unfinished jobs that follow their plan, by arrival
	seq      [][]entry                // by rack: Seq_i of spec/jobpacker 2.3
	records  scheduler.PerJob[record] // nil before the job is ready

	// The jobs without a plan, by what they hold (fair, spec/nas 3.10).
	heavy, light *fair.Shares

	heavyTasks []int32                // by rack: running attempts of shuffle-heavy jobs
	launched   [][kinds]time.Duration // by rack and kind: the last launch
	widths     widths
}

var (
	_ scheduler.Policy      = (*Policy)(nil)
	_ scheduler.Planner     = (*Policy)(nil)
	_ scheduler.Follower    = (*Policy)(nil)
	_ scheduler.Ticker      = (*Policy)(nil)
	_ scheduler.ShuffleGate = (*Policy)(nil)
	_ scheduler.Explainer   = (*Policy)(nil)
)

// A record is what the policy knows about one unfinished, ready job.
type record struct {
	heavy bool  // shuffle-heavy, or to be taken for it
	plan  *plan // nil: the job has none, and is served in the gaps
	// limit are the racks of an ad-hoc job in the rejected variant; nil: any.
	limit   *plan
	got     time.Duration                        // when the job last got a task, or arrived
	since   [kinds]time.Duration                 // since when it waits for one of each kind
	waiting map[[2]topology.RackID]time.Duration // rack pairs that wait to be released
}

// An entry is one place in the line of a rack.
type entry struct {
	plan *plan
	kind scheduler.Kind
}

// New returns a policy.
func New(cfg Config) (*Policy, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Policy{cfg: cfg, stale: true}
	if cfg.Corral {
		p.planner = &corral{cfg: &p.cfg}
	} else {
		p.planner = &packer{cfg: &p.cfg}
	}
	var err error
	if p.heavy, err = p.shares(true); err != nil {
		return nil, err
	}
	p.light, err = p.shares(false)
	return p, err
}

// shares returns an order of the unplanned jobs that are heavy, or are not.
func (p *Policy) shares(heavy bool) (*fair.Shares, error) {
	c := fair.DefaultConfig()
	c.Reduces = p.cfg.Reduces
	c.Only = func(j *scheduler.Job) bool {
		r := p.record(j)
		return r != nil && r.plan == nil && r.heavy == heavy
	}
	return fair.NewShares(c)
}

func (p *Policy) record(j *scheduler.Job) *record { return p.records.Of(j) }

// Observe implements scheduler.Policy.
func (p *Policy) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	p.grow(v)
	j := v.Job(e.Job)
	if p.records.Arrives(e, j) {
		p.arrive(now, j, v)
	}
	switch e.Kind {
	case scheduler.EvLaunched:
		p.count(e, j, 1, v)
		p.launchedAt(now, e, j, v)
	case scheduler.EvTaskFinished, scheduler.EvTaskFailed, scheduler.EvTaskKilled:
		p.count(e, j, -1, v)
	case scheduler.EvNodeUp, scheduler.EvNodeUpdated, scheduler.EvNodeDraining, scheduler.EvNodeDown:
		p.stale = true
		p.checkRack(v.RackOf(e.Node), v)
	}
	p.heavy.Observe(now, e, v)
	p.light.Observe(now, e, v)
	if j != nil && j.Phase() == scheduler.Ended {
		p.leave(j)
	}
}

func (p *Policy) grow(v *scheduler.View) {
	for r := len(p.seq); r < v.Topology().NumRacks(); r++ {
		p.seq = append(p.seq, nil)
		p.heavyTasks = append(p.heavyTasks, 0)
		p.launched = append(p.launched, [kinds]time.Duration{})
	}
}

// count keeps the number of heavy tasks in each rack.
func (p *Policy) count(e scheduler.Event, j *scheduler.Job, by int32, v *scheduler.View) {
	if j == nil || e.Task.Kind == scheduler.Driver {
		return
	}
	if r := p.record(j); r != nil && r.heavy {
		p.heavyTasks[v.RackOf(e.Node)] += by
	}
}

func (p *Policy) launchedAt(now time.Duration, e scheduler.Event, j *scheduler.Job, v *scheduler.View) {
	if e.Task.Kind == scheduler.Driver {
		return
	}
	p.launched[v.RackOf(e.Node)][e.Task.Kind] = now
	if r := p.record(j); r != nil {
		r.got, r.since[e.Task.Kind] = now, now
	}
}

// leave forgets a job that ended.
func (p *Policy) leave(j *scheduler.Job) {
	if r := p.record(j); r != nil {
		p.unline(r.plan)
		p.records.Set(j, nil)
	}
}

// unline takes a plan out of the lines of its racks.
func (p *Policy) unline(gone *plan) {
	if gone == nil {
		return
	}
	for k := range gone.racks {
		for _, r := range gone.racks[k] {
			p.seq[r] = slices.DeleteFunc(p.seq[r], func(e entry) bool { return e.plan == gone })
		}
	}
	same := func(q *plan) bool { return q == gone }
	p.arrived = slices.DeleteFunc(p.arrived, same)
	p.expected = slices.DeleteFunc(p.expected, same)
}

// line appends a plan to the lines of its racks.
func (p *Policy) line(q *plan) {
	for k := range q.racks {
		for _, r := range q.racks[k] {
			p.seq[r] = append(p.seq[r], entry{q, scheduler.Kind(k)})
		}
	}
}
