package sizebased

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// restart says how far a job that starts from nothing has been taken apart.
type restart struct {
	kind scheduler.Kind
	next int32 // tasks of kind below it have been forgotten
}

// Kill implements scheduler.Killer: with Restart (spec/slowdown 3.3) a job that
// moved down loses its running attempts, then its finished tasks. Until the last
// is gone it takes nothing.
func (p *Policy) Kill(now time.Duration, v *scheduler.View) (scheduler.Victim, bool) {
	for len(p.stopping) > 0 {
		j := p.stopping[0]
		if k, ok := p.victim(j, v); ok {
			return k, true
		}
		p.stopRestart(j)
		at := p.at(j)
		at.stopping = false
		at.wait(now, j)
		p.feedback.watch(now, j, at, true)
		p.list(j, &p.cfg.Reduces)
	}
	return scheduler.Victim{}, false
}

func (p *Policy) victim(j *job, v *scheduler.View) (scheduler.Victim, bool) {
	if j.Complete() {
		return scheduler.Victim{}, false // all tasks are done: there is nothing to start again
	}
	why := scheduler.Reason{Code: scheduler.AtLimit, Say: "{job} moved to queue {a} and starts again", Job: j.ID(), A: int64(p.at(j).queue) + 1}
	for k := range scheduler.Driver {
		for a := range v.Attempts(j, k) {
			return scheduler.Victim{Task: a.Task, Node: a.Node, Reason: why}, true
		}
	}
	r := &p.at(j).restart
	for ; r.kind < scheduler.Driver; r.kind, r.next = r.kind+1, 0 {
		for r.next < j.Total(r.kind) {
			t := scheduler.TaskID{Job: j.ID(), Kind: r.kind, Index: r.next}
			r.next++
			if j.TaskState(t.Kind, t.Index) == scheduler.TaskDone {
				return scheduler.Victim{Task: t, Node: topology.NoNode, Reason: why}, true
			}
		}
	}
	return scheduler.Victim{}, false
}

func (p *Policy) stopRestart(j *job) {
	p.stopping = slices.DeleteFunc(p.stopping, func(o *job) bool { return o == j })
}
