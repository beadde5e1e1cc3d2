package client

import (
	"context"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
)

// History lists past and present jobs, newest first.
func (c *Client) History(ctx context.Context, q wire.PastQuery) (wire.PastJobs, error) {
	return call(ctx, c, api.HistoryList, q)
}

// Summary returns a summary of a job's history.
func (c *Client) Summary(ctx context.Context, id wire.JobID) (wire.PastSummary, error) {
	got, err := call(ctx, c, api.HistoryJob, wire.JobRequest{Job: id})
	if err != nil || got == nil {
		return wire.PastSummary{}, err
	}
	return *got, nil
}

// Events calls fn for everything that has happened to a job, in the order of the journal.
func (c *Client) Events(ctx context.Context, id wire.JobID, fn func(e *wire.PastEvent)) error {
	req := wire.PastEventsRequest{Job: id}
	for {
		got, err := call(ctx, c, api.HistoryEvents, req)
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

// Attempts lists the attempts of a task. Without a task it lists drivers and failed attempts.
func (c *Client) Attempts(ctx context.Context, r wire.AttemptsRequest) ([]wire.PastAttempt, error) {
	return call(ctx, c, api.JobAttempts, r)
}

// Log returns a piece of what an attempt has printed.
func (c *Client) Log(ctx context.Context, r wire.LogRequest) (wire.Log, error) {
	return call(ctx, c, api.JobLog, r)
}
