package client

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// Submit submits a job. The job is submitted once, however often the call has to be retried.
func (c *Client) Submit(ctx context.Context, spec wire.JobSpec) (wire.JobID, error) {
	if spec.Request == "" {
		spec.Request = rand.Text()
	}
	if spec.User == "" {
		spec.User = c.cfg.User
	}
	if spec.Umask == "" {
		spec.Umask = c.cfg.Umask
	}
	got, err := call(ctx, c, api.JobSubmit, spec)
	return got.Job, err
}

// Status describes a job.
func (c *Client) Status(ctx context.Context, id wire.JobID) (wire.JobStatus, error) {
	return call(ctx, c, api.JobStatus, wire.JobRequest{Job: id})
}

// watchMillis is how long the master may hold a question until there is news.
const watchMillis = 1000

// Wait waits for a job's end and calls each with its status on the way.
func (c *Client) Wait(ctx context.Context, id wire.JobID, each func(s wire.JobStatus)) (wire.JobStatus, error) {
	return c.WaitFor(ctx, id, c.cfg.Patience, each, nil)
}

// WaitFor is Wait with its own patience for a master that is away. Meanwhile it calls away now and then, if that is
// set.
func (c *Client) WaitFor(ctx context.Context, id wire.JobID, patience time.Duration, each func(s wire.JobStatus), away func(since time.Duration)) (wire.JobStatus, error) {
	for {
		begin, s, tried := time.Now(), wire.JobStatus{}, false
		err := rpc.Retry{For: patience}.Do(ctx, func() (err error) {
			if tried && away != nil {
				away(time.Since(begin))
			}
			tried = true
			s, err = api.JobStatus.Call(ctx, c.rpc, c.addr, wire.JobRequest{Job: id, Wait: watchMillis})
			return stopping(ctx, err)
		})
		if err != nil {
			return s, err
		}
		if each != nil {
			each(s)
		}
		if s.State.Ended() {
			return s, nil
		}
	}
}

// Jobs lists the jobs that the master remembers, newest first.
func (c *Client) Jobs(ctx context.Context) ([]wire.JobStatus, error) {
	return call(ctx, c, api.JobList, wire.JobsRequest{})
}

// Load returns how busy the cluster was lately. Its clock began with the cluster, as in the times of jobs.
func (c *Client) Load(ctx context.Context) (wire.Load, error) {
	return call(ctx, c, api.ClusterLoad, none{})
}

// Active lists the jobs that have not ended.
func (c *Client) Active(ctx context.Context) ([]wire.JobStatus, error) {
	return call(ctx, c, api.JobList, wire.JobsRequest{Active: true})
}

// Kill kills a job.
func (c *Client) Kill(ctx context.Context, id wire.JobID, why string) error {
	_, err := call(ctx, c, api.JobKill, wire.JobRequest{Job: id, Why: why})
	return err
}

// Why returns why a job does not get more.
func (c *Client) Why(ctx context.Context, id wire.JobID) (string, error) {
	t, err := call(ctx, c, api.JobWhy, wire.JobRequest{Job: id})
	return t.Text, err
}

// Health asks whether the process at the address answers. It may be a master or a worker.
func (c *Client) Health(ctx context.Context) (string, error) {
	t, err := call(ctx, c, api.Health, none{})
	return t.Text, err
}

// Nodes lists the workers.
func (c *Client) Nodes(ctx context.Context) ([]wire.NodeStatus, error) {
	return call(ctx, c, api.NodeList, none{})
}

// Drain takes a worker out of service, or with undo back into it. Its attempts end, nothing new starts, and its
// blocks are copied away. If the block store refuses, nothing is done.
func (c *Client) Drain(ctx context.Context, node wire.NodeName, undo bool) error {
	if err := c.dfs.Drain(ctx, string(node), undo); err != nil {
		return err
	}
	_, err := call(ctx, c, api.NodeDrain, wire.DrainRequest{Node: node, Undo: undo})
	return err
}

// Net describes the network.
func (c *Client) Net(ctx context.Context) (wire.NetStatus, error) {
	return call(ctx, c, api.NetStatus, none{})
}

// Users returns what users have and may have.
func (c *Client) Users(ctx context.Context) ([]wire.UserStatus, error) {
	return call(ctx, c, api.UserList, none{})
}

// SetLimits changes what a user may have, or all users without limits of their own.
func (c *Client) SetLimits(ctx context.Context, r wire.LimitRequest) error {
	_, err := call(ctx, c, api.UserLimit, r)
	return err
}

// Queues lists the queues.
func (c *Client) Queues(ctx context.Context) ([]wire.QueueStatus, error) {
	return call(ctx, c, api.QueueList, none{})
}

// SchedulerStatus returns what the policies have done since the master started.
func (c *Client) SchedulerStatus(ctx context.Context) (wire.SchedulerStatus, error) {
	return call(ctx, c, api.SchedulerStatus, none{})
}

// Forecast returns what is known of recurring jobs.
func (c *Client) Forecast(ctx context.Context, r wire.ForecastRequest) (wire.Forecast, error) {
	return call(ctx, c, api.SchedulerForecast, r)
}

// Plans announces jobs or withdraws announcements, and returns the plans that exist.
func (c *Client) Plans(ctx context.Context, r wire.PlanRequest) (wire.Plans, error) {
	return call(ctx, c, api.SchedulerPlan, r)
}

// Decisions returns what the policies decided, in words.
func (c *Client) Decisions(ctx context.Context, r wire.DecisionsRequest) (wire.Decisions, error) {
	return call(ctx, c, api.SchedulerLog, r)
}

// DecisionLines returns a page of the log that a simulator replays.
func (c *Client) DecisionLines(ctx context.Context, from uint64) (wire.DecisionLines, error) {
	return call(ctx, c, api.SchedulerLines, wire.DecisionsRequest{From: from})
}

// Policies returns the policies in use.
func (c *Client) Policies(ctx context.Context) (wire.Policies, error) {
	return call(ctx, c, api.SchedulerGet, none{})
}

// SetPolicy changes the assignment or the admission policy, depending on the name.
func (c *Client) SetPolicy(ctx context.Context, p wire.Choice) error {
	_, err := call(ctx, c, api.SchedulerSet, p)
	return err
}
