package scheduler

import (
	"slices"
	"time"
)

// judge asks an admission that implements Judge about a plan. judged is false if it does not, or if the job does not
// wait for its plan.
func (g *Engine) judge(now time.Duration, e Event) (d AdmitDecision, judged bool) {
	who, ok := g.admission.(Judge)
	j := g.state.jobs[e.Job]
	if !ok || j == nil || j.phase != Admitted || e.Spec.Validate() != nil {
		return d, false
	}
	return who.Judge(now, j, e.Spec, &g.state.view), true
}

// release judges again the plans that were held back. It drops a plan whose job has ended.
func (g *Engine) release(now time.Duration, each func(AdmitDecision)) {
	held := g.held
	g.held = nil
	var still []Event
	for _, e := range held {
		if j := g.state.jobs[e.Job]; j == nil || j.phase != Admitted {
			continue
		}
		d, judged := g.judge(now, e)
		switch {
		case judged && d.Verdict == Hold:
			still = append(still, e)
		case judged && d.Verdict == Reject:
			if g.Feed(now, JobFailed(e.Job)) == nil && each != nil {
				each(d)
			}
		default:
			e.Flag = true
			_ = g.Feed(now, e) // the state accepted it when it came, and the job has not changed
		}
	}
	g.held = append(still, g.held...)
}

// explainHeld returns why the plan of a job is held back, and whether it is.
func (g *Engine) explainHeld(now time.Duration, id JobID) (Reason, bool) {
	i := slices.IndexFunc(g.held, func(e Event) bool { return e.Job == id })
	if i < 0 {
		return Reason{}, false
	}
	d, judged := g.judge(now, g.held[i])
	return d.Reason, judged && d.Verdict == Hold
}
