package hybrid

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// stuckAfter is how long a class must be stuck before it is helped: several
// heartbeats, so that nothing is about to happen.
const stuckAfter = 30 * time.Second

// Interval implements scheduler.Ticker.
func (p *Policy) Interval() time.Duration { return stuckAfter / 2 }

// Tick implements scheduler.Ticker: a class that has locked itself up lets its oldest waiting job run on the other. A
// class locks itself up when everything that runs there is drivers, and reduces that wait for maps which find no room;
// scheduler.Deadlock does not see it while the other class has room.
func (p *Policy) Tick(now time.Duration, v *scheduler.View) {
	for c := range class(numClasses) {
		j := p.stuck(c, v)
		if j == nil {
			p.moving[c] = now
		} else if now-p.moving[c] >= stuckAfter {
			p.release(j, p.records.Of(j), v)
			p.moving[c] = now
		}
	}
}

// stuck returns the oldest waiting job of a class on which nothing can end and which has no room for it; nil if there
// is none.
func (p *Policy) stuck(c class, v *scheduler.View) *scheduler.Job {
	if p.waiting(c) == 0 || p.running[c][scheduler.Map] > 0 || p.reducesGoOn(c, v) {
		return nil
	}
	for j := range v.Jobs().All() {
		r := p.records.Of(j)
		if r == nil || r.free || r.home != c {
			continue
		}
		for k := range scheduler.Driver {
			if p.cfg.Fair.Reduces.Eligible(j, k) {
				if p.fitsOn(j, k, c, v) {
					return nil
				}
				return j
			}
		}
	}
	return nil
}

// fitsOn reports whether some node of class c has room for a task of j.
func (p *Policy) fitsOn(j *scheduler.Job, k scheduler.Kind, c class, v *scheduler.View) bool {
	for n, of := range p.nodes {
		if of == c && v.Fits(topology.NodeID(n), j, k) {
			return true
		}
	}
	return false
}

// reducesGoOn reports whether some reduce on class c has all its maps.
func (p *Policy) reducesGoOn(c class, v *scheduler.View) bool {
	if p.running[c][scheduler.Reduce] == 0 {
		return false
	}
	for j := range v.Jobs().All() {
		if _, all := j.MapsDoneAt(); !all {
			continue
		}
		for a := range v.Attempts(j, scheduler.Reduce) {
			if p.nodes[a.Node] == c {
				return true
			}
		}
	}
	return false
}
