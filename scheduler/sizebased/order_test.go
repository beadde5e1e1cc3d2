package sizebased

import (
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/examine"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// literal keeps the queues of spec/slowdown 3.2 as it is written: at every event,
// look at every job of every queue; or, with check=completion, at the job of which a task has ended (spec/slowdown 6.5).
type literal struct {
	*Policy
	t      *testing.T
	limits []time.Duration
	queues [][]scheduler.JobID
	jobs   map[scheduler.JobID]*attained
}

// attained is what a job has used beside what its tasks have: what does not count.
type attained struct {
	since, waited, seen time.Duration
	idle                int32 // reduces that wait since seen
}

func newLiteral(t *testing.T, p *Policy) *literal {
	l := &literal{Policy: p, t: t, queues: make([][]scheduler.JobID, p.cfg.K), jobs: map[scheduler.JobID]*attained{}}
	for _, s := range p.cfg.Limits {
		l.limits = append(l.limits, time.Duration(s*1e9))
	}
	return l
}

func (l *literal) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	l.Policy.Observe(now, e, v)
	ended := false
	switch e.Kind {
	case scheduler.EvJobSubmitted:
		l.queues[0] = append(l.queues[0], e.Job)
		l.jobs[e.Job] = &attained{seen: now}
	case scheduler.EvJobFinished, scheduler.EvJobFailed, scheduler.EvJobVanished:
		for k := range l.queues {
			l.queues[k] = slices.DeleteFunc(l.queues[k], func(id scheduler.JobID) bool { return id == e.Job })
		}
		delete(l.jobs, e.Job)
	case scheduler.EvTaskFinished, scheduler.EvTaskFailed, scheduler.EvTaskKilled:
		ended = true
	}
	for id, a := range l.jobs {
		j := v.Job(id)
		a.waited += time.Duration(a.idle) * (now - a.seen)
		if a.seen, a.idle = now, 0; j.Waits(scheduler.Reduce) {
			a.idle = j.Usage().Tasks[scheduler.Reduce]
		}
	}
	if !l.cfg.OnCompletion || ended {
		l.apply(now, v, e.Job)
	}
}

func (l *literal) apply(now time.Duration, v *scheduler.View, only scheduler.JobID) {
	for k, limit := range l.limits {
		for _, id := range slices.Clone(l.queues[k]) {
			a := l.jobs[id]
			has := v.Job(id).Service(now) - a.since
			if !l.cfg.CountWait {
				has -= a.waited + time.Duration(a.idle)*(now-a.seen)
			}
			if has < limit || l.cfg.OnCompletion && id != only {
				continue
			}
			if l.cfg.PerQueue {
				a.since += has
			}
			l.queues[k] = slices.DeleteFunc(l.queues[k], func(o scheduler.JobID) bool { return o == id })
			l.queues[k+1] = append(l.queues[k+1], id)
		}
	}
}

func (l *literal) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	d := l.Policy.Assign(now, n, v)
	if !l.cfg.OnCompletion {
		l.apply(now, v, scheduler.NoJob)
	}
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
	for _, params := range []map[string]string{
		{"k": "3", "limits": "5,20", "count-wait": "false"},
		{"k": "3", "limits": "5,10", "per-queue": "true"},
		{"k": "3", "limits": "5,9", "check": "completion"},
		{"k": "3", "limits": "5,9", "count-wait": "false", "per-queue": "true"},
	} {
		inner := schedulertest.Factory(t, &FBQInfo, params)
		some(t, 20, func() scheduler.Policy { return newLiteral(t, inner().(*Policy)) })
	}
}

// some checks a policy in so many random situations, in every second of them nodes break.
func some(t *testing.T, n uint64, p func() scheduler.Policy) {
	t.Helper()
	for seed := range n {
		if _, err := examine.Run(examine.Draw(seed, seed%2 == 1), p, nil, examine.Promises{Quick: true}); err != nil {
			t.Fatalf("situation %d: %v", seed, err)
		}
	}
}

// counted checks, at every decision, what partitions go by: how many maps of each queue run, and that who abstains would have got nothing.
type counted struct {
	*Policy
	t *testing.T
}

func (c counted) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	c.t.Helper()
	abstains, own := c.Abstains(now, n, v), c.serves(n, v)
	want, work := make([]int32, c.cfg.K), false
	for j := range v.Jobs().All() {
		at := c.at(j)
		want[at.queue] += j.Running(scheduler.Map)
		for k := range scheduler.Driver {
			work = work || own.has(at.queue) && !at.stopping && v.HasRoom(n, k) && c.cfg.Reduces.Eligible(j, k)
		}
	}
	if !slices.Equal(c.maps, want) {
		c.t.Fatalf("at %v queues count %v running maps, there are %v", now, c.maps, want)
	}
	d := c.Policy.Assign(now, n, v)
	if abstains && d.OK || !abstains && !work && !c.lends(n, v) {
		c.t.Fatalf("at %v node %d abstains: %v; its queues have work: %v; it gets %v", now, n, abstains, work, d)
	}
	return d
}

func TestPartitionsCount(t *testing.T) {
	for _, c := range []struct {
		info   *scheduler.Info
		params map[string]string
	}{
		{&TAGSInfo, map[string]string{"limits": "40"}},
		{&TAGSInfo, map[string]string{"k": "3", "limits": "10,40", "shares": "0.4,0.3,0.3", "restart": "true"}},
		{&SITAInfo, map[string]string{"limits": "40"}},
	} {
		inner := schedulertest.Factory(t, c.info, c.params)
		schedulertest.Suite(t, func() scheduler.Policy { return counted{inner().(*Policy), t} }, schedulertest.Promises{Quick: true})
	}
}
