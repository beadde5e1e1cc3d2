package nas

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// crRTS is Algorithm 4 (spec/nas 3.9): the rack is congested; only shuffle-light jobs and
// sharers who have waited long enough start a reduce.
func (p *Policy) crRTS(now time.Duration, n topology.NodeID, v *view) scheduler.Decision {
	r := v.RackOf(n)
	p.filter(r, true)
	why := scheduler.Reason{Code: scheduler.ForNetwork, Say: "CR-RTS: {rack} is congested and no shuffle-light job has a reduce for {node}", Rack: r, Node: n}
	skipped := false
	for i := range p.shares.Len(scheduler.Reduce) {
		line := p.shares.At(scheduler.Reduce, i)
		w := p.reduces.At(line.Slot())
		if p.cfg.Reduces.Over(now, *w) {
			any, held := p.placeable(now, line, n, r, v)
			if held != nil && !skipped {
				skipped, why = true, p.hasShare(now, held, r, *p.places.At(line.Slot()))
			}
			if any.job == nil {
				continue
			}
			return runReduce(any.job, v, scheduler.Reason{Say: "CR-RTS: {rack} is congested, but {job} was skipped {a} times", Job: any.job.ID(), Rack: r, A: int64(w.Skips)})
		}
		light, held := p.lightest(line, n, r, v)
		if held == nil {
			continue // E is empty: not skipped
		}
		if light.job != nil { // a job without all its reduces here comes before the others
			return runReduce(light.job, v, scheduler.Reason{Say: "CR-RTS: {rack} is congested and {job} shuffles only {a:bytes}", Job: light.job.ID(), Rack: r, A: int64(light.shuffle)})
		}
		p.tag(line, n, v)
		w.Skip(now, v.Fresh(n))
		if !skipped {
			skipped, why = true, p.heldBack(now, held, r, *w)
		}
	}
	return scheduler.Idle(why)
}

// lightest returns the best choice among the shuffle-light jobs of a line, and the line's first eligible job.
func (p *Policy) lightest(line fair.Line, n topology.NodeID, r topology.RackID, v *view) (light choice, some *job) {
	for at := range line.Len() {
		j := line.At(at)
		if !p.eligible(j, n, v) {
			continue
		}
		if some == nil {
			some = j
		}
		if p.est.class(p.est.of(j)) != Light {
			continue
		}
		if c := p.choice(j, r); light.job == nil || c.before(&light, p.cfg.DelayedFirst) < 0 {
			light = c
		}
	}
	return light, some
}

// tag marks every eligible reduce of the line as delayed (spec/nas 3.9, line 6). None of
// its jobs is shuffle-light.
func (p *Policy) tag(line fair.Line, n topology.NodeID, v *view) {
	for at := range line.Len() {
		if j := line.At(at); p.eligible(j, n, v) {
			p.est.of(j).delayed = j.Pending(scheduler.Reduce)
		}
	}
}

func (p *Policy) heldBack(now time.Duration, j *job, r topology.RackID, w fair.Waited) scheduler.Reason {
	why := scheduler.Reason{Code: scheduler.ForNetwork, Job: j.ID(), Rack: r}
	used, all, byTime := p.cfg.Reduces.Progress(now, w)
	why.A, why.B = used, all
	why.Say = "CR-RTS: {rack} is congested, reduces of {job} are delayed, skips {a}/{b}"
	if byTime {
		why.Say = "CR-RTS: {rack} is congested, reduces of {job} are delayed, {a:time} of {b:time}"
	}
	return why
}
