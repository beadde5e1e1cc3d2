package sizebased

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
)

const never = time.Duration(math.MaxInt64)

// feedback moves jobs down as they consume service. Between two events of a job its service grows at a known rate, so
// the time when it will cross its limit is known, too, and there is no need to examine every job.
type feedback struct {
	limits       []time.Duration // L_k by queue; the last queue has none
	perQueue     bool
	countWait    bool
	onCompletion bool
	// due has the jobs of each queue but the last, by the time at which they cross its limit if nothing happens to them
	// before.
	due   []*scheduler.Order[*job, time.Duration]
	moved []*job // scratch
}

func newFeedback(c *Config) *feedback {
	f := &feedback{perQueue: c.PerQueue, countWait: c.CountWait, onCompletion: c.OnCompletion}
	for range c.Limits {
		f.due = append(f.due, scheduler.NewOrder[*job](cmp.Compare[time.Duration]))
	}
	f.setLimits(c.Limits)
	return f
}

// setLimits replaces the limits by as many others; the caller watches every job again.
func (f *feedback) setLimits(limits []float64) {
	f.limits = f.limits[:0]
	for _, l := range limits {
		f.limits = append(f.limits, seconds(l))
	}
}

func seconds(s float64) time.Duration {
	if s >= float64(never)/1e9 {
		return never
	}
	return time.Duration(s * 1e9)
}

// attained is A of spec/slowdown 3.2: slot time consumed by ended and running
// attempts, without the waiting of reduces if that does not count (spec/slowdown 6.2), from
// where the limit is counted.
func (f *feedback) attained(now time.Duration, j *job, p *place) time.Duration {
	a := j.Service(now) - p.since
	if !f.countWait {
		a -= p.waited + time.Duration(p.idle)*(now-p.seen)
	}
	return a
}

// rate is how many slots add to the service of j.
func (f *feedback) rate(j *job, p *place) time.Duration {
	running := j.Usage().Tasks[scheduler.Map] + j.Usage().Tasks[scheduler.Reduce]
	if !f.countWait {
		running -= p.idle
	}
	return time.Duration(running)
}

// wait updates the waiting time of j's reduces: those that hold a slot while maps are missing wait.
func (p *place) wait(now time.Duration, j *job) {
	p.waited += time.Duration(p.idle) * (now - p.seen)
	p.seen, p.idle = now, 0
	if _, done := j.MapsDoneAt(); !done {
		p.idle = j.Usage().Tasks[scheduler.Reduce]
	}
}

// crossing returns when j crosses its limit if nothing else happens.
func (f *feedback) crossing(now time.Duration, j *job, p *place) time.Duration {
	missing := f.limits[p.queue] - f.attained(now, j, p)
	if missing <= 0 {
		return now
	}
	if rate := f.rate(j, p); rate > 0 && !f.onCompletion {
		return now + (missing+rate-1)/rate
	}
	return never
}

// watch notes when j will cross its limit. completed says that a task of the job has just ended.
func (f *feedback) watch(now time.Duration, j *job, p *place, completed bool) {
	if !p.in || p.stopping || int(p.queue) >= len(f.limits) {
		return
	}
	if f.onCompletion && !completed {
		return
	}
	f.due[p.queue].Set(j, f.crossing(now, j, p))
}

// forget drops j, which leaves queue q.
func (f *feedback) forget(j *job, q int32) {
	if int(q) < len(f.due) {
		f.due[q].Remove(j)
	}
}

// crossed returns the jobs of queue k that are at or past its limit, in the
// order of the queue, and stops watching them. The slice is valid until the next
// call.
func (f *feedback) crossed(now time.Duration, k int, q *queues) []*job {
	due := f.due[k]
	if due.Len() == 0 || due.KeyAt(0) > now {
		return nil
	}
	f.moved = f.moved[:0]
	for i := 0; i < due.Len() && due.KeyAt(i) <= now; i++ {
		f.moved = append(f.moved, due.At(i))
	}
	for _, j := range f.moved {
		due.Remove(j)
	}
	slices.SortFunc(f.moved, func(a, b *job) int { return cmp.Compare(q.at(a).pos, q.at(b).pos) })
	return f.moved
}
