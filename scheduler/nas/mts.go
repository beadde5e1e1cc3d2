package nas

import (
	"math"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// An ask is one request of a node for a map.
type ask struct {
	node   topology.NodeID
	rack   topology.RackID
	avail  float64 // bytes of map output the node may still produce
	filter bool    // no maps of heavy and medium jobs (spec/nas 3.9)
}

// TrafficThreshold returns how many bytes of map output may be in the making on
// one node; infinite without a threshold.
func (p *Policy) TrafficThreshold() float64 { return p.limit }

// Load returns the output that the maps on n are producing, as predicted (spec/nas 3.6, line 1). A Policy that only
// observes can measure another policy's load.
func (p *Policy) Load(n topology.NodeID, v *view) float64 {
	sum := 0.0
	for a := range v.RunningOn(n) {
		if a.Task.Kind != scheduler.Map {
			continue
		}
		if j := v.Job(a.Task.Job); j != nil {
			sum += p.output(j, p.est.of(j), a.Task.Index)
		}
	}
	if p.cfg.CountUnfetched {
		sum += p.left.on(n)
	}
	return sum
}

// output is equation (3.1) of spec/nas 2.5: what map i is predicted to write for reduces; nothing if
// there are none.
func (p *Policy) output(j *job, est *estimate, i int32) float64 {
	if !est.reduces {
		return 0
	}
	return est.ratio * p.est.bytes(j, est, i)
}

// mts is Algorithm 2 (spec/nas 3.6).
func (p *Policy) mts(now time.Duration, n topology.NodeID, v *view) scheduler.Decision {
	a := &p.asked
	*a = ask{node: n, rack: v.RackOf(n), avail: math.Inf(1)}
	a.filter = p.isFiltered(a.rack)
	if !math.IsInf(p.limit, 1) {
		a.avail = p.limit - p.Load(n, v)
	}
	why := scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for any pending map", Node: n}
	for i := range p.shares.Len(scheduler.Map) {
		line := p.shares.At(scheduler.Map, i)
		w := p.maps.At(line.Slot())
		c, some := p.local(line, a, v) // line 8
		if c.job == nil && some && p.cfg.Maps.Over(now, *w) {
			c = p.anywhere(line, a, v) // lines 9 to 12
		}
		if c.job != nil {
			return p.run(line, &c, a, *w)
		}
		if !some {
			continue
		}
		w.Skip(now, v.Fresh(n)) // line 13
		if why.Code == scheduler.NoRoom {
			why = p.skipped(now, line, *w, a)
		}
	}
	if p.cfg.Fallback {
		if got := p.fallback(a, v); got.OK {
			return got
		}
	}
	return scheduler.Idle(why)
}

// fallback launches the smallest map of the first sharer if no sharer has a shuffle-qualified one (spec/nas 6.4).
func (p *Policy) fallback(a *ask, v *view) scheduler.Decision {
	for i := range p.shares.Len(scheduler.Map) {
		if c := p.qualified(p.shares.At(scheduler.Map, i), a, v); c.job != nil {
			return scheduler.Decision{}
		}
	}
	for i := range p.shares.Len(scheduler.Map) {
		line := p.shares.At(scheduler.Map, i)
		if c := p.least(line, a, v); c.job != nil {
			return p.run(line, &c, a, fair.Waited{})
		}
	}
	return scheduler.Decision{}
}

// anywhere is lines 9 to 12 of spec/nas 3.6: a qualified map wherever its data is, else the one
// with the least output. The map filter does not hold the latter back: heavy jobs
// would starve (spec/nas 3.9).
func (p *Policy) anywhere(line fair.Line, a *ask, v *view) candidate {
	if c := p.qualified(line, a, v); c.job != nil {
		return c
	}
	return p.least(line, a, v)
}

func (p *Policy) run(line fair.Line, c *candidate, a *ask, w fair.Waited) scheduler.Decision {
	r := scheduler.Reason{Job: c.job.ID(), Group: line.Group, Node: a.node, A: int64(c.out), C: int64(w.Skips)}
	switch {
	case math.IsInf(a.avail, 1):
		r.Say = "MTS: {job} is next for {node}"
		if w.Skips > 0 {
			r.Say = "MTS: {job} is next for {node}, after {c} skips"
		}
	case c.out > a.avail:
		r.B = int64(a.avail)
		r.Say = "MTS: {job} was skipped {c} times; its smallest map writes {a:bytes}, {node} has room for {b:bytes}"
	default:
		r.B = int64(a.avail)
		r.Say = "MTS: {job} writes {a:bytes}, {node} has room for {b:bytes}"
	}
	return scheduler.Run(scheduler.TaskID{Job: c.job.ID(), Index: c.index}, c.near, r)
}

func (p *Policy) skipped(now time.Duration, line fair.Line, w fair.Waited, a *ask) scheduler.Reason {
	r := scheduler.Reason{Code: scheduler.ForLocality, Job: line.At(0).ID(), Group: line.Group, Node: a.node, Rack: a.rack}
	used, all, byTime := p.cfg.Maps.Progress(now, w)
	r.A, r.B, r.C = used, all, int64(min(a.avail, math.MaxInt64/2))
	if a.filter {
		r.Code = scheduler.ForNetwork
	}
	r.Say = skipSay(byTime, math.IsInf(a.avail, 1), a.filter)
	return r
}

// skipSay words a skip. The sentences are constants, so that a reason costs
// nothing until somebody reads it.
func skipSay(byTime, uncapped, filtered bool) string {
	switch {
	case filtered && byTime:
		return "MTS: {job} waits {a:time} of {b:time}: {rack} is congested, only shuffle-light maps start on {node}"
	case filtered:
		return "MTS: {job} skips {a}/{b}: {rack} is congested, only shuffle-light maps start on {node}"
	case uncapped && byTime:
		return "MTS: {job} waits {a:time} of {b:time}: no map with its data on {node}"
	case uncapped:
		return "MTS: {job} skips {a}/{b}: no map with its data on {node}"
	case byTime:
		return "MTS: {job} waits {a:time} of {b:time}: no map with its data on {node} writes at most {c:bytes}"
	}
	return "MTS: {job} skips {a}/{b}: no map with its data on {node} writes at most {c:bytes}"
}
