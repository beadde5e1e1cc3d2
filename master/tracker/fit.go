package tracker

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// demands returns the room that attempts of a job ask for, by kind.
func demands(s *wire.JobSpec) (out [scheduler.NumKinds]scheduler.Demand) {
	usual := wire.Demand{VCores: s.VCores, MemoryMB: s.MemoryMB}
	out[scheduler.Map], out[scheduler.Reduce], out[scheduler.Driver] = demand(usual, usual), demand(s.Reduce, usual), demand(s.Driver, wire.Demand{})
	return out
}

// checkFit refuses a job with a task that no worker that is up could ever hold: it would wait for ever. While no worker
// is up, or some may not have reported yet, nobody knows. That is so for a while after a restart, with or without jobs.
func (c *Tracker) checkFit(now time.Duration, s *wire.JobSpec) error {
	if now < c.graceEnd || c.cfg.Epoch > 1 && now < c.resumedAt+c.cfg.Grace {
		return nil
	}
	for k, d := range demands(s) {
		k := scheduler.Kind(k)
		if k == scheduler.Reduce && (s.Shape.MapOnly || s.Expect.Reduces == 0 && s.Reduce == wire.Demand{}) {
			continue
		}
		if m, found := c.engine.View().Misfit(k, d, scheduler.NodeDrains); found {
			return wire.Errorf(wire.Invalid, "no worker that is up could ever hold a %s of this job: %s", k, misfit(&m))
		}
	}
	return nil
}

// misfit describes what is asked for, what there is and what to do.
func misfit(m *scheduler.Misfit) string {
	switch m.Lacks {
	case scheduler.Memory:
		return fmt.Sprintf("--%s-memory asks for %d MB, and the largest worker has %d MB (ask for less, or start a worker with more)", m.Kind, m.Asked, m.Most)
	case scheduler.VCores:
		return fmt.Sprintf("--%s-vcores asks for %d, and the largest worker has %d (ask for fewer, or start a worker with more)", m.Kind, m.Asked, m.Most)
	case scheduler.Joint:
		return fmt.Sprintf("none has both what --%s-vcores and what --%[1]s-memory ask for (ask for less, or start a worker that has both)", m.Kind)
	}
	return fmt.Sprintf("none has a slot for one (start a worker with %s slots, or with containers)", m.Kind)
}
