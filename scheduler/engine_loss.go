package scheduler

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/topology"
)

// NodeLost removes a dead node from the books. It reports the node's attempts as killed and, if outputs is true, the
// finished maps of unfinished jobs whose output lay there as lost, except those of jobs without reduces; then NodeDown.
// each, if not nil, is called with every event fed.
func (g *Engine) NodeLost(now time.Duration, n topology.NodeID, outputs bool, each func(Event)) error {
	v := &g.state.view
	if !g.state.topo.Has(n) {
		return fmt.Errorf("node %d lost: no such node: %w", n, ErrStale)
	}
	var events []Event
	for a := range v.RunningOn(n) {
		events = append(events, TaskKilled(a.Task, n))
	}
	for _, j := range g.state.live.list {
		if !outputs || j.phase != Ready || j.tasks[Reduce].done == j.tasks[Reduce].total() {
			continue
		}
		for i := range v.DoneOn(j, Map, n) {
			events = append(events, TaskLost(TaskID{Job: j.id, Index: i}))
		}
	}
	events = append(events, NodeDown(n))
	for _, e := range events {
		if err := g.Feed(now, e); err != nil {
			return err
		}
		if each != nil {
			each(e)
		}
	}
	return nil
}
