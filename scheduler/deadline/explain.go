package deadline

import (
	"math"
	"time"

	"github.com/millrace/millrace/scheduler"
)

func milli(f float64) int64 {
	if math.Abs(f) > 1e12 {
		return int64(math.Copysign(1e15, f))
	}
	return int64(math.Round(f * 1000))
}

func (p *Policy) chosen(e *entry, k scheduler.Kind, now time.Duration) scheduler.Reason {
	t := now.Seconds()
	r := scheduler.Reason{Job: e.job.ID(), Kind: k, A: milli(e.need(t)), B: int64(e.running), C: milli(e.deficit(t))}
	switch {
	case e.state(t) == Undead:
		r.Say, r.A = "{job} has missed its goal by {a:time}", int64((t-e.goal)*1e9)
	case e.state(t) == NoData:
		r.Say = "{job} has no finished task yet: nothing is known about it"
	case math.IsInf(e.goal, 1):
		r.Say = "{job} has no goal and takes what nobody needs"
	case e.deficit(t) > 0:
		r.Say = "{job} needs {a:milli} {kind} slots to meet its goal and holds {b}"
	default:
		r.Say = "{job} needs {a:milli} {kind} slots, holds {b}, and gets one that nobody needs"
	}
	return r
}

func (p *Policy) notNeeded(e *entry, k scheduler.Kind, now time.Duration) scheduler.Reason {
	return scheduler.Reason{
		Code: scheduler.NotNeeded, Say: "nobody needs this {kind} slot: {job} is closest to needing it, with a need of {a:milli} and {b} held",
		Job: e.job.ID(), Kind: k, A: milli(e.need(now.Seconds())), B: int64(e.running),
	}
}

// Explain implements scheduler.Explainer.
func (p *Policy) Explain(now time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	j := v.Job(id)
	if j == nil {
		return scheduler.Reason{Code: scheduler.NoWork, Say: "{job} is not an unfinished job", Job: id}
	}
	p.refresh(now, j)
	for k := range scheduler.Driver {
		if i := p.lines[k].index(j); i != none {
			return p.waits(&p.lines[k].entries[i], k, now)
		}
	}
	return p.cfg.Reduces.Why(j)
}

func (p *Policy) waits(e *entry, k scheduler.Kind, now time.Duration) scheduler.Reason {
	t := now.Seconds()
	r := scheduler.Reason{Code: scheduler.Behind, Job: e.job.ID(), Kind: k, A: milli(e.need(t)), B: int64(e.running), C: int64(p.ahead(e, k, now))}
	switch {
	case e.state(t) == Undead:
		r.Say, r.A = "{job} missed its goal {a:time} ago; {c} jobs come before it for {kind} slots", int64((t-e.goal)*1e9)
	case e.state(t) == NoData:
		r.Say = "{job} has no finished task yet; {c} jobs come before it for {kind} slots"
	case !p.granted(e, k, now) && math.IsInf(e.goal, 1):
		r.Code, r.Say = scheduler.NotNeeded, "{job} has no goal: it waits until no job with one is left"
	case !p.granted(e, k, now):
		r.Code, r.Say = scheduler.NotNeeded, "{job} is ahead of its goal: it needs {a:milli} {kind} slots and holds {b}"
	default:
		r.Say = "{job} needs {a:milli} {kind} slots and holds {b}; {c} jobs come before it"
	}
	if r.Code == scheduler.Behind && r.C == 0 {
		r.Code = scheduler.NoRoom
	}
	return r
}

// ahead counts the jobs with a higher priority.
func (p *Policy) ahead(e *entry, k scheduler.Kind, now time.Duration) int {
	t, n := now.Seconds(), 0
	mine := e.rank(t, p.cfg.Relative)
	for i := range p.lines[k].entries {
		if p.lines[k].entries[i].rank(t, p.cfg.Relative).before(mine) {
			n++
		}
	}
	return n
}
