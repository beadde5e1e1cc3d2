package master

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// plans announces jobs, or takes announcements back, and returns what is planned. The input of an announced job need
// not exist yet: it is announced because the input will come.
func (m *Master) plans(ctx context.Context, c rpc.Caller, r wire.PlanRequest) (wire.Plans, error) {
	if r.Again && !c.Admin && m.cfg.Key != nil {
		return wire.Plans{}, wire.Errorf(wire.Denied, "only administrators plan the jobs of all anew: input may lie where the plans of others say")
	}
	for i := range r.Jobs {
		if err := m.announced(c, &r.Jobs[i]); err != nil {
			return wire.Plans{}, err
		}
	}
	if len(r.Jobs) > 0 {
		if err := m.room(); err != nil {
			return wire.Plans{}, wire.Errorf(wire.KindOf(err), "no announcement is taken: %w", err)
		}
	}
	return ask(ctx, m, func(now time.Duration) (p wire.Plans, err error) {
		switch {
		case len(r.Jobs) > 0:
			err = m.jobs.Expect(now, r.Jobs)
		case r.Drop != "":
			err = m.jobs.Drop(now, r.Drop, c.User)
		case r.Again:
			m.jobs.Replan(now)
		}
		return m.jobs.Plans(), err
	})
}

// announced completes the specification of an announced job, or refuses it.
func (m *Master) announced(c rpc.Caller, spec *wire.JobSpec) error {
	spec.User, spec.Local, spec.Under, spec.Request = c.User, m.localRights(c, c.User), nil, ""
	if err := m.maySubmit(c, spec.User, spec.Queue); err != nil {
		return err
	}
	if err := checkSize(spec); err != nil {
		return err
	}
	if spec.Name == "" || !spec.Recurring {
		return wire.Errorf(wire.Invalid, "the announced job %q: it needs a name, and must be recurring, so that what is known of it can be trusted (--name, --recurring)", spec.Name)
	}
	known, err := m.describe(spec)
	spec.Inputs = known.Inputs // what is written there goes where it will be read
	return err
}
