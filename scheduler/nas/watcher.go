package nas

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// A Watcher is ShuffleWatcher on top of delay scheduling: SW-delay (spec/nas 3.12). It
// squeezes a job's maps into few racks, puts its reduces where its map output
// is, and gives the container of a reduce to a map while the rack is congested, where
// a map can use it.
type Watcher struct {
	cfg    Config
	rule   scheduler.ReduceRule
	shares *fair.Shares
	est    estimates
	homes  []home // by job slot

	maps, reduces fair.Waits
}

var (
	_ scheduler.Policy    = (*Watcher)(nil)
	_ scheduler.Explainer = (*Watcher)(nil)
)

// NewWatcher returns a ShuffleWatcher. Of cfg it uses Key, Congestion, Maps,
// Reduces, TMin (its constant completion threshold), ReduceShare, Ripe, Sizes, Block.
func NewWatcher(cfg Config) (*Watcher, error) {
	rule, shares, err := cfg.sharing()
	if err != nil {
		return nil, err
	}
	w := &Watcher{cfg: cfg, rule: rule, shares: shares}
	w.est = estimates{cfg: &w.cfg, dirty: true, history: make(map[string]float64)}
	return w, nil
}

// Observe implements scheduler.Policy.
func (w *Watcher) Observe(now time.Duration, e scheduler.Event, v *view) {
	w.shares.Observe(now, e, v)
	changed := w.est.observe(e, v)
	j := v.Job(e.Job)
	if j == nil {
		return
	}
	for len(w.homes) <= j.Slot() {
		w.homes = append(w.homes, home{})
	}
	slot := sharer(w.cfg.Key, j)
	switch {
	case changed && j.Phase() == scheduler.Ended:
		w.homes[j.Slot()] = home{}
	case changed: // submitted, or its splits became known
		w.homes[j.Slot()] = chooseRacks(j.Spec(), w.est.of(j).shuffle, v.Topology())
		if e.Kind == scheduler.EvJobSubmitted && w.cfg.Key == "job" {
			*w.maps.At(slot), *w.reduces.At(slot) = fair.Waited{}, fair.Waited{}
		}
	case e.Kind == scheduler.EvLaunched && e.Task.Kind == scheduler.Map:
		if w.cfg.ResetAny || local(e) {
			*w.maps.At(slot) = fair.Waited{}
		}
	case e.Task.Kind == scheduler.Map && (e.Kind == scheduler.EvTaskFailed || e.Kind == scheduler.EvTaskKilled || e.Kind == scheduler.EvTaskLost):
		w.homes[j.Slot()].back(e.Task.Index)
	case e.Kind == scheduler.EvLaunched && e.Task.Kind == scheduler.Reduce:
		*w.reduces.At(slot) = fair.Waited{}
	}
}

func (w *Watcher) congested(r topology.RackID, v *view) bool {
	return v.Net(r).Utilisation() >= w.cfg.Congestion
}

// Assign implements scheduler.Policy. In a congested rack the container of a
// reduce goes to a map, whose data may be anywhere.
func (w *Watcher) Assign(now time.Duration, n topology.NodeID, v *view) scheduler.Decision {
	why := scheduler.Reason{Code: scheduler.NoWork, Say: "no job has work for {node}", Node: n}
	for _, k := range w.rule.Kinds(v, n) {
		if w.shares.Len(k) == 0 {
			continue
		}
		if !v.HasRoom(n, k) {
			why = orNoRoom(why, n, k)
			continue
		}
		var got scheduler.Decision
		if k == scheduler.Map {
			got = w.pickMap(now, n, v)
		} else {
			got = w.pickReduce(now, n, v)
		}
		if got.OK {
			return got
		}
		if why.Code == scheduler.NoWork || why.Code == scheduler.NoRoom {
			why = got.Reason
		}
	}
	return scheduler.Idle(why)
}

// pickMap is map(node) of spec/nas 3.12: delay scheduling, in which only the chosen racks
// of a job count as near, until patience is over or the rack is congested.
func (w *Watcher) pickMap(now time.Duration, n topology.NodeID, v *view) scheduler.Decision {
	r := v.RackOf(n)
	congested := w.congested(r, v)
	why := scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for any pending map", Node: n}
	for i := range w.shares.Len(scheduler.Map) {
		line := w.shares.At(scheduler.Map, i)
		wait := w.maps.At(line.Slot())
		free := congested || w.cfg.Maps.Over(now, *wait)
		j, t, near, fits := w.nearest(line, n, r, free, v)
		if j != nil {
			return scheduler.Run(t, near, w.chosen(j, r, near, congested, *wait))
		}
		if fits == nil {
			continue
		}
		wait.Skip(now, v.Fresh(n))
		if why.Code == scheduler.NoRoom {
			why = w.skipped(now, fits, n, *wait)
		}
	}
	return scheduler.Idle(why)
}

