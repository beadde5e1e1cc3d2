package master

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/metrics"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// sameBroken is how long the same broken rule is not logged again: a policy that breaks a rule breaks it in every
// round.
const sameBroken = time.Minute

// broken is the rule that was last logged as broken.
type broken struct {
	text string
	at   time.Time
}

// logBroken logs the rules that policies have broken.
func (m *Master) logBroken(list []error) {
	for _, err := range list {
		text := err.Error()
		if text == m.broken.text && time.Since(m.broken.at) < sameBroken {
			continue
		}
		m.broken = broken{text, time.Now()}
		m.cfg.Log.Error("a policy broke a rule; the cluster goes on with what was decided before", "policy", m.policy.Name, "admission", m.admit.Name, "error", err)
	}
}

// schedulerStatus returns what the policies have done.
func (m *Master) schedulerStatus(ctx context.Context, _ rpc.Caller, _ none) (wire.SchedulerStatus, error) {
	return ask(ctx, m, func(now time.Duration) (wire.SchedulerStatus, error) { return m.tally(now), nil })
}

// forecast returns what is known of recurring jobs: of the caller's own if no user is named.
func (m *Master) forecast(ctx context.Context, c rpc.Caller, r wire.ForecastRequest) (wire.Forecast, error) {
	return ask(ctx, m, func(time.Duration) (wire.Forecast, error) { return m.jobs.Forecast(r.Name, cmp.Or(r.User, c.User)) })
}

// figured returns the status of a job with the figures of the policies, and why it waits.
func (m *Master) figured(now time.Duration, id wire.JobID) (wire.JobStatus, error) {
	s, err := m.jobs.Status(id)
	if err != nil || m.jobs.HasEnded(id) {
		return s, err
	}
	if s.State == wire.Queued {
		if s.Why, err = m.jobs.Why(now, id); err != nil {
			return s, err
		}
	}
	for _, f := range m.jobs.Figures(now) {
		if f.Job == id {
			s.Figures = append(s.Figures, f)
		}
	}
	return s, nil
}

// policies returns the policies in use, and what they work with.
func (m *Master) policies(now time.Duration) wire.Policies {
	notes := m.jobs.Notes()
	if m.script.note != "" {
		notes = append(slices.Clip(notes), m.script.note)
	}
	return wire.Policies{Policy: m.policy, Admission: m.admit, Figures: m.jobs.Figures(now), Notes: notes}
}

func (m *Master) tally(now time.Duration) wire.SchedulerStatus {
	t := m.jobs.Tally()
	s := wire.SchedulerStatus{
		Policies: m.policies(now),
		Launched: t.Launched, Seconds: t.Seconds, Stopped: t.Stopped, Forgotten: t.Forgotten,
		Admitted: t.Admitted, Rejected: t.Rejected, Broken: t.Broken, LastBroken: t.LastBroken,
		CPUMillis: metrics.ProcessTime().Milliseconds(),
	}
	if t.Broken > 0 {
		s.BrokenAgo = (now - t.BrokenAt).Milliseconds()
	}
	return s
}
