package master

import (
	"context"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
)

type none = struct{}

func (m *Master) routes() {
	rpc.Handle(m.server, api.WorkerReport, m.report)
	rpc.Handle(m.server, api.JobSubmit, m.submit)
	rpc.Handle(m.server, api.JobStatus, m.publicStatus)
	rpc.Handle(m.server, api.JobList, m.list)
	rpc.Handle(m.server, api.JobKill, m.kill)
	rpc.Handle(m.server, api.JobWhy, func(ctx context.Context, _ rpc.Caller, r wire.JobRequest) (wire.Text, error) {
		return ask(ctx, m, func(now time.Duration) (wire.Text, error) {
			text, err := m.jobs.Why(now, r.Job)
			return wire.Text{Text: text}, err
		})
	})
	rpc.Handle(m.server, api.NodeList, m.nodes)
	rpc.Handle(m.server, api.Health, func(ctx context.Context, _ rpc.Caller, _ none) (wire.Text, error) {
		text, err := m.health(ctx)
		return wire.Text{Text: text}, err
	})
	rpc.Handle(m.server, api.NodeDrain, func(ctx context.Context, _ rpc.Caller, r wire.DrainRequest) (none, error) {
		return ask(ctx, m, func(now time.Duration) (none, error) { return none{}, m.jobs.Drain(now, r.Node, r.Undo) })
	})
	rpc.Handle(m.server, api.SchedulerGet, func(ctx context.Context, _ rpc.Caller, _ none) (wire.Policies, error) {
		return ask(ctx, m, func(now time.Duration) (wire.Policies, error) { return m.policies(now), nil })
	})
	rpc.Handle(m.server, api.QueueList, m.queues)
	rpc.Handle(m.server, api.ClusterLoad, m.clusterLoad)
	rpc.Handle(m.server, api.NetStatus, m.netStatus)
	rpc.Handle(m.server, api.SchedulerStatus, m.schedulerStatus)
	rpc.Handle(m.server, api.SchedulerForecast, m.forecast)
	rpc.Handle(m.server, api.SchedulerPlan, m.plans)
	rpc.Handle(m.server, api.SchedulerSet, m.setPolicy)
	rpc.Handle(m.server, api.SchedulerLog, m.decisionLog)
	rpc.Handle(m.server, api.SchedulerLines, m.decisionLines)
	rpc.Handle(m.server, api.ClusterGossip, m.gossipInfo)
	m.routeUsers()
	m.routeTasks()
	m.routePast()
	m.routeMetrics()
	m.routeDashboard()
}

// routeTasks adds the calls of drivers and reduces.
func (m *Master) routeTasks() {
	rpc.Handle(m.server, api.StageInfo, func(ctx context.Context, c rpc.Caller, r wire.StageRef) (wire.StageInfo, error) {
		if err := ownJob(c, r.Job); err != nil {
			return wire.StageInfo{}, err
		}
		return ask(ctx, m, func(time.Duration) (wire.StageInfo, error) { return m.jobs.StageInfo(r) })
	})
	rpc.Handle(m.server, api.StageOutputs, m.outputs)
	rpc.Handle(m.server, api.DriverStep, m.driverStep)
	rpc.Handle(m.server, api.DriverPlan, m.plan)
	rpc.Handle(m.server, api.DriverCommit, func(ctx context.Context, c rpc.Caller, r wire.DriverRequest) (none, error) {
		if err := ownJob(c, r.ID.Job); err != nil {
			return none{}, err
		}
		return ask(ctx, m, func(now time.Duration) (none, error) {
			if r.Problem != "" {
				m.pause(now) // as for attempts that have failed
			}
			return none{}, m.jobs.Commit(now, r.ID, r.Problem)
		})
	})
}

// setPolicy replaces a policy while jobs run. The change lasts until the master is restarted; that to a script lasts
// longer.
func (m *Master) setPolicy(ctx context.Context, c rpc.Caller, r wire.Choice) (none, error) {
	if r.Name == scheduler.ScriptName {
		return m.setScript(ctx, c, r)
	}
	r, err := m.choose(r.Name, r.Params)
	if err != nil {
		return none{}, wire.Errorf(wire.Invalid, "%w", err)
	}
	p, perr := policies.Policy(r.Name, r.Params)
	if perr == nil {
		return ask(ctx, m, func(now time.Duration) (none, error) {
			m.put(now, r, p, nil)
			m.jobs.KeepScript(now, nil)
			m.cfg.Log.Info("policy changed", "policy", r.Name, "by", c.User)
			return none{}, nil
		})
	}
	if slices.Contains(policies.Names(scheduler.Assignment), r.Name) {
		return none{}, wire.Errorf(wire.Invalid, "%w", perr)
	}
	a, aerr := policies.Admission(r.Name, r.Params)
	if aerr != nil {
		return none{}, wire.Errorf(wire.Invalid, "%w; nor an admission policy: %w", perr, aerr)
	}
	return ask(ctx, m, func(now time.Duration) (none, error) {
		m.admit = r
		m.jobs.Announce(now, wire.Choice{}, r)
		m.jobs.SetAdmission(now, a)
		m.cfg.Log.Info("admission policy changed", "policy", r.Name, "by", c.User)
		return none{}, nil
	})
}

