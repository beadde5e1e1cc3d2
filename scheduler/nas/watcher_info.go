package nas

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// WatcherInfo describes ShuffleWatcher.
var WatcherInfo = watcherInfo("shufflewatcher", "delay scheduling with maps squeezed into few racks, reduces where their input is, maps before them in congested racks")

// SWDelayInfo describes the same policy under the name of the experiments.
var SWDelayInfo = watcherInfo("sw-delay", "shufflewatcher, under the name that it has in the experiments")

func watcherInfo(name, summary string) scheduler.Info {
	defaults := func() Config {
		d := DefaultConfig()
		d.TMax = d.TMin
		return d
	}
	return scheduler.Info{
		Name: name, Seam: scheduler.Assignment, Source: "spec/nas 3.12", Live: livePatience, LiveUnless: livePatienceUnless,
		Usual: scheduler.RipeUsually, UsualUnless: scheduler.RipeUnless,
		Summary: summary, Setup: scheduler.Bind(defaults, (*Config).watcherParams, NewWatcher),
	}
}

func (w *Watcher) chosen(j *job, r topology.RackID, near scheduler.Locality, congested bool, wait fair.Waited) scheduler.Reason {
	why := scheduler.Reason{Job: j.ID(), Rack: r, A: int64(wait.Skips), B: int64(w.homes[j.Slot()].racks)}
	switch {
	case w.homes[j.Slot()].chosen == nil:
		why.Say = "{job} is next; its data is nowhere"
	case w.homes[j.Slot()].has(r) && near == scheduler.NodeLocal:
		why.Say = "{rack} is one of the {b} racks chosen for {job}"
	case w.homes[j.Slot()].has(r) && near == scheduler.Remote && !congested:
		why.Say = "{rack} is one of the {b} racks chosen for {job}; this map reads from another"
	case congested:
		why.Say = "{rack} is congested: a map of {job} from anywhere instead of a reduce"
	default:
		why.Say = "{job} was skipped {a} times and takes any node"
	}
	return why
}

func (w *Watcher) skipped(now time.Duration, j *job, n topology.NodeID, wait fair.Waited) scheduler.Reason {
	used, all, byTime := w.cfg.Maps.Progress(now, wait)
	why := scheduler.Reason{Code: scheduler.ForLocality, Job: j.ID(), Node: n, A: used, B: all, C: int64(w.homes[j.Slot()].racks)}
	why.Say = "{job} skips {a}/{b}: no data for it on {node} in one of its {c} racks"
	if byTime {
		why.Say = "{job} waits {a:time} of {b:time}: no data for it on {node} in one of its {c} racks"
	}
	return why
}

// Explain implements scheduler.Explainer.
func (w *Watcher) Explain(now time.Duration, id scheduler.JobID, v *view) scheduler.Reason {
	j := v.Job(id)
	if j.Pending(scheduler.Map) > 0 {
		if wait := *w.maps.At(sharer(w.cfg.Key, j)); wait.Skips > 0 {
			used, all, byTime := w.cfg.Maps.Progress(now, wait)
			say := "{job} waits for a node with its data in one of its {c} racks: {a} of {b} skips"
			if byTime {
				say = "{job} waits for a node with its data in one of its {c} racks: {a:time} of {b:time}"
			}
			return scheduler.Reason{Code: scheduler.ForLocality, Say: say, Job: id, A: used, B: all, C: int64(w.homes[j.Slot()].racks)}
		}
		return explainLine(w.shares.At, w.shares.Len(scheduler.Map), j, scheduler.Map)
	}
	if !j.PastSlowstart(w.cfg.TMin) {
		return scheduler.Reason{
			Code: scheduler.ForSlowstart, Say: "reduces of {job} wait until {b:milli} of its maps are done; {a:milli} are",
			Job: id, A: int64(1000 * j.MapProgress()), B: int64(1000 * w.cfg.TMin),
		}
	}
	if wait := *w.reduces.At(sharer(w.cfg.Key, j)); wait.Skips > 0 {
		return scheduler.Reason{Code: scheduler.ForPlan, Say: "reduces of {job} wait for racks with its map output: {a} skips", Job: id, A: int64(wait.Skips)}
	}
	return explainLine(w.shares.At, w.shares.Len(scheduler.Reduce), j, scheduler.Reduce)
}
