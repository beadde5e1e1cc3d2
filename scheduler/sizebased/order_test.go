package sizebased

import (
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// literal keeps the queues of spec/slowdown 3.2 as it is written: at every event,
// look at every job of every queue.
type literal struct {
	*Policy
	t      *testing.T
	limits []time.Duration
	queues [][]scheduler.JobID
}

func newLiteral(t *testing.T, p *Policy) *literal {
	l := &literal{Policy: p, t: t, queues: make([][]scheduler.JobID, p.cfg.K)}
	for _, s := range p.cfg.Limits {
		l.limits = append(l.limits, time.Duration(s*1e9))
	}
	return l
}

func (l *literal) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	l.Policy.Observe(now, e, v)
	switch e.Kind {
	case scheduler.EvJobSubmitted:
		l.queues[0] = append(l.queues[0], e.Job)
	case scheduler.EvJobFinished, scheduler.EvJobFailed, scheduler.EvJobVanished:
		for k := range l.queues {
			l.queues[k] = slices.DeleteFunc(l.queues[k], func(id scheduler.JobID) bool { return id == e.Job })
		}
	}
	l.apply(now, v)
}

func (l *literal) apply(now time.Duration, v *scheduler.View) {
	for k, limit := range l.limits {
		for _, id := range slices.Clone(l.queues[k]) {
			if v.Job(id).Service(now) >= limit {
				l.queues[k] = slices.DeleteFunc(l.queues[k], func(o scheduler.JobID) bool { return o == id })
				l.queues[k+1] = append(l.queues[k+1], id)
			}
		}
	}
}

func (l *literal) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	d := l.Policy.Assign(now, n, v)
	l.apply(now, v)
	for q, ids := range l.queues {
		for k := range kinds {
			var want, got []scheduler.JobID
			for _, id := range ids {
				if l.cfg.Reduces.Eligible(v.Job(id), scheduler.Kind(k)) {
					want = append(want, id)
				}
			}
			for i := range l.lines[q][k].Len() {
				got = append(got, l.lines[q][k].At(i).ID())
			}
			if !slices.Equal(got, want) {
				l.t.Fatalf("at %v queue %d has %v, as written it has %v", now, q+1, got, want)
			}
		}
	}
	return d
}

// The watched crossing times give the same queues as looking at every job at
// every event.
func TestFeedbackAgainstScan(t *testing.T) {
	for _, params := range []map[string]string{{"limits": "25"}, {"k": "4", "limits": "3,10,40"}} {
		inner := schedulertest.Factory(t, &FBQInfo, params)
		wrap := func() scheduler.Policy { return newLiteral(t, inner().(*Policy)) }
		schedulertest.Suite(t, wrap, schedulertest.Promises{WorkConserving: true, Quick: true})
	}
}
