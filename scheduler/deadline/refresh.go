package deadline

import (
	"math"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// refresh estimates j again and puts it where it belongs.
func (p *Policy) refresh(now time.Duration, j *job) {
	var both [kinds]work
	estimated := false
	for k := range kinds {
		if !p.cfg.Reduces.Eligible(j, scheduler.Kind(k)) {
			p.lines[k].remove(j)
			continue
		}
		if !estimated {
			both, estimated = p.estimate(now, j), true
		}
		p.lines[k].set(p.entry(j, scheduler.Kind(k), &both), now.Seconds(), p.cfg.Relative)
	}
}

// work is what is left to do for one kind, as a function of time: left - slope*t
// until expires, when the slope changes.
type work struct {
	mean        float64
	left, slope float64
	expires     float64
	running     int32
	ahead       int32 // not begun: not started, or waiting for maps
}

// estimate is spec/deadline 3.1 and 3.2 for both kinds.
func (p *Policy) estimate(now time.Duration, j *job) [kinds]work {
	var out [kinds]work
	c := &p.clocks[j.Slot()]
	means := p.means(j)
	for k := range kinds {
		kind := scheduler.Kind(k)
		w := work{mean: means[k], running: j.Running(kind), ahead: j.Pending(kind), expires: math.Inf(1)}
		done, ok := j.MapsDoneAt()
		if kind == scheduler.Reduce && !ok {
			w.ahead += w.running
		}
		w.left = float64(w.ahead) * w.mean
		if kind == scheduler.Map || ok {
			if kind == scheduler.Reduce && c[k].since != done {
				p.ticks.notBefore(&c[k], done)
			}
			p.age(now, &c[k], &w)
		}
		out[k] = w
	}
	return out
}

// means returns mu of maps and reduces: reduces without the time they waited for
// maps, and before any has finished the cost ratio times the maps' (spec/deadline 3.2).
func (p *Policy) means(j *job) [kinds]float64 {
	maps, sum, _ := j.Samples(scheduler.Map)
	reduces, _, _ := j.Samples(scheduler.Reduce)
	mu := [kinds]float64{Mean(sum.Seconds(), maps), Mean(j.WorkSum(scheduler.Reduce).Seconds(), reduces)}
	if reduces == 0 {
		mu[scheduler.Reduce] = p.ratio(j) * mu[scheduler.Map]
	}
	return mu
}

func (p *Policy) ratio(j *job) float64 {
	if r := j.Spec().ReduceCostRatio; r > 0 {
		return r
	}
	return p.cfg.ReduceCostRatio
}

// age adds what the running tasks of c still need: the sum of mean - (t - start)
// over those younger than the mean.
func (p *Policy) age(now time.Duration, c *clock, w *work) {
	split := time.Duration(-1 << 62)
	if mean := time.Duration(w.mean * 1e9); p.cfg.ClampDelta {
		split = now - mean
	}
	p.ticks.move(c, split)
	w.left += float64(c.young)*(w.mean+c.base.Seconds()) + c.sum.Seconds()
	w.slope = float64(c.young)
	if p.cfg.ClampDelta && c.first != none {
		w.expires = p.ticks.all[c.first].start.Seconds() + w.mean
	}
}

// entry turns the estimates into what decides about tasks of kind k.
func (p *Policy) entry(j *job, k scheduler.Kind, both *[kinds]work) entry {
	mine, reduces := &both[k], &both[scheduler.Reduce]
	e := entry{
		job: j, seq: j.Seq(), goal: math.Inf(1), work: mine.left, slope: mine.slope, expires: mine.expires, running: mine.running,
		noData: noData(j),
	}
	if d := j.Spec().Deadline; d > 0 {
		e.goal, e.given = d.Seconds(), (d - j.Submitted()).Seconds()
	}
	if k == scheduler.Map && !p.cfg.Staged { // pooled: map slots for the work of both
		e.work += reduces.left
		e.slope += reduces.slope
		e.expires = math.Min(e.expires, reduces.expires)
	}
	e.end = e.goal - p.reserve(j, k, both)
	if e.end < e.goal {
		e.least = 1
	}
	return e
}

// reserve is the time kept free before the goal: the reduce phase when staged,
// and with TailReserve one longest task too (spec/deadline 3.2, 6.5).
func (p *Policy) reserve(j *job, k scheduler.Kind, both *[kinds]work) float64 {
	reserve := 0.0
	if k == scheduler.Map && (p.cfg.Staged || p.cfg.TailReserve) {
		reserve = ReducePhase(both[scheduler.Reduce].ahead, p.slots, both[scheduler.Reduce].mean)
	}
	if p.cfg.TailReserve {
		_, _, longest := j.Samples(k)
		reserve += longest.Seconds()
	}
	return reserve
}

// noData reports whether no task of the job has finished (spec/deadline 6.3).
func noData(j *job) bool {
	maps, _, _ := j.Samples(scheduler.Map)
	reduces, _, _ := j.Samples(scheduler.Reduce)
	return maps+reduces == 0
}
