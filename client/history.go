package client

import (
	"context"

	"github.com/millrace/millrace/internal/wire"
)

// History lists jobs of the past and the present, newest first.
func (c *Client) History(ctx context.Context, q wire.PastQuery) (wire.PastJobs, error) {
	return call[wire.PastQuery, wire.PastJobs](ctx, c, "history.list", q)
}

// Summary is the history of a job in one page.
func (c *Client) Summary(ctx context.Context, id wire.JobID) (wire.PastSummary, error) {
	return call[wire.JobRequest, wire.PastSummary](ctx, c, "history.job", wire.JobRequest{Job: id})
}

// Events calls fn with all that has happened to a job, as the journal orders it.
func (c *Client) Events(ctx context.Context, id wire.JobID, fn func(e *wire.PastEvent)) error {
	req := wire.PastEventsRequest{Job: id}
	for {
		got, err := call[wire.PastEventsRequest, wire.PastEvents](ctx, c, "history.events", req)
		if err != nil {
			return err
		}
		for i := range got.Events {
			fn(&got.Events[i])
		}
		if got.Next == nil {
			return nil
		}
		req.From = got.Next
	}
}

// Attempts lists the attempts of a task; without one the drivers, and attempts that failed.
func (c *Client) Attempts(ctx context.Context, r wire.AttemptsRequest) ([]wire.PastAttempt, error) {
	return call[wire.AttemptsRequest, []wire.PastAttempt](ctx, c, "job.attempts", r)
}

// Log returns a piece of what an attempt has printed.
func (c *Client) Log(ctx context.Context, r wire.LogRequest) (wire.Log, error) {
	return call[wire.LogRequest, wire.Log](ctx, c, "job.log", r)
}
