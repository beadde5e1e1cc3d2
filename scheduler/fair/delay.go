package fair

import (
	"errors"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// DelayInfo describes the delay policy.
var DelayInfo = scheduler.Info{
	Name:        "delay",
	Seam:        scheduler.Assignment,
	Summary:     "fair shares; who has no map for this node's data is skipped, for a while",
	Source:      "spec/nas 3.11, spec/capacity 3.8, spec/hybrid 3.7",
	Live:        LivePatience,
	LiveUnless:  []string{"skips", "rack-skips"},
	Usual:       usual,
	UsualUnless: scheduler.RampedUnless,
	Setup:       scheduler.Bind(defaultDelay, (*delayConfig).params, func(c delayConfig) (*Delay, error) { return NewDelay(c.Config, c.Patience) }),
}

// delayConfig is all that the delay policy is told.
type delayConfig struct {
	Config
	Patience
}

func defaultDelay() delayConfig {
	c := delayConfig{DefaultConfig(), DefaultPatience()}
	c.Key = "user"
	return c
}

func (c *delayConfig) params() []scheduler.Param {
	return append(c.Config.params(),
		scheduler.Either(&c.ByTime, [2]string{"skips", "time"}, "by", "spec/nas 3.11", "patience is counted in offers passed up, or in time since the first"),
		scheduler.Int(&c.Skips, "skips", "spec/nas 3.11", "offers passed up before a map may run off its data; 0 never waits").In(0, 1<<30),
		scheduler.Duration(&c.Wait, "wait", "spec/nas 4.3", "time passed before a map may run off its data").In(0, 1e6),
		scheduler.Int(&c.RackSkips, "rack-skips", "spec/capacity 6, item 16", "further offers during which only rack-local maps may run").In(0, 1<<30),
		scheduler.Duration(&c.RackWait, "rack-wait", "spec/capacity 6, item 16", "further time during which only rack-local maps may run").In(0, 1e6),
		scheduler.Either(&c.ResetAny, [2]string{"listing", "any"}, "reset", "spec/nas 3.11, 6.5", "which launch restores patience: a node-local one, or any"),
	)
}

// LivePatience is that of a cluster. Offers come as often as nodes have something to say, so on four nodes 135 of them take nine
// seconds, for every map whose node is busy; published for clusters are 5 s, for tasks that take a minute. Ours take a second.
var LivePatience = map[string]string{"by": "time", "wait": "500ms"}

// Patience says how long a holder passes up nodes without its data.
type Patience struct {
	// ByTime counts in time (Wait, RackWait) instead of offers (Skips,
	// RackSkips). Published: offers in simulations, time on real clusters.
	ByTime bool
	// Skips and Wait are the patience for a node-local map; 0 never waits.
	// Larger: more local maps, later starts. Published 135 and 5 s.
	Skips int
	Wait  time.Duration
	// RackSkips and RackWait are the further patience during which a rack-local
	// map will do; 0 (published) takes any map at once.
	RackSkips int
	RackWait  time.Duration
	// ResetAny restores patience after any launch of a map; published is after a
	// node-local one (spec/nas 6.5).
	ResetAny bool
}

// DefaultPatience returns the published values.
func DefaultPatience() Patience { return Patience{Skips: 135, Wait: 5 * time.Second} }

func (p *Patience) validate() error {
	if p.Skips < 0 || p.RackSkips < 0 || p.Wait < 0 || p.RackWait < 0 {
		return errors.New("skips and waits must not be negative")
	}
	return nil
}

// waited is how long a holder has been passed over.
type waited struct {
	skips int
	since time.Duration // of the first skip; meaningful if skips > 0
}

// worst returns the farthest locality that w has earned.
func (p *Patience) worst(now time.Duration, w waited) scheduler.Locality {
	node, rack, passed := int64(p.Skips), int64(p.RackSkips), int64(w.skips)
	if p.ByTime {
		node, rack, passed = int64(p.Wait), int64(p.RackWait), 0
		if w.skips > 0 {
			passed = int64(now - w.since)
		}
	}
	switch {
	case passed < node:
		return scheduler.NodeLocal
	case passed < node+rack:
		return scheduler.RackLocal
	}
	return scheduler.Remote
}

// A Delay is fair sharing with delay scheduling of maps.
type Delay struct {
	*Shares
	rule     scheduler.ReduceRule
	patience Patience
	waited   []waited // by slot of the holder
}

var (
	_ scheduler.Policy    = (*Delay)(nil)
	_ scheduler.Explainer = (*Delay)(nil)
)

// NewDelay returns a delay policy.
func NewDelay(cfg Config, patience Patience) (*Delay, error) {
	if err := patience.validate(); err != nil {
		return nil, err
	}
	s, err := NewShares(cfg)
	if err != nil {
		return nil, err
	}
	return &Delay{Shares: s, rule: cfg.Reduces, patience: patience}, nil
}

// Observe implements scheduler.Policy.
func (d *Delay) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	d.Shares.Observe(now, e, v)
	j := v.Job(e.Job)
	if j == nil {
		return
	}
	slot := j.Slot()
	if g := d.groupOf(j); g != nil {
		slot = g.Slot()
	}
	for len(d.waited) <= slot {
		d.waited = append(d.waited, waited{})
	}
	fresh := e.Kind == scheduler.EvJobSubmitted && d.cfg.Key == "job"
	served := e.Kind == scheduler.EvLaunched && e.Task.Kind == scheduler.Map && (e.Locality == scheduler.NodeLocal || e.Locality == scheduler.Anywhere || d.patience.ResetAny)
	if fresh || served {
		d.waited[slot] = waited{}
	}
}

