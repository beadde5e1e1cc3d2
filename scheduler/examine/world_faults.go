package examine

import (
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// maxTroubles bounds how often nodes go away in one run: past some rate of loss
// no policy can finish anything.
const maxTroubles = 6

// trouble may take the node away or drain it; it reports whether it did.
func (w *world) trouble(n topology.NodeID) bool {
	switch {
	case w.books.draining[n] || w.troubles >= maxTroubles:
		return false
	case w.chance(w.plan.Faults.Lose):
		w.lose(n)
	case w.chance(w.plan.Faults.Drain):
		w.books.draining[n] = true
		w.feed(scheduler.NodeDraining(n))
	default:
		return false
	}
	w.troubles++
	w.agenda.add(happening{at: w.now + awayFor, what: nextReturn, node: n})
	return true
}

func (w *world) lose(n topology.NodeID) {
	w.books.alive[n] = false
	err := w.g.NodeLost(w.now, n, true, func(e scheduler.Event) {
		switch e.Kind {
		case scheduler.EvTaskKilled:
			w.books.stop(e.Task, n)
		case scheduler.EvTaskLost:
			w.books.lose(e.Task)
		}
	})
	w.fail(err)
}

func (w *world) back(n topology.NodeID) {
	w.books.alive[n], w.books.draining[n] = true, false
	w.feed(scheduler.NodeUp(n, w.plan.Node))
}

// refuse now and then kills an attempt that was just launched, as a worker does that turns out to be full: the view was
// stale.
func (w *world) refuse() {
	if !w.chance(w.plan.Faults.Refuse) {
		return
	}
	v := w.g.View()
	for n := range topology.NodeID(w.plan.nodes()) {
		for a := range v.RunningOn(n) {
			if a.Start == w.now {
				w.books.stop(a.Task, n)
				w.feed(scheduler.TaskKilled(a.Task, n))
				return
			}
		}
	}
}

// kill carries out what a Killer wants.
func (w *world) kill() {
	w.fail(w.g.Kill(w.now, func(victim scheduler.Victim) {
		if victim.Node == topology.NoNode {
			w.books.lose(victim.Task)
			return
		}
		w.books.stop(victim.Task, victim.Node)
	}))
}

// unlock stops a reduce when reduces hold every place that their own maps need, or a
// driver when drivers do, as master and simulator do.
func (w *world) unlock() {
	victim, found := scheduler.Deadlock(w.g.View())
	if !found || victim.Node == topology.NoNode || w.err != nil {
		return
	}
	w.books.stop(victim.Task, victim.Node)
	w.fail(w.g.End(w.now, victim))
}
