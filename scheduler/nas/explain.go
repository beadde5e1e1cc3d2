package nas

import (
	"time"

	"github.com/millrace/millrace/scheduler"
)

// Explain implements scheduler.Explainer.
func (p *Policy) Explain(now time.Duration, id scheduler.JobID, v *view) scheduler.Reason {
	j := v.Job(id)
	if j.Pending(scheduler.Map) > 0 {
		return p.explainMaps(now, j)
	}
	return p.explainReduces(now, j)
}

func (p *Policy) explainMaps(now time.Duration, j *job) scheduler.Reason {
	w := *p.maps.At(sharer(p.cfg.Key, j))
	if w.Skips == 0 {
		return explainLine(p.shares.At, p.shares.Len(scheduler.Map), j, scheduler.Map)
	}
	r := scheduler.Reason{Code: scheduler.ForLocality, Job: j.ID(), Group: j.User()}
	used, all, byTime := p.cfg.Maps.Progress(now, w)
	r.A, r.B, r.C = used, all, int64(min(p.limit, 1<<62))
	filtered := p.est.class(p.est.of(j)) != Light && p.anyFiltered()
	if filtered {
		r.Code = scheduler.ForNetwork
	}
	r.Say = waitSay(byTime, !p.cfg.CapTraffic, filtered)
	return r
}

// waitSay words what maps wait for.
func waitSay(byTime, uncapped, filtered bool) string {
	switch {
	case filtered && byTime:
		return "maps of {job} have waited {a:time} of {b:time} for uncongested racks or for their turn"
	case filtered:
		return "maps of {job} wait for uncongested racks or for their turn: {a} of {b} skips"
	case uncapped && byTime:
		return "maps of {job} have waited {a:time} of {b:time} for a node with their data"
	case uncapped:
		return "maps of {job} wait for a node with their data: {a} of {b} skips"
	case byTime:
		return "maps of {job} have waited {a:time} of {b:time} for a node with their data that is producing little enough, of {c:bytes} at most"
	}
	return "maps of {job} wait for a node with their data that is producing little enough, of {c:bytes} at most: {a} of {b} skips"
}

func (p *Policy) anyFiltered() bool {
	for _, up := range p.filtered {
		if up {
			return true
		}
	}
	return false
}

func (p *Policy) explainReduces(now time.Duration, j *job) scheduler.Reason {
	est := p.est.of(j)
	switch t := p.threshold(est); {
	case j.MapProgress() < t-slack:
		return scheduler.Reason{
			Code: scheduler.ForSlowstart, Say: "reduces of {job} wait until {b:milli} of its maps are done; {a:milli} are",
			Job: j.ID(), A: int64(1000 * j.MapProgress()), B: int64(1000 * t),
		}
	case est.delayed > 0:
		r := p.heldBack(now, j, 0, *p.reduces.At(sharer(p.cfg.Key, j)))
		r.Say = "{c} reduces of {job} were delayed in congested racks: {a} of {b} skips"
		if p.cfg.Reduces.ByTime {
			r.Say = "{c} reduces of {job} were delayed in congested racks: {a:time} of {b:time}"
		}
		r.C = int64(est.delayed)
		return r
	}
	if w := *p.places.At(sharer(p.cfg.Key, j)); w.Skips > 0 && p.cfg.Mechanisms != "mts" {
		r := p.hasShare(now, j, 0, w)
		r.Say = "reduces of {job} wait for racks with its map output: {a} of {b} skips"
		if p.cfg.Reduces.ByTime {
			r.Say = "reduces of {job} wait for racks with its map output: {a:time} of {b:time}"
		}
		return r
	}
	return explainLine(p.shares.At, p.shares.Len(scheduler.Reduce), j, scheduler.Reduce)
}
