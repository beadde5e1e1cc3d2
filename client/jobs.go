package client

import (
	"context"
	"crypto/rand"

	"github.com/millrace/millrace/internal/wire"
)

// Submit hands in a job. It is handed in once, however often the call has to be repeated.
func (c *Client) Submit(ctx context.Context, spec wire.JobSpec) (wire.JobID, error) {
	if spec.Request == "" {
		spec.Request = rand.Text()
	}
	if spec.User == "" {
		spec.User = c.cfg.User
	}
	got, err := call[wire.JobSpec, wire.Submitted](ctx, c, "job.submit", spec)
	return got.Job, err
}

// Status describes a job.
func (c *Client) Status(ctx context.Context, id wire.JobID) (wire.JobStatus, error) {
	return call[wire.JobRequest, wire.JobStatus](ctx, c, "job.status", wire.JobRequest{Job: id})
}

// watchMillis is how long a question for news may wait at the master.
const watchMillis = 1000

// Wait waits for a job's end and tells each on the way how it stands.
func (c *Client) Wait(ctx context.Context, id wire.JobID, each func(s wire.JobStatus)) (wire.JobStatus, error) {
	for {
		s, err := call[wire.JobRequest, wire.JobStatus](ctx, c, "job.status", wire.JobRequest{Job: id, Wait: watchMillis})
		if err != nil {
			return s, err
		}
		if each != nil {
			each(s)
		}
		if s.State != "QUEUED" && s.State != "RUNNING" {
			return s, nil
		}
	}
}

// Jobs lists the jobs that the master remembers, newest first.
func (c *Client) Jobs(ctx context.Context) ([]wire.JobStatus, error) {
	return call[none, []wire.JobStatus](ctx, c, "job.list", none{})
}

// Kill ends a job.
func (c *Client) Kill(ctx context.Context, id wire.JobID, why string) error {
	_, err := call[wire.JobRequest, none](ctx, c, "job.kill", wire.JobRequest{Job: id, Why: why})
	return err
}

// Why says why a job is not getting more.
func (c *Client) Why(ctx context.Context, id wire.JobID) (string, error) {
	t, err := call[wire.JobRequest, wire.Text](ctx, c, "job.why", wire.JobRequest{Job: id})
	return t.Text, err
}

// Health asks whether the process at the address answers. It may be a master or a worker.
func (c *Client) Health(ctx context.Context) (string, error) {
	t, err := call[none, wire.Text](ctx, c, "health", none{})
	return t.Text, err
}

// Nodes lists the workers.
func (c *Client) Nodes(ctx context.Context) ([]wire.NodeStatus, error) {
	return call[none, []wire.NodeStatus](ctx, c, "node.list", none{})
}

// Drain takes a worker out of service, or with undo back: its attempts end, nothing new begins, and
// its blocks are copied away. Where the block store refuses that nothing is done.
func (c *Client) Drain(ctx context.Context, node wire.NodeName, undo bool) error {
	if err := c.dfs.Drain(ctx, string(node), undo); err != nil {
		return err
	}
	_, err := call[wire.DrainRequest, none](ctx, c, "node.drain", wire.DrainRequest{Node: node, Undo: undo})
	return err
}

// Net describes the network.
func (c *Client) Net(ctx context.Context) (wire.NetStatus, error) {
	return call[none, wire.NetStatus](ctx, c, "net.status", none{})
}

// Queues lists the queues.
func (c *Client) Queues(ctx context.Context) ([]wire.QueueStatus, error) {
	return call[none, []wire.QueueStatus](ctx, c, "queue.list", none{})
}

// Policies are those in use.
func (c *Client) Policies(ctx context.Context) (wire.Policies, error) {
	return call[none, wire.Policies](ctx, c, "scheduler.get", none{})
}

// SetPolicy changes the assignment or the admission policy, whichever the name is one of.
func (c *Client) SetPolicy(ctx context.Context, p wire.Choice) error {
	_, err := call[wire.Choice, none](ctx, c, "scheduler.set", p)
	return err
}
