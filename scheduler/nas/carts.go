package nas

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// caRTS is Algorithm 3 (spec/nas 3.8): the rack is not congested; the first sharer with an
// eligible reduce gets the place, for the job whose map output lies here. A sharer whose jobs have
// all their reduces in this rack is skipped until patience is over.
func (p *Policy) caRTS(now time.Duration, n topology.NodeID, v *view) scheduler.Decision {
	r := v.RackOf(n)
	p.filter(r, false)
	why := noReduce(n).Reason
	for i := range p.shares.Len(scheduler.Reduce) {
		line := p.shares.At(scheduler.Reduce, i)
		c, held := p.placeable(now, line, n, r, v)
		if c.job != nil {
			return runReduce(c.job, v, p.placed(&c, line, r))
		}
		if held != nil && why.Code != scheduler.ForPlan {
			why = p.hasShare(now, held, r, *p.places.At(line.Slot()))
		}
	}
	return scheduler.Idle(why)
}

// placeable returns the best choice of a line. If its eligible jobs all have their share of reduces in this rack, it
// skips the sharer, and returns one of those jobs as held, until patience is over.
func (p *Policy) placeable(now time.Duration, line fair.Line, n topology.NodeID, r topology.RackID, v *view) (c choice, held *job) {
	w := p.places.At(line.Slot())
	c, held = p.rank(line, n, r, p.cfg.Prefer || p.cfg.Reduces.Over(now, *w), v)
	if c.job != nil {
		return c, nil
	}
	if held != nil {
		w.Skip(now, v.Fresh(n))
	}
	return c, held
}

// hasShare says that a rack has the reduces of a job that belong there.
func (p *Policy) hasShare(now time.Duration, j *job, r topology.RackID, w fair.Waited) scheduler.Reason {
	used, all, byTime := p.cfg.Reduces.Progress(now, w)
	why := scheduler.Reason{Code: scheduler.ForPlan, Job: j.ID(), Rack: r, A: used, B: all}
	why.Say = "CA-RTS: {rack} has its share of the reduces of {job}, skips {a}/{b}"
	if byTime {
		why.Say = "CA-RTS: {rack} has its share of the reduces of {job}, {a:time} of {b:time}"
	}
	return why
}

// rank returns the best choice of a line, without a job if there is none. Unless filler is set it skips jobs that have their share
// of reduces in this rack, and returns one of those as held.
func (p *Policy) rank(line fair.Line, n topology.NodeID, r topology.RackID, filler bool, v *view) (best choice, held *job) {
	for at := range line.Len() {
		j := line.At(at)
		if !p.eligible(j, n, v) {
			continue
		}
		c := p.choice(j, r)
		if c.reached && !c.nowhere && !filler {
			held = j
			continue
		}
		if best.job == nil || c.before(&best, p.cfg.DelayedFirst) < 0 {
			best = c
		}
	}
	return best, held
}

// placed words the choice of a reduce.
func (p *Policy) placed(c *choice, line fair.Line, r topology.RackID) scheduler.Reason {
	here, all := p.est.outputIn(c.job, r)
	why := scheduler.Reason{Job: c.job.ID(), Group: line.Group, Rack: r, A: int64(here), B: int64(all)}
	switch {
	case c.delayed:
		why.Say = "CA-RTS: a delayed reduce of {job}; {rack} has {a:bytes} of its {b:bytes} of map output"
	case c.reached:
		why.Say = "CA-RTS: a reduce of {job} as filler; {rack} has {a:bytes} of its {b:bytes} of map output"
	default:
		why.Say = "CA-RTS: {rack} has {a:bytes} of the {b:bytes} of map output of {job}"
	}
	return why
}
