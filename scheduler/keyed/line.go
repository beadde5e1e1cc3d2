package keyed

import (
	"iter"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Line is what policies by key have in common: which jobs may be served, and what gives way.
type Line struct{ Rule scheduler.ReduceRule }

var _ scheduler.Killer = (*Line)(nil)

// Serve calls first for the best job and its key, for each kind of task in turn, and runs the nearest task of that job.
func (l *Line) Serve(n topology.NodeID, v *scheduler.View, first func(scheduler.Kind) (*scheduler.Job, string, error)) (scheduler.Decision, error) {
	for _, k := range l.Rule.Kinds(v, n) {
		if !v.HasRoom(n, k) {
			continue
		}
		best, key, err := first(k)
		if err != nil {
			return scheduler.Decision{}, err
		}
		if best == nil {
			continue
		}
		if t, near, ok := v.PickTask(best, n, k); ok {
			return scheduler.Run(t, near, scheduler.Reason{Say: "{job} has the smallest key: " + key, Job: best.ID(), Node: n, Kind: k}), nil
		}
	}
	return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork, Say: "no job has work for {node}", Node: n}), nil
}

// Candidates returns the jobs with a task of a kind that may start on a node, oldest first.
func (l *Line) Candidates(n topology.NodeID, k scheduler.Kind, v *scheduler.View) iter.Seq[*scheduler.Job] {
	return func(yield func(*scheduler.Job) bool) {
		for j := range v.Pending(k).All() {
			if !l.Rule.Eligible(j, k) || !v.Fits(n, j, k) || k == scheduler.Reduce && !l.Rule.AllowsReduce(v, n, j, needy(v)) {
				continue
			}
			if !yield(j) {
				return
			}
		}
	}
}

// needy returns the oldest job with a waiting map: waiting reduces give way to it.
func needy(v *scheduler.View) scheduler.Needy {
	n := scheduler.Needy{Owed: func(a *scheduler.Job, more int32, b *scheduler.Job, _ int32) bool { return a.Held()+more > b.Held() }}
	if maps := v.Pending(scheduler.Map); maps.Len() > 0 {
		n.Job = maps.At(0)
	}
	return n
}

// Kill implements scheduler.Killer: reduces that wait give way to maps.
func (l *Line) Kill(now time.Duration, v *scheduler.View) (scheduler.Victim, bool) {
	return l.Rule.GiveBack(now, v, needy(v))
}
