package master

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// openPeers makes the client that calls workers, in the role of a node.
func (m *Master) openPeers() (err error) {
	cc := rpc.ClientConfig{}
	if m.cfg.Key != nil {
		if cc, err = m.cfg.Key.Client(secure.Node, "master", ""); err != nil {
			return err
		}
	}
	cc.Node = "master"
	m.peers = rpc.NewClient(cc)
	return nil
}

func (m *Master) routeLogs() {
	rpc.Handle(m.server, api.JobAttempts, m.attempts)
	rpc.Handle(m.server, api.JobLog, m.jobLog)
}

// attempts returns where attempts of a job ran.
func (m *Master) attempts(ctx context.Context, c rpc.Caller, r wire.AttemptsRequest) ([]wire.PastAttempt, error) {
	if err := m.mayRead(ctx, c, r.Job); err != nil {
		return nil, err
	}
	h, err := m.history()
	if err != nil {
		return nil, err
	}
	return h.Attempts(r)
}

// mayRead refuses callers who may not see the job's output: what a job prints belongs to its owner.
func (m *Master) mayRead(ctx context.Context, c rpc.Caller, id wire.JobID) error {
	s, err := m.status(ctx, c, wire.JobRequest{Job: id})
	if err != nil {
		return err
	}
	if c.User != s.User && !c.Admin && c.Node == "" {
		return wire.Errorf(wire.Denied, "%s belongs to %s: its logs are not for %s", id, s.User, c.User)
	}
	return nil
}

// jobLog asks the worker that ran an attempt for what it printed, so that clients need not reach workers.
func (m *Master) jobLog(ctx context.Context, c rpc.Caller, r wire.LogRequest) (wire.Log, error) {
	if err := m.mayRead(ctx, c, r.ID.Job); err != nil {
		return wire.Log{}, err
	}
	h, err := m.history()
	if err != nil {
		return wire.Log{}, err
	}
	list, err := h.Attempts(wire.AttemptsRequest{Job: r.ID.Job, Stage: r.ID.Stage, Task: r.ID.Kind, Index: r.ID.Index})
	if err != nil {
		return wire.Log{}, err
	}
	for _, a := range list {
		if a.Try == r.ID.Try {
			return m.logOn(ctx, a.Node, r)
		}
	}
	return wire.Log{}, wire.Errorf(wire.NotFound, "%s has no attempt %d of %s %d", r.ID.Job, r.ID.Try, r.ID.Kind, r.ID.Index)
}

// logOn asks one worker for a log.
func (m *Master) logOn(ctx context.Context, name wire.NodeName, r wire.LogRequest) (wire.Log, error) {
	settling := false
	nodes, err := ask(ctx, m, func(now time.Duration) ([]wire.NodeStatus, error) {
		settling = m.jobs.Settling(now)
		return m.jobs.Nodes(now), nil
	})
	if err != nil {
		return wire.Log{}, err
	}
	addr, heard := "", false
	for _, n := range nodes {
		if n.Node != name {
			continue
		}
		if heard = n.Addr != ""; n.State != "down" {
			addr = n.Addr
		}
	}
	if addr == "" && settling && !heard {
		return wire.Log{}, wire.Errorf(wire.Unavailable, "node %s, which ran %s %d, has not reported to this master yet", name, r.ID.Kind, r.ID.Index)
	}
	if addr == "" {
		return wire.Log{}, wire.Errorf(wire.NotFound, "node %s, which ran %s %d, is down: its log is there again when the node is (millrace node ls)", name, r.ID.Kind, r.ID.Index)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	got, err := api.TaskLog.Call(ctx, m.peers, addr, r)
	if err != nil {
		return got, wire.Errorf(wire.KindOf(err), "node %s: %w", name, err)
	}
	got.Node = string(name)
	return got, nil
}
