package deadline

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

const kinds = int(scheduler.Driver) // maps and reduces

// A Policy is the min- or the max-scheduler.
type Policy struct {
	cfg    Config
	ticks  ticks
	clocks [][kinds]clock // by job slot
	lines  [kinds]lineup
	slots  int32 // reduce slots of the cluster, as the estimates know it
}

var (
	_ scheduler.Policy    = (*Policy)(nil)
	_ scheduler.Explainer = (*Policy)(nil)
	_ scheduler.Figurer   = (*Policy)(nil)
)

// New returns the policy that cfg describes.
func New(cfg Config) (*Policy, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Policy{cfg: cfg, ticks: ticks{free: none}}, nil
}

// Observe implements scheduler.Policy.
func (p *Policy) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	if slots := v.Total().Slots[scheduler.Reduce]; slots != p.slots {
		p.slots = slots
		p.reserveAnew(now, v)
	}
	j := v.Job(e.Job)
	if j == nil {
		return
	}
	switch e.Kind {
	case scheduler.EvJobSubmitted, scheduler.EvJobAdmitted, scheduler.EvJobReady:
		p.begin(j, v)
	case scheduler.EvLaunched, scheduler.EvTaskFinished, scheduler.EvTaskFailed, scheduler.EvTaskKilled:
		p.run(now, j, e.Task)
	}
	p.refresh(now, j)
}

// reserveAnew estimates every job again if the estimates depend on the number of reduce slots.
func (p *Policy) reserveAnew(now time.Duration, v *scheduler.View) {
	if !p.cfg.Staged && !p.cfg.TailReserve {
		return
	}
	for j := range v.Jobs().All() {
		if j.Slot() < len(p.clocks) {
			p.refresh(now, j)
		}
	}
}

// begin starts the clocks of a job with the attempts that run already: none,
// unless the policy was put in place while jobs ran.
func (p *Policy) begin(j *job, v *scheduler.View) {
	for len(p.clocks) <= j.Slot() {
		p.clocks = append(p.clocks, [kinds]clock{})
	}
	for k := range kinds {
		c := &p.clocks[j.Slot()][k]
		p.ticks.reset(c, j.Total(scheduler.Kind(k)), j.Submitted())
		for a := range v.Attempts(j, scheduler.Kind(k)) {
			if !c.has(a.Task.Index) && j.TaskState(a.Task.Kind, a.Task.Index) == scheduler.TaskRunning {
				p.ticks.add(c, a.Task.Index, a.Start)
			}
		}
	}
}

// run notes that a task runs from now on, or no longer does.
func (p *Policy) run(now time.Duration, j *job, t scheduler.TaskID) {
	if t.Kind == scheduler.Driver {
		return
	}
	c := &p.clocks[j.Slot()][t.Kind]
	runs := j.TaskState(t.Kind, t.Index) == scheduler.TaskRunning
	switch {
	case runs && !c.has(t.Index):
		p.ticks.add(c, t.Index, now)
	case !runs && c.has(t.Index):
		p.ticks.drop(c, t.Index)
	}
}

// Assign implements scheduler.Policy; it is one turn of the loop of
// spec/deadline 3.6.
func (p *Policy) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	why := scheduler.Reason{Code: scheduler.NoWork, Say: "no job has work for {node}", Node: n}
	kinds, ripe := scheduler.RipeFirst(v.KindOrder(n, p.cfg.Reduces.Share))
	for _, k := range kinds {
		if len(p.lines[k].entries) == 0 {
			continue
		}
		why = scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for any pending {kind}", Node: n, Kind: k}
		if !v.HasRoom(n, k) {
			continue
		}
		best := p.best(search{p: p, now: now, t: now.Seconds(), n: n, k: k, v: v, ripe: ripe, best: none})
		if best == nil {
			continue
		}
		if !p.granted(best, k, now) {
			why = p.notNeeded(best, k, now)
			continue
		}
		if t, near, ok := v.PickTask(best.job, n, k); ok {
			return scheduler.Run(t, near, p.chosen(best, k, now))
		}
	}
	return scheduler.Idle(why)
}

// granted reports whether the job of highest priority gets the slot: late jobs and jobs without data always, others
// while they need more than they hold; under max any job (spec/deadline 3.6). Under min, jobs without a goal run when
// they are alone: no job with a goal has a task for this kind of slot (spec/deadline 3.7).
func (p *Policy) granted(e *entry, k scheduler.Kind, now time.Duration) bool {
	t := now.Seconds()
	return p.cfg.Max || e.state(t) != Adjust || e.deficit(t) > 0 || p.lines[k].goals == 0
}

// best returns the job of highest priority (spec/deadline 3.5) of which a task of
// kind k fits n, or nil.
func (p *Policy) best(s search) *entry {
	l := &p.lines[s.k]
	if s.t >= l.until {
		l.look(s.t, p.cfg.Relative)
	}
	s.l = l
	if int(l.last) < len(l.entries) {
		s.consider(l.last)
	}
	for b, top := range l.tops {
		if s.best == none || top >= s.score {
			s.block(b)
		}
	}
	if s.best == none {
		return nil
	}
	l.last = s.best
	return &l.entries[s.best]
}

// A search looks for the job of highest priority.
type search struct {
	p     *Policy
	l     *lineup
	now   time.Duration
	t     float64
	n     topology.NodeID
	k     scheduler.Kind
	v     *scheduler.View
	ripe  bool // skip reduces that would wait
	best  int32
	rank  rank
	score float64
}

// block considers the jobs of block b that could win.
func (s *search) block(b int) {
	for i := b * block; i < min((b+1)*block, len(s.l.bounds)); i++ {
		if s.best == none || s.l.bounds[i] >= s.score {
			s.consider(int32(i))
		}
	}
}

func (s *search) consider(i int32) {
	if i == s.best {
		return
	}
	if s.l.entries[i].expires <= s.t {
		s.p.refresh(s.now, s.l.entries[i].job)
	}
	e := &s.l.entries[i]
	r := e.rank(s.t, s.p.cfg.Relative)
	if s.best != none && !r.before(s.rank) || !s.v.Fits(s.n, e.job, s.k) || s.ripe && e.job.Waits(s.k) {
		return
	}
	s.best, s.rank, s.score = i, r, r.score()
}
