package nas

import (
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// caRTS is Algorithm 3 (3.8): the rack is not congested; the first sharer with an
// eligible reduce gets the place, for the job whose map output lies here.
func (p *Policy) caRTS(n topology.NodeID, v *view) scheduler.Decision {
	r := v.RackOf(n)
	p.filter(r, false)
	for i := range p.shares.Len(scheduler.Reduce) {
		line := p.shares.At(scheduler.Reduce, i)
		if c := p.rank(line, n, r, v); c.job != nil {
			return runReduce(c.job, v, p.placed(&c, line, r))
		}
	}
	return noReduce(n)
}

// rank returns the best choice of a line; without a job if there is none.
func (p *Policy) rank(line fair.Line, n topology.NodeID, r topology.RackID, v *view) (best choice) {
	for at := range line.Len() {
		j := line.At(at)
		if !p.eligible(j, n, v) {
			continue
		}
		c := p.choice(j, r)
		if best.job == nil || c.before(&best, p.cfg.DelayedFirst) < 0 {
			best = c
		}
	}
	return best
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
