package nas

import (
	"math"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// A Policy is NAS, or as much of it as its Config turns on.
type Policy struct {
	cfg    Config
	rule   scheduler.ReduceRule
	shares *fair.Shares // who has pending tasks, ascending by what they hold
	est    estimates
	left   unfetched

	maps, reduces fair.Waits // D_i^m and D_i^r, by slot of the sharer
	places        fair.Waits // the same for racks that have their share of reduces
	limit         float64    // TrafficThreshold, bytes
	filtered      []bool     // by rack: the map filter of CR-RTS is raised
	asked         ask        // the request under way, kept to save an allocation
}

var (
	_ scheduler.Policy    = (*Policy)(nil)
	_ scheduler.Ticker    = (*Policy)(nil)
	_ scheduler.Explainer = (*Policy)(nil)
)

// New returns a NAS policy.
func New(cfg Config) (*Policy, error) {
	rule, shares, err := cfg.sharing()
	if err != nil {
		return nil, err
	}
	p := &Policy{cfg: cfg, rule: rule, shares: shares, limit: math.Inf(1)}
	p.est = estimates{cfg: &p.cfg, dirty: true, history: make(map[string]float64)}
	return p, nil
}

// sharing orders sharers by containers held. Its rule lists reduces from the lowest completion threshold that a job can
// have; each decision tests the job's own.
func (c *Config) sharing() (scheduler.ReduceRule, *fair.Shares, error) {
	rule := scheduler.ReduceRule{Slowstart: c.TMin, Share: c.ReduceShare, Ripe: c.Ripe}
	if err := c.validate(); err != nil {
		return rule, nil, err
	}
	cfg := fair.DefaultConfig()
	cfg.Key, cfg.Reduces = c.Key, rule
	shares, err := fair.NewShares(cfg)
	return rule, shares, err
}

// sharer returns the slot under which j's patience is counted.
func sharer(key string, j *job) int {
	switch key {
	case "user":
		return j.User().Slot()
	case "pool":
		return j.Pool().Slot()
	case "queue":
		return j.Queue().Slot()
	}
	return j.Slot()
}

// Observe implements scheduler.Policy.
func (p *Policy) Observe(now time.Duration, e scheduler.Event, v *view) {
	p.shares.Observe(now, e, v)
	if p.cfg.CountUnfetched {
		p.left.observe(e, v)
	}
	if p.est.observe(e, v) || e.Kind == scheduler.EvNodeUp || e.Kind == scheduler.EvNodeDown {
		p.update(v)
	}
	switch e.Kind {
	case scheduler.EvLaunched:
		p.launched(e, v)
	case scheduler.EvJobSubmitted:
		if p.cfg.Key == "job" { // the slot may have been another job's
			slot := v.Job(e.Job).Slot()
			*p.maps.At(slot), *p.reduces.At(slot), *p.places.At(slot) = fair.Waited{}, fair.Waited{}, fair.Waited{}
		}
	case scheduler.EvNetSample:
		if !p.congested(e.Rack, v) {
			p.filter(e.Rack, false) // spec/nas 6.21
		}
	}
}

// launched restores patience and clears the tag of a delayed reduce.
func (p *Policy) launched(e scheduler.Event, v *view) {
	j := v.Job(e.Job)
	slot := sharer(p.cfg.Key, j)
	switch e.Task.Kind {
	case scheduler.Map:
		if w := p.maps.At(slot); w.Skips > 0 && (p.cfg.ResetAny || local(e) && p.Load(e.Node, v) <= p.limit*(1+slack)) {
			*w = fair.Waited{}
		}
	case scheduler.Reduce:
		p.reduceLaunched(j, slot, v.RackOf(e.Node))
		if est := p.est.of(j); est.delayed > 0 {
			est.delayed--
		}
	}
}

// local reports whether a map was launched where its input is.
func local(e scheduler.Event) bool {
	return e.Locality == scheduler.NodeLocal || e.Locality == scheduler.Anywhere
}

// reduceLaunched restores the patience of CR-RTS after a shuffle-light reduce, and that of CA-RTS after a reduce below
// the rack's share.
func (p *Policy) reduceLaunched(j *job, slot int, r topology.RackID) {
	if w := p.reduces.At(slot); w.Skips > 0 && (p.cfg.ResetAny || p.est.class(p.est.of(j)) == Light) {
		*w = fair.Waited{}
	}
	here := j.InRack(r)
	if w := p.places.At(slot); w.Skips > 0 && (p.cfg.ResetAny || here.Running[scheduler.Reduce]+here.Done[scheduler.Reduce] <= ReduceNum(j.Total(scheduler.Reduce), p.est.portion(j, r))) {
		*w = fair.Waited{}
	}
}

// Interval implements scheduler.Ticker.
func (p *Policy) Interval() time.Duration { return p.cfg.Update }

// Tick implements scheduler.Ticker: the threshold follows the estimates (spec/nas 3.4).
func (p *Policy) Tick(_ time.Duration, v *view) { p.update(v) }

// update computes TrafficThreshold.
func (p *Policy) update(v *view) {
	switch total := v.Total(); {
	case !p.cfg.CapTraffic:
		p.limit = math.Inf(1)
	case p.cfg.TrafficLimit > 0:
		p.limit = float64(p.cfg.TrafficLimit)
	case total.Nodes > 0:
		shuffle, maps := p.est.sums()
		m := float64(total.Slots[scheduler.Map]) / float64(total.Nodes)
		p.limit = p.cfg.TrafficScale * TrafficThreshold(m, shuffle, maps)
	}
}

func (p *Policy) congested(r topology.RackID, v *view) bool {
	return v.Net(r).Utilisation() >= p.cfg.Congestion
}

// filter raises or clears the map filter of rack r.
func (p *Policy) filter(r topology.RackID, up bool) {
	for r >= 0 && len(p.filtered) <= int(r) {
		p.filtered = append(p.filtered, false)
	}
	if r >= 0 {
		p.filtered[r] = up
	}
}

func (p *Policy) isFiltered(r topology.RackID) bool {
	return r >= 0 && int(r) < len(p.filtered) && p.filtered[r]
}

// Assign implements scheduler.Policy: Algorithm 1 (spec/nas 3.5) for each kind of task that the
// node could take.
func (p *Policy) Assign(now time.Duration, n topology.NodeID, v *view) scheduler.Decision {
	why := scheduler.Reason{Code: scheduler.NoWork, Say: "no job has work for {node}", Node: n}
	for _, k := range p.rule.Kinds(v, n) {
		if v.Pending(k).Len() == 0 { // CR-RTS is asked before a reduce may start: it raises the map filter (spec/nas 3.9)
			continue
		}
		if !v.HasRoom(n, k) {
			why = orNoRoom(why, n, k)
			continue
		}
		got := p.request(now, n, k, v)
		if got.OK {
			return got
		}
		if why.Code == scheduler.NoWork || why.Code == scheduler.NoRoom || why.Code == scheduler.ForSlowstart {
			why = got.Reason
		}
	}
	return scheduler.Idle(why)
}

// request is Algorithm 1 (spec/nas 3.5).
func (p *Policy) request(now time.Duration, n topology.NodeID, k scheduler.Kind, v *view) scheduler.Decision {
	switch {
	case k == scheduler.Map:
		return p.mts(now, n, v)
	case p.cfg.Mechanisms == "mts":
		return p.fairReduce(n, v)
	case p.cfg.Mechanisms == "mts-ca" || !p.congested(v.RackOf(n), v):
		return p.caRTS(now, n, v)
	}
	return p.crRTS(now, n, v)
}

// orNoRoom returns why, or, if that says nothing, that the node has no room.
func orNoRoom(why scheduler.Reason, n topology.NodeID, k scheduler.Kind) scheduler.Reason {
	if why.Code != scheduler.NoWork {
		return why
	}
	return scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for a {kind}", Node: n, Kind: k}
}