// ownJob refuses a task that asks about another job.
func ownJob(c rpc.Caller, job wire.JobID) error {
	if c.Node == "" && c.Job != string(job) {
		return wire.Errorf(wire.Denied, "a task of job %s asks about %s", c.Job, job)
	}
	return nil
}

// status describes a job. With Wait it answers when there is news of the job or the time is up.
func (m *Master) status(ctx context.Context, _ rpc.Caller, r wire.JobRequest) (wire.JobStatus, error) {
	var news chan struct{}
	s, err := ask(ctx, m, func(now time.Duration) (wire.JobStatus, error) {
		if r.Wait > 0 && !m.jobs.HasEnded(r.Job) {
			news = m.attend(r.Job)
			return wire.JobStatus{}, nil
		}
		return m.figured(now, r.Job)
	})
	if wire.KindOf(err) == wire.NotFound && err != nil {
		return m.pastStatus(r.Job, err)
	}
	if err != nil || news == nil { // news is set when there is no error
		return s, err
	}
	if !waitFor(ctx, news, r.Wait) {
		m.do(func(time.Duration) { m.leave(r.Job, news) })
	}
	if s, err = ask(ctx, m, func(now time.Duration) (wire.JobStatus, error) { return m.figured(now, r.Job) }); wire.KindOf(err) == wire.NotFound && err != nil {
		return m.pastStatus(r.Job, err)
	}
	return s, err
}

// maxWait bounds how long a call may wait for news.
const maxWait = 30 * time.Second

// waitFor reports whether news came in time.
func waitFor(ctx context.Context, news <-chan struct{}, millis int) bool {
	t := time.NewTimer(min(time.Duration(millis)*time.Millisecond, maxWait))
	defer t.Stop()
	select {
	case <-news:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

func (m *Master) unwatch(who map[wire.JobID][]chan struct{}, id wire.JobID, news chan struct{}) {
	list := who[id]
	for i, ch := range list {
		if ch == news {
			who[id] = append(list[:i:i], list[i+1:]...)
			return
		}
	}
}

func (m *Master) kill(ctx context.Context, c rpc.Caller, r wire.JobRequest) (none, error) {
	return ask(ctx, m, func(now time.Duration) (none, error) {
		s, err := m.jobs.Status(r.Job)
		if err != nil {
			return none{}, err
		}
		if err := m.mayKill(c, &s); err != nil {
			return none{}, err
		}
		why := r.Why
		if why == "" {
			why = "killed by " + c.User
		}
		return none{}, m.jobs.Kill(now, r.Job, why)
	})
}

// driverStep tells a driver what to do next. With Wait it answers "wait" only when the time is up.
func (m *Master) driverStep(ctx context.Context, c rpc.Caller, r wire.DriverRequest) (wire.DriverStep, error) {
	if err := ownJob(c, r.ID.Job); err != nil {
		return wire.DriverStep{}, err
	}
	var news chan struct{}
	s, err := ask(ctx, m, func(time.Duration) (wire.DriverStep, error) {
		s := m.jobs.DriverStep(r.ID)
		if s.Do == "wait" && r.Wait > 0 {
			news = make(chan struct{})
			m.drivers[r.ID.Job] = append(m.drivers[r.ID.Job], news)
		}
		return s, nil
	})
	if err != nil || news == nil { // news is set when there is no error
		return s, err
	}
	if !waitFor(ctx, news, r.Wait) {
		m.do(func(time.Duration) { m.unwatch(m.drivers, r.ID.Job, news) })
	}
	return ask(ctx, m, func(time.Duration) (wire.DriverStep, error) { return m.jobs.DriverStep(r.ID), nil })
}

// outputs returns where map output is. With Wait it answers when there is more than the caller knew.
func (m *Master) outputs(ctx context.Context, c rpc.Caller, r wire.OutputsRequest) (wire.OutputsResponse, error) {
	if err := ownJob(c, r.Job); err != nil {
		return wire.OutputsResponse{}, err
	}
	var news chan struct{}
	resp, err := ask(ctx, m, func(time.Duration) (wire.OutputsResponse, error) {
		resp := m.jobs.Outputs(r)
		if len(resp.Changes) == 0 && !resp.Gone && !(resp.All && r.From == 0) && r.Wait > 0 {
			news = make(chan struct{})
			m.watchers[r.Job] = append(m.watchers[r.Job], news)
		}
		return resp, nil
	})
	if err != nil || news == nil { // news is set when there is no error
		return resp, err
	}
	if !waitFor(ctx, news, r.Wait) {
		m.do(func(time.Duration) { m.unwatch(m.watchers, r.Job, news) })
	}
	return ask(ctx, m, func(time.Duration) (wire.OutputsResponse, error) { return m.jobs.Outputs(r), nil })
}
