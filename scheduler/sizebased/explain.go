package sizebased

import (
	"time"

	"github.com/millrace/millrace/scheduler"
)

// Explain implements scheduler.Explainer.
func (p *Policy) Explain(now time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	j := v.Job(id)
	if j == nil {
		return scheduler.Reason{Code: scheduler.NoWork, Say: "{job} is not an unfinished job", Job: id}
	}
	p.applyFeedback(now)
	at := p.at(j)
	if at.stopping {
		return scheduler.Reason{Code: scheduler.AtLimit, Say: "{job} moved to queue {a} and is being started again", Job: id, A: int64(at.queue) + 1}
	}
	for k := range scheduler.Driver {
		if p.lines[at.queue][k].Has(j) {
			return p.waits(j, at, k)
		}
	}
	return p.cfg.Reduces.Why(j)
}

func (p *Policy) waits(j *job, at *place, k scheduler.Kind) scheduler.Reason {
	r := scheduler.Reason{Code: scheduler.Behind, Job: j.ID(), Kind: k, A: int64(at.queue) + 1, B: int64(p.cfg.K), C: int64(p.ahead(j, at, k))}
	switch {
	case p.partition != nil && r.C == 0:
		r.Code, r.Say = scheduler.AtLimit, "{job} is first in queue {a} of {b} and waits for a {kind} slot on the nodes of that queue"
	case p.partition != nil:
		r.Say = "{job} is in queue {a} of {b}, which has its own nodes; {c:jobs are} before it there for {kind} slots"
	case r.C == 0:
		r.Code, r.Say = scheduler.NoRoom, "{job} is in queue {a} of {b}, first in line for {kind} slots, and waits for room"
	default:
		r.Say = "{job} is in queue {a} of {b}; {c:jobs are} before it for {kind} slots"
	}
	return r
}

// ahead counts the jobs before j: those of smaller queues too where queues share
// the nodes.
func (p *Policy) ahead(j *job, at *place, k scheduler.Kind) int {
	n := 0
	if p.partition == nil {
		for q := range at.queue {
			n += p.lines[q][k].Len()
		}
	}
	l := p.lines[at.queue][k]
	for i := range l.Len() {
		if l.At(i) == j {
			break
		}
		n++
	}
	return n
}
