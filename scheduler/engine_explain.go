package scheduler

import "time"

// Explain returns why job id is not getting more: first what State knows (unknown, too large for any node, not
// admitted, no driver, nothing pending), then the policy's own words, if any.
func (g *Engine) Explain(now time.Duration, id JobID) Reason {
	v := &g.state.view
	j := v.Job(id)
	switch {
	case j == nil || j.phase == Ended:
		return Reason{Code: NoWork, Say: "{job} is not an unfinished job", Job: id}
	}
	if why, never := v.TooLarge(j); never {
		return why
	}
	switch {
	case j.phase == Waiting:
		return g.explainWaiting(now, j)
	case j.phase == Admitted:
		if why, held := g.explainHeld(now, id); held {
			return why
		}
		if why, stuck := j.explainLimit(); stuck {
			return why
		}
		return g.explainDriver(j)
	case j.tasks[Map].pending+j.tasks[Reduce].pending == 0:
		return Reason{Code: NoWork, Say: "{job} has nothing to assign: {a} maps and {b} reduces run", Job: id, A: int64(j.Running(Map)), B: int64(j.Running(Reduce))}
	}
	if why, stuck := j.explainLimit(); stuck {
		return why
	}
	if x, ok := g.policy.(Explainer); ok {
		return x.Explain(now, id, v)
	}
	return Reason{Code: Behind, Say: "{job} waits for room: {a} maps and {b} reduces pending", Job: id, A: int64(j.Pending(Map)), B: int64(j.Pending(Reduce))}
}

func (g *Engine) explainWaiting(now time.Duration, j *Job) Reason {
	if x, ok := g.admission.(Explainer); ok {
		return x.Explain(now, j.id, &g.state.view)
	}
	return Reason{Code: ForAdmission, Say: "{job} waits for admission", Job: j.id}
}
