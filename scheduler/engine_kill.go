package scheduler

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/topology"
)

// Kill asks a policy that is a Killer for victims until it names none. It removes each from the books and calls each
// with it: the caller ends the attempt, or forgets the result. A victim that does not exist wraps ErrPolicy and ends
// the round.
func (g *Engine) Kill(now time.Duration, each func(Victim)) error {
	if g.killer == nil {
		return nil
	}
	for {
		v, ok := g.killer.Kill(now, &g.state.view)
		if !ok {
			return nil
		}
		if err := g.End(now, v); err != nil {
			return fmt.Errorf("%w: the policy stops what is not there: %w", ErrPolicy, err)
		}
		if each != nil {
			each(v)
		}
	}
}

// End removes a victim from the books: a running attempt is fed as killed, a finished task as lost. An error wraps
// ErrStale: there is no such victim.
func (g *Engine) End(now time.Duration, v Victim) error {
	if v.Node == topology.NoNode {
		return g.Feed(now, TaskLost(v.Task))
	}
	return g.Feed(now, TaskKilled(v.Task, v.Node))
}
