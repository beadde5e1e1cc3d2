package deadline

import (
	"math"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// An Estimate is what the policy believes about one job and one kind of task:
// the record of spec/deadline 7, items 4 and 5. Times are seconds.
type Estimate struct {
	State   State
	Mean    float64 // mu
	Pending float64 // slot-seconds left, as it enters the need
	Need    float64 // gross, capped at running + not started (spec/deadline 3.7)
	Deficit float64 // s_req, raw
	Running int32
}

// Estimate returns what the policy believes about j.
func (p *Policy) Estimate(now time.Duration, j *scheduler.Job, k scheduler.Kind) Estimate {
	both := p.estimate(now, j)
	e, t := p.entry(j, k, &both), now.Seconds()
	return Estimate{
		State: e.state(t), Mean: both[k].mean, Pending: e.pending(t), Need: p.capped(&e, j, k, t), Deficit: e.deficit(t), Running: e.running,
	}
}

// Forecast returns when j will be done, in seconds, if it holds n map slots from
// now on (spec/deadline 3.1, 3.2). Without data it is too early: ok is false.
func (p *Policy) Forecast(now time.Duration, j *scheduler.Job, n int) (at float64, ok bool) {
	both, t := p.estimate(now, j), now.Seconds()
	maps, reduces := &both[scheduler.Map], &both[scheduler.Reduce]
	return Forecast(t, maps.left-maps.slope*t, float64(n), ReducePhase(reduces.ahead, p.slots, reduces.mean)), !noData(j)
}

// Figures implements scheduler.Figurer: the surplus of slots of spec/deadline 3.6, eq. 4, and for each job with a goal
// the slots that it needs, when it will be done if it keeps its map slots, and when it should be done, in seconds of
// the cluster's age.
func (p *Policy) Figures(now time.Duration, v *scheduler.View) (out []scheduler.Figure) {
	for k, name := range [...]string{"surplus-maps", "surplus-reduces"} {
		out = append(out, scheduler.Figure{Name: name, Job: scheduler.NoJob, Value: p.Surplus(now, scheduler.Kind(k), v)})
	}
	for j := range v.Jobs().All() {
		goal := j.Spec().Deadline
		if j.Phase() != scheduler.Ready || goal == 0 {
			continue
		}
		maps, reduces := p.Estimate(now, j, scheduler.Map), p.Estimate(now, j, scheduler.Reduce)
		add := func(name string, value float64) {
			out = append(out, scheduler.Figure{Name: name, Job: j.ID(), Value: value})
		}
		add("need-maps", maps.Need)
		add("need-reduces", reduces.Need)
		if at, ok := p.Forecast(now, j, int(j.Running(scheduler.Map))); ok {
			add("forecast", at)
			add("late", at-goal.Seconds())
		}
	}
	return out
}

// capped returns the need for display: never more than there are tasks. A job that is late or unknown wants a slot for
// each.
func (p *Policy) capped(e *entry, j *job, k scheduler.Kind, t float64) float64 {
	tasks := float64(j.Running(k) + j.Pending(k))
	if e.state(t) != Adjust {
		return tasks
	}
	return math.Min(e.need(t), tasks)
}

// Surplus is the slots of kind k that nobody needs, eq. 4 (spec/deadline 3.6):
// what an elastic cluster could release. Negative: the cluster is overloaded.
func (p *Policy) Surplus(now time.Duration, k scheduler.Kind, v *scheduler.View) float64 {
	surplus := float64(v.Total().Slots[k])
	for j := range v.Jobs().All() {
		if j.Phase() == scheduler.Ready {
			both := p.estimate(now, j)
			e := p.entry(j, k, &both)
			surplus -= p.capped(&e, j, k, now.Seconds())
		}
	}
	return surplus
}