// nearest returns a node-local map of a job at home in rack r, or one that the plan has
// read from afar; with free, failing that, the nearest map of a job at home, then of any.
func (w *Watcher) nearest(line fair.Line, n topology.NodeID, r topology.RackID, free bool, v *view) (best *job, t scheduler.TaskID, near scheduler.Locality, fits *job) {
	rank := 0
	for at := range line.Len() {
		j := line.At(at)
		atHome := w.homes[j.Slot()].has(r)
		if fits != nil && !free && !atHome {
			continue
		}
		if !v.Fits(n, j, scheduler.Map) {
			continue
		}
		if fits == nil {
			fits = j
		}
		worst := scheduler.NodeLocal
		if free {
			worst = scheduler.Remote
		} else if !atHome {
			continue
		}
		got, l, ok := w.pick(j, n, worst, v)
		if !ok {
			continue
		}
		if at := distance(atHome, l); best == nil || at < rank {
			best, t, near, rank = j, got, l, at
		}
		if rank == 0 {
			break
		}
	}
	return best, t, near, fits
}

// pick returns the nearest map of j for n up to worst; at home, failing that, one that
// can be local in none of the chosen racks.
func (w *Watcher) pick(j *job, n topology.NodeID, worst scheduler.Locality, v *view) (scheduler.TaskID, scheduler.Locality, bool) {
	if t, l, ok := v.PickMap(j, n, worst); ok {
		return t, l, true
	}
	h := &w.homes[j.Slot()]
	if !h.has(v.RackOf(n)) {
		return scheduler.TaskID{}, 0, false
	}
	i, ok := h.stray(j)
	t := scheduler.TaskID{Job: j.ID(), Index: i}
	if !ok {
		return t, 0, false
	}
	return t, v.LocalityOf(j, t, n), true
}

// distance ranks a map: at home by locality, then away by locality.
func distance(atHome bool, l scheduler.Locality) int {
	d := int(l)
	if l == scheduler.Anywhere {
		d = 0
	}
	if !atHome {
		d += 3
	}
	return d
}

// hasMap reports whether a pending map could run on n, wherever its data is.
func (w *Watcher) hasMap(n topology.NodeID, v *view) bool {
	if !v.HasRoom(n, scheduler.Map) {
		return false
	}
	for i := range w.shares.Len(scheduler.Map) {
		line := w.shares.At(scheduler.Map, i)
		for at := range line.Len() {
			if v.Fits(n, line.At(at), scheduler.Map) {
				return true
			}
		}
	}
	return false
}

// pickReduce is reduce(node) of spec/nas 3.12: of the first sharer that has one, the eligible job with most map output
// here that is below its share. A sharer that was skipped for long enough takes any place.
func (w *Watcher) pickReduce(now time.Duration, n topology.NodeID, v *view) scheduler.Decision {
	r := v.RackOf(n)
	if w.congested(r, v) && w.hasMap(n, v) {
		return scheduler.Idle(scheduler.Reason{Code: scheduler.ForNetwork, Say: "{rack} is congested: a map runs instead of a reduce", Rack: r})
	}
	why := noReduce(n).Reason
	for i := range w.shares.Len(scheduler.Reduce) {
		line := w.shares.At(scheduler.Reduce, i)
		wait := w.reduces.At(line.Slot())
		j, here, some := w.most(line, n, r, w.cfg.Reduces.Over(now, *wait), v)
		if j != nil {
			return runReduce(j, v, scheduler.Reason{Say: "{rack} has {a:bytes} of the map output of {job}", Job: j.ID(), Rack: r, A: int64(here)})
		}
		if some != nil {
			wait.Skip(now, v.Fresh(n))
			why = scheduler.Reason{Code: scheduler.ForPlan, Say: "{rack} has its share of the reduces of {job}", Job: some.ID(), Rack: r}
		}
	}
	return scheduler.Idle(why)
}

// most returns the eligible job of the line with most map output in r among
// those below their share, or among all. some is any eligible job.
func (w *Watcher) most(line fair.Line, n topology.NodeID, r topology.RackID, all bool, v *view) (best *job, here float64, some *job) {
	for at := range line.Len() {
		j := line.At(at)
		if !j.PastSlowstart(w.cfg.TMin) || !v.Fits(n, j, scheduler.Reduce) || !w.rule.AllowsReduce(v, n, j, scheduler.Needy{}) {
			continue
		}
		some = j
		out, total := w.est.outputIn(j, r)
		share := j.InRack(r)
		scheduled := share.Running[scheduler.Reduce] + share.Done[scheduler.Reduce]
		if !all && total > 0 && scheduled >= ReduceNum(j.Total(scheduler.Reduce), out/total) {
			continue
		}
		if best == nil || out > here || out == here && j.Seq() < best.Seq() {
			best, here = j, out
		}
	}
	return best, here, some
}
