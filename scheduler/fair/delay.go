package fair

import (
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

// delayConfig is all parameters of the delay policy.
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

// A Delay is fair sharing with delay scheduling of maps.
type Delay struct {
	*Shares
	rule     scheduler.ReduceRule
	patience Patience
	waited   Waits
}

// NewDelay returns a delay policy.
func NewDelay(cfg Config, patience Patience) (*Delay, error) {
	if err := patience.Validate(); err != nil {
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
	fresh := e.Kind == scheduler.EvJobSubmitted && d.cfg.Key == "job"
	served := e.Kind == scheduler.EvLaunched && e.Task.Kind == scheduler.Map && (e.Locality == scheduler.NodeLocal || e.Locality == scheduler.Anywhere || d.patience.ResetAny)
	if w := d.waited.At(slot); fresh || served {
		*w = Waited{}
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
		w := d.waited.At(line.Slot())
		j, t, near, fits := d.nearest(line, n, d.patience.worst(now, *w), v)
		if j != nil {
			return scheduler.Run(t, near, d.chosen(line, j, scheduler.Map))
		}
		if fits == nil {
			continue
		}
		w.Skip(now, v.Fresh(n))
		if why.Code == scheduler.NoRoom {
			why = d.skipped(now, *w, fits, v)
		}
	}
	return scheduler.Idle(why)
}

// nearest returns the line's best map that is no farther than worst: the first job with a node-local one, else the
// first with any that will do. fits is some job with room on n, or nil.
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

func (d *Delay) skipped(now time.Duration, w Waited, j *job, v *scheduler.View) scheduler.Reason {
	used, all, byTime := d.patience.Progress(now, w)
	r := scheduler.Reason{Code: scheduler.ForLocality, Say: "{job} skips {a}/{b}, wants {node}", Job: j.ID(), Node: topology.NoNode, A: used, B: all}
	if byTime {
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
	if w := *d.waited.At(slot); w.Skips > 0 && j.Pending(scheduler.Map) > 0 && !d.patience.Over(now, w) {
		return d.skipped(now, w, j, v)
	}
	return d.explain(j)
}