// Assign implements scheduler.Policy.
func (d *Delay) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	why := scheduler.Reason{Code: scheduler.NoWork, Say: "no job has work for {node}", Node: n}
	for _, k := range d.rule.Kinds(v, n) {
		if d.Len(k) == 0 {
			continue
		}
		var got scheduler.Decision
		if k == scheduler.Map {
			got = d.pickMap(now, n, v)
		} else {
			got = d.pick(n, k, v)
		}
		if got.OK {
			return got
		}
		if why.Code != scheduler.ForLocality {
			why = got.Reason
		}
	}
	return scheduler.Idle(why)
}

// pickMap walks the holders; each either has a map that is near enough for its
// patience, or is skipped (spec/nas 3.11).
func (d *Delay) pickMap(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	why := scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for a map of {job}", Node: n, Job: d.At(scheduler.Map, 0).At(0).ID()}
	if !v.HasRoom(n, scheduler.Map) {
		return scheduler.Idle(why)
	}
	for i := range d.Len(scheduler.Map) {
		line := d.At(scheduler.Map, i)
		w := &d.waited[line.Slot()]
		j, t, near, fits := d.nearest(line, n, d.patience.worst(now, *w), v)
		if j != nil {
			return scheduler.Run(t, near, d.chosen(line, j, scheduler.Map))
		}
		if fits == nil {
			continue
		}
		if w.skips == 0 {
			w.since = now
		}
		if v.Fresh(n) || w.skips == 0 {
			w.skips++
		}
		if why.Code == scheduler.NoRoom {
			why = d.skipped(now, *w, fits, v)
		}
	}
	return scheduler.Idle(why)
}

// nearest returns the line's best map that is no farther than worst: the first
// job with a node-local one, else the first with any that will do. fits is some
// job with room on n, nil if none has.
func (d *Delay) nearest(line Line, n topology.NodeID, worst scheduler.Locality, v *scheduler.View) (j *job, t scheduler.TaskID, near scheduler.Locality, fits *job) {
	for _, level := range [...]scheduler.Locality{scheduler.NodeLocal, worst} {
		for at := range line.Len() {
			c := line.At(at)
			if !v.Fits(n, c, scheduler.Map) {
				continue
			}
			if fits == nil {
				fits = c
			}
			if t, near, ok := v.PickMap(c, n, level); ok {
				return c, t, near, fits
			}
		}
		if worst == scheduler.NodeLocal {
			break
		}
	}
	return nil, t, 0, fits
}

func (d *Delay) skipped(now time.Duration, w waited, j *job, v *scheduler.View) scheduler.Reason {
	r := scheduler.Reason{Code: scheduler.ForLocality, Job: j.ID(), Node: topology.NoNode, A: int64(w.skips), B: int64(d.patience.Skips + d.patience.RackSkips)}
	r.Say = "{job} skips {a}/{b}, wants {node}"
	if d.patience.ByTime {
		r.A, r.B = int64(now-w.since), int64(d.patience.Wait+d.patience.RackWait)
		r.Say = "{job} waits {a:time} of {b:time}, wants {node}"
	}
	if i, ok := v.AnyPendingMap(j); ok {
		if at := j.Replicas(i); len(at) > 0 {
			r.Node = at[0]
		}
	}
	return r
}

// Explain implements scheduler.Explainer.
func (d *Delay) Explain(now time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	j := v.Job(id)
	slot := j.Slot()
	if g := d.groupOf(j); g != nil {
		slot = g.Slot()
	}
	if w := d.waited[slot]; w.skips > 0 && j.Pending(scheduler.Map) > 0 && d.patience.worst(now, w) != scheduler.Remote {
		return d.skipped(now, w, j, v)
	}
	return d.explain(j)
}
