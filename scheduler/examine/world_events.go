package examine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

func (w *world) submit(id scheduler.JobID) {
	spec := w.plan.Jobs[id]
	w.entered++
	w.books.specs[id] = spec
	w.feed(scheduler.JobSubmitted(spec))
	if !w.chance(w.plan.Faults.Vanish) {
		return
	}
	for victim := range w.g.View().Jobs().All() { // the oldest goes
		w.leave(victim.ID(), scheduler.JobVanished(victim.ID()))
		return
	}
}

func (w *world) leave(id scheduler.JobID, e scheduler.Event) {
	w.books.forget(id)
	w.left++
	w.feed(e)
}

func (w *world) admit() {
	_, err := w.g.Admit(w.now, func(d scheduler.AdmitDecision) {
		w.log = append(w.log, fmt.Sprintf("%v admit %v %v", w.now, d.Job, d.Verdict))
		if d.Verdict == scheduler.Reject {
			w.books.forget(d.Job)
			w.left++
			return
		}
		w.complete(d.Job)
	})
	w.fail(err)
}

func (w *world) ready(h happening) {
	if w.books.stopped(h.task, h.node) {
		return
	}
	if j := w.g.View().Job(h.job); j != nil && j.Phase() == scheduler.Admitted {
		w.feed(scheduler.JobReady(h.job, nil))
		w.complete(h.job)
	}
}

func (s *shadow) stopped(t scheduler.TaskID, n topology.NodeID) bool {
	return !slices.Contains(s.running[t], n)
}

// complete ends the job if all its tasks are done.
func (w *world) complete(id scheduler.JobID) {
	if j := w.g.View().Job(id); j != nil && j.Complete() {
		w.leave(id, scheduler.JobFinished(id))
	}
}

// end is the planned end of an attempt, which may have been stopped since.
func (w *world) end(h happening) {
	t := h.task
	if w.books.stopped(t, h.node) {
		if w.chance(w.plan.Faults.Stale) {
			w.whisper(scheduler.TaskFinished(t, h.node, 0, 1, 1))
		}
		return
	}
	if w.tries[t] != h.try && !w.promises.StartsSecond {
		return // the end of an earlier try
	}
	if w.chance(w.plan.Faults.Fail) {
		w.books.stop(t, h.node)
		w.feed(scheduler.TaskFailed(t, h.node))
		return
	}
	if t.Kind == scheduler.Reduce && w.books.doneMaps[t.Job] < w.books.specs[t.Job].Maps {
		w.agenda.add(happening{at: w.now + time.Second, what: nextEnd, task: t, node: h.node, try: h.try}) // its maps are not all done
		return
	}
	w.finish(t, h.node)
	w.heartbeat(h.node)
}

func (w *world) finish(t scheduler.TaskID, n topology.NodeID) {
	w.books.stop(t, n)
	w.books.finish(t)
	in := int64(1) << 20
	w.feed(scheduler.TaskFinished(t, n, 0, in, in/2))
	for _, other := range w.books.running[t] {
		w.books.stop(t, other)
		w.feed(scheduler.TaskKilled(t, other))
	}
	if w.chance(w.plan.Faults.Stale) {
		w.whisper(scheduler.TaskFinished(t, n, 0, in, in/2))
		w.whisper(scheduler.TaskFailed(scheduler.TaskID{Job: 1 << 20}, n))
	}
	w.complete(t.Job)
}

// heartbeat offers node n, after whatever trouble the plan has for it.
func (w *world) heartbeat(n topology.NodeID) {
	if !w.books.alive[n] {
		if _, err := w.g.Offer(w.now, n, nil); !errors.Is(err, scheduler.ErrStale) {
			w.fail(fmt.Errorf("the heartbeat of dead node %d was not refused: %v", n, err))
		}
		return
	}
	if w.plan.nodes() > 1 && w.trouble(n) {
		return
	}
	why, err := w.g.Offer(w.now, n, func(d scheduler.Decision) { w.launched(d, n) })
	w.fail(err)
	if w.err == nil {
		w.fail(w.idle(n, why))
	}
	w.refuse()
}

func (w *world) launched(d scheduler.Decision, n topology.NodeID) {
	w.fail(w.books.launch(d, n))
	w.log = append(w.log, fmt.Sprintf("%v %v on %d %v: %s", w.now, d.Task, n, d.Locality, d.Reason.Text(w.g.View())))
	t := d.Task
	if t.Kind == scheduler.Driver {
		w.agenda.add(happening{at: w.now + readyAfter, what: nextReady, job: t.Job, task: t, node: n})
		return
	}
	w.tries[t]++
	w.agenda.add(happening{at: w.now + w.plan.length(t, w.tries[t]), what: nextEnd, task: t, node: n, try: w.tries[t]})
}

// idle checks a refusal: it has a reason, and where the policy promises to be
// work conserving there was nothing it could have done.
func (w *world) idle(n topology.NodeID, why scheduler.Reason) error {
	if why.Code == scheduler.Unspecified || why.Say == "" {
		return broken(Reasons, "node %d was left idle without a reason", n)
	}
	if !w.promises.WorkConserving {
		return nil
	}
	v, kinds, c := w.g.View(), []scheduler.Kind{scheduler.Map}, w.plan.Node
	if !w.promises.HoldsReduces && (c.Slotted() || v.Pending(scheduler.Map).Len() == 0) {
		kinds = append(kinds, scheduler.Reduce)
	}
	for _, k := range kinds {
		for j := range v.Runnable(k).All() {
			if v.Fits(n, j, k) {
				return broken(Busy, "node %d was left idle although a %v of %v fits: %s", n, k, j.ID(), why.Text(v))
			}
		}
	}
	return nil
}
