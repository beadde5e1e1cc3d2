package capacity

import (
	"time"

	"github.com/millrace/millrace/scheduler"
)

// InitInfo describes the admission policy.
var InitInfo = scheduler.Info{
	Name: "capacity-init", Seam: scheduler.Admitting, Summary: "initialisation limits per queue and user, looked at by a poller",
	Source: "spec/capacity 3.3, 3.4",
	Setup:  scheduler.Bind(defaultInitSettings, (*initSettings).params, initSettings.build),
}

// initSettings is the configuration of the policy as a user gives it.
type initSettings struct {
	InitConfig
	queueTables
	maxTasks, maxTasksPerUser, acceptFactor map[string]float64
}

func defaultInitSettings() initSettings {
	q := DefaultQueue("", 0)
	return initSettings{DefaultInitConfig(), defaultTables(), everywhere(float64(q.MaxTasks)), everywhere(float64(q.MaxTasksPerUser)), everywhere(float64(q.AcceptFactor))}
}

func (s *initSettings) params() []scheduler.Param {
	return append(s.queueTables.params(),
		scheduler.Int(&s.MaxSystemJobs, "max-system-jobs", "spec/capacity 3.3", "initialised jobs of the whole cluster; a queue gets its part").In(1, 1<<40),
		perQueue(&s.maxTasks, "max-tasks", "tasks of the initialised jobs of a queue").In(1, 1<<40),
		perQueue(&s.maxTasksPerUser, "max-tasks-per-user", "tasks of the initialised jobs of a user in a queue; a job with more is refused").In(1, 1<<40),
		perQueue(&s.acceptFactor, "accept-factor", "accepted jobs over jobs that may be initialised; more are refused").In(1, 1<<30),
		scheduler.Duration(&s.PollInterval, "poll", "spec/capacity 3.3", "how often waiting jobs are looked at").Above0(86400),
		scheduler.Int(&s.MaxMB[scheduler.Map], "max-map-mb", "spec/capacity 3.6", "jobs with larger maps are refused, MB; 0: none").In(0, 1<<40),
		scheduler.Int(&s.MaxMB[scheduler.Reduce], "max-reduce-mb", "spec/capacity 3.6", "jobs with larger reduces are refused, MB; 0: none").In(0, 1<<40),
	)
}

func (s initSettings) build() (_ *Init, err error) {
	s.Queues, err = s.queueTables.build(
		column{"max-tasks", s.maxTasks, func(q *Queue, v float64) { q.MaxTasks = int(v) }},
		column{"max-tasks-per-user", s.maxTasksPerUser, func(q *Queue, v float64) { q.MaxTasksPerUser = int(v) }},
		column{"accept-factor", s.acceptFactor, func(q *Queue, v float64) { q.AcceptFactor = int(v) }})
	if err != nil {
		return nil, err
	}
	return NewInit(s.InitConfig)
}

// Explain implements scheduler.Explainer for jobs that wait.
func (i *Init) Explain(_ time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	j := v.Job(id)
	r := scheduler.Reason{Code: scheduler.ForAdmission, Job: id, Say: "{job} waits for the next poll"}
	if j == nil || j.Slot() >= len(i.guests) || !i.guests[j.Slot()].in {
		return r
	}
	g := &i.guests[j.Slot()]
	l := &i.waitingQueues[g.waitingQueue]
	u := l.user(j)
	r.Group = j.Queue()
	switch {
	case l.held > 0:
		r.Say, r.A = "{job} waits: {a} jobs of {group} are planned and wait for its limit on tasks", int64(l.held)
	case u.held > 0:
		r.Group, r.Say, r.A = j.Member(), "{job} waits: {a} jobs of {group} are planned and wait for its limit on tasks", int64(u.held)
	case l.active >= l.limits.Init:
		r.Say, r.A, r.B = "{job} waits: {group} has {a} initialised jobs of at most {b}", int64(l.active), int64(l.limits.Init)
	case l.tasks+g.tasks > l.queue.MaxTasks:
		r.Say, r.A, r.B, r.C = sayManyTasks, int64(l.tasks), int64(l.queue.MaxTasks), int64(g.tasks)
	case u.active >= l.limits.InitPerUser:
		r.Group, r.Say, r.A, r.B = j.Member(), "{job} waits: {group} has {a} initialised jobs of at most {b}", int64(u.active), int64(l.limits.InitPerUser)
	case u.tasks+g.tasks > l.queue.MaxTasksPerUser:
		r.Group, r.Say = j.Member(), sayManyTasks
		r.A, r.B, r.C = int64(u.tasks), int64(l.queue.MaxTasksPerUser), int64(g.tasks)
	}
	return r
}
