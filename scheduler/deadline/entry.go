package deadline

import (
	"math"

	"github.com/millrace/millrace/scheduler"
)

// An entry holds what decides about one job for tasks of one kind. Between events of the job, the work left falls by
// slope per second, so the entry can be evaluated at any time: pending(t) = work - slope*t. Times are seconds.
type entry struct {
	job     *job
	seq     int64
	goal    float64 // instant; +Inf without one
	end     float64 // the goal less what is reserved before it
	least   float64 // least time left, if something is reserved; else 0
	given   float64 // goal less submission
	work    float64
	slope   float64
	expires float64 // when a running task passes the mean, and slope changes
	running int32
	noData  bool
}

func (e *entry) pending(t float64) float64 { return e.work - e.slope*t }

// aims returns 1 for a job with a goal.
func (e *entry) aims() int {
	if math.IsInf(e.goal, 1) {
		return 0
	}
	return 1
}

// state is spec/deadline 3.4. A job without a goal is always in Adjust: it needs nothing (spec/deadline 3.7).
func (e *entry) state(t float64) State {
	switch {
	case t >= e.goal:
		return Undead
	case e.noData && !math.IsInf(e.goal, 1):
		return NoData
	}
	return Adjust
}

// need is the gross need of spec/deadline 3.3, or 0 without a goal (spec/deadline 3.7).
func (e *entry) need(t float64) float64 {
	if math.IsInf(e.goal, 1) {
		return 0
	}
	return Need(e.pending(t), math.Max(e.end-t, e.least))
}

func (e *entry) deficit(t float64) float64 { return Deficit(e.need(t), e.running) }

func (e *entry) late(t float64, relative bool) float64 {
	if e.noData {
		return math.Inf(1)
	}
	late := Lateness(t, e.pending(t), e.running, e.goal)
	if relative && e.given > 0 {
		late /= e.given
	}
	return late
}

// A rank is the priority of a job at one time; see before.
type rank struct {
	state State
	value float64 // lateness, or deficit
	goal  float64
	seq   int64
}

func (e *entry) rank(t float64, relative bool) rank {
	r := rank{state: e.state(t), goal: e.goal, seq: e.seq}
	switch r.state {
	case Undead:
		r.value = e.late(t, relative)
	case Adjust:
		r.value = e.deficit(t)
	}
	return r
}

// before is the order of spec/deadline 3.5: state; late jobs by lateness, then
// earlier goal; jobs without data by submission; others by deficit. Ties go to
// the older job.
func (r rank) before(o rank) bool {
	switch {
	case r.state != o.state:
		return r.state > o.state
	case r.value != o.value:
		return r.value > o.value
	case r.state == Undead && r.goal != o.goal:
		return r.goal < o.goal
	}
	return r.seq < o.seq
}

// The score of a rank is a number that is never smaller for a rank that comes before: enough to skip most jobs without
// evaluating them.
const noDataScore = 1 << 60

func (r rank) score() float64 {
	switch r.state {
	case Undead:
		return math.Inf(1)
	case NoData:
		return noDataScore - 256*float64(r.seq)
	}
	return math.Min(r.value, noDataScore/2)
}

type job = scheduler.Job
