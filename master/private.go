package master

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// What programs of a job have printed, and the data that they failed on, is in the errors of its attempts and in the
// list of the records that it skipped. On a cluster with a key only the owner and administrators see either, as with
// logs; others see that there is something.

// private reports whether the caller may not see what owner's job has printed or skipped.
func (m *Master) private(c rpc.Caller, owner string) bool {
	return m.cfg.Key != nil && c.User != owner && !c.Admin && c.Node == ""
}

// hide replaces a text by a note of whose it is.
func hide(text *string, owner string) {
	if *text != "" {
		*text = "(for " + owner + " only)"
	}
}

func (m *Master) hideStatus(c rpc.Caller, s *wire.JobStatus) {
	if m.private(c, s.User) {
		hide(&s.Error, s.User)
		hide(&s.LastError, s.User)
		s.Bad = nil
	}
}

// publicStatus returns status without what the caller may not see.
func (m *Master) publicStatus(ctx context.Context, c rpc.Caller, r wire.JobRequest) (wire.JobStatus, error) {
	s, err := m.status(ctx, c, r)
	m.hideStatus(c, &s)
	return s, err
}

// list returns all jobs that the master remembers.
func (m *Master) list(ctx context.Context, c rpc.Caller, r wire.JobsRequest) ([]wire.JobStatus, error) {
	list, err := ask(ctx, m, func(time.Duration) ([]wire.JobStatus, error) { return m.jobs.List(r), nil })
	for i := range list {
		m.hideStatus(c, &list[i])
	}
	return list, err
}

func (m *Master) pastList(_ context.Context, c rpc.Caller, q wire.PastQuery) (wire.PastJobs, error) {
	h, err := m.history()
	if err != nil {
		return wire.PastJobs{}, err
	}
	out, err := h.Jobs(q)
	for i := range out.Jobs {
		if j := &out.Jobs[i]; m.private(c, j.User) {
			hide(&j.Error, j.User)
		}
	}
	return out, err
}

func (m *Master) pastJob(ctx context.Context, c rpc.Caller, r wire.JobRequest) (*wire.PastSummary, error) {
	h, err := m.history()
	if err != nil {
		return nil, err
	}
	s, err := h.Summary(r.Job)
	if wire.KindOf(err) == wire.NotFound && err != nil {
		if _, missing := m.status(ctx, c, wire.JobRequest{Job: r.Job}); missing != nil {
			err = missing // it names the job that may have been meant
		}
	}
	if err != nil || !m.private(c, s.User) {
		return s, err
	}
	hide(&s.Error, s.User)
	for _, list := range [][]wire.PastAttempt{s.Slowest, s.Failed} {
		for i := range list {
			hide(&list[i].Text, s.User)
		}
	}
	return s, nil
}

func (m *Master) pastEvents(_ context.Context, c rpc.Caller, r wire.PastEventsRequest) (wire.PastEvents, error) {
	h, err := m.history()
	if err != nil {
		return wire.PastEvents{}, err
	}
	out, err := h.Events(r)
	if err != nil || m.cfg.Key == nil || len(out.Events) == 0 {
		return out, err
	}
	j, err := h.Job(r.Job)
	if err != nil {
		return wire.PastEvents{}, err
	}
	if m.private(c, j.User) {
		for i := range out.Events {
			hide(&out.Events[i].Text, j.User)
		}
	}
	return out, nil
}
