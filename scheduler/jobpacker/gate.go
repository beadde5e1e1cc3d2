package jobpacker

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Release implements scheduler.ShuffleGate: the output that a planned heavy job
// has ready for another rack is held until it is worth a circuit (spec/jobpacker
// 3.3). What is ready later is held anew: a pair that has begun on a circuit takes
// no mice along (spec/jobpacker 5, item 9).
func (p *Policy) Release(now time.Duration, id scheduler.JobID, src, dst topology.RackID, avail int64, v *scheduler.View) bool {
	j := v.Job(id)
	if j == nil || src == dst {
		return true
	}
	r := p.record(j)
	if r == nil || p.cfg.Corral || !r.heavy || r.held() == nil {
		return true
	}
	pair := [2]topology.RackID{src, dst}
	ok := p.ready(now, r.waits(now, pair), j, r.held(), dst, avail)
	if ok {
		delete(r.waiting, pair)
	}
	return ok
}

// waits returns since when a pair has had something to send. It notes the time if the pair is new.
func (r *record) waits(now time.Duration, pair [2]topology.RackID) time.Duration {
	if r.waiting == nil {
		r.waiting = make(map[[2]topology.RackID]time.Duration)
	}
	since, ok := r.waiting[pair]
	if !ok {
		since = now
		r.waiting[pair] = now
	}
	return since
}

// held returns the racks for which the job's shuffle is held; nil: for none.
func (r *record) held() *plan {
	if r.plan != nil {
		return r.plan
	}
	return r.limit
}

// ready reports whether a pair that has waited since a given time may be sent. A pair is flushed MaxHold after the last
// map, or after it began to wait if that was later: reduces that are placed late are held for each other as the first
// ones were.
func (p *Policy) ready(now, since time.Duration, j *job, q *plan, dst topology.RackID, avail int64) bool {
	mapsDone, all := j.MapsDoneAt()
	placed := p.allPlaced(j, q, dst)
	if all && (placed || now-max(mapsDone, since) >= p.cfg.MaxHold) { // flush
		return true
	}
	return avail > p.model.Threshold && (placed || !p.cfg.WaitAll)
}

// allPlaced reports whether every reduce of j that belongs in rack r is placed.
func (p *Policy) allPlaced(j *job, q *plan, r topology.RackID) bool {
	return j.Pending(scheduler.Reduce) == 0 || !slices.Contains(q.racks[scheduler.Reduce], r) ||
		p.used(j, r, scheduler.Reduce) >= p.quota(q, scheduler.Reduce, r)
}
