package master

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// plan accepts a driver's plan, or a part of one.
func (m *Master) plan(ctx context.Context, c rpc.Caller, r wire.DriverRequest) (wire.Planned, error) {
	if err := ownJob(c, r.ID.Job); err != nil {
		return wire.Planned{}, err
	}
	if (r.Plan == nil) == (r.Part == nil) {
		return wire.Planned{}, wire.Errorf(wire.Invalid, "%s: the request has no plan", r.ID)
	}
	return ask(ctx, m, func(now time.Duration) (p wire.Planned, err error) {
		if r.Part != nil {
			p.Next, err = m.jobs.PlanPart(now, r.ID, r.Part)
		} else {
			p.Next, err = m.jobs.Plan(now, r.ID, r.Plan)
		}
		return p, err
	})
}
