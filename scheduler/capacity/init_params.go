package capacity

import (
	"time"

	"github.com/millrace/millrace/scheduler"
)

// InitInfo describes the admission policy.
var InitInfo = scheduler.Info{
	Name: "capacity-init", Seam: scheduler.Admitting, Summary: "initialisation limits per queue and user, looked at by a poller",
	Source: "capacity.md 3.3, 3.4", Params: initParams(),
	New: func(p scheduler.Params) (any, error) {
		c, err := initConfigOf(p)
		if err != nil {
			return nil, err
		}
		return NewInit(c)
	},
}

func initParams() []scheduler.Param {
	integer := func(name, def string, low float64, doc, source string) scheduler.Param {
		return scheduler.Param{Name: name, Type: scheduler.IntParam, Default: def, Min: low, Max: 1 << 40, Doc: doc, Source: source}
	}
	return append(queueParams(),
		integer("max-system-jobs", "3000", 1, "initialised jobs of the whole cluster; a queue gets its part", "capacity.md 3.3"),
		perQueue("max-tasks", "*=200000", 1, 1<<40, "tasks of the initialised jobs of a queue", "capacity.md 3.3"),
		perQueue("max-tasks-per-user", "*=100000", 1, 1<<40, "tasks of the initialised jobs of a user in a queue; a job with more is refused", "capacity.md 3.3"),
		perQueue("accept-factor", "*=10", 1, 1<<30, "accepted jobs over jobs that may be initialised; more are refused", "capacity.md 3.3"),
		scheduler.Param{Name: "poll", Type: scheduler.DurationParam, Default: "5s", Positive: true, Max: 86400, Doc: "how often waiting jobs are looked at", Source: "capacity.md 3.3"},
		integer("max-map-mb", "0", 0, "jobs with larger maps are refused, MB; 0: none", "capacity.md 3.6"),
		integer("max-reduce-mb", "0", 0, "jobs with larger reduces are refused, MB; 0: none", "capacity.md 3.6"),
	)
}

func initConfigOf(p scheduler.Params) (InitConfig, error) {
	c := InitConfig{MaxSystemJobs: p.Int("max-system-jobs"), PollInterval: p.Duration("poll"), MaxMB: [kinds]int64{int64(p.Int("max-map-mb")), int64(p.Int("max-reduce-mb"))}}
	var err error
	c.Queues, err = queuesOf(p, func(t *tables, q *Queue) {
		q.MaxTasks, q.MaxTasksPerUser = int(t.of("max-tasks", q.Name, 0)), int(t.of("max-tasks-per-user", q.Name, 0))
		q.AcceptFactor = int(t.of("accept-factor", q.Name, 0))
	})
	return c, err
}

// Explain implements scheduler.Explainer for jobs that wait.
func (i *Init) Explain(_ time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	j := v.Job(id)
	r := scheduler.Reason{Code: scheduler.ForAdmission, Job: id, Say: "{job} waits for the next poll"}
	if j == nil || j.Slot() >= len(i.guests) || !i.guests[j.Slot()].in {
		return r
	}
	g := &i.guests[j.Slot()]
	l := &i.lobbies[g.lobby]
	u := l.user(j)
	r.Group = j.Queue()
	switch {
	case l.active >= l.limits.Init:
		r.Say, r.A, r.B = "{job} waits: {group} has {a} initialised jobs of at most {b}", int64(l.active), int64(l.limits.Init)
	case l.tasks+g.tasks > l.queue.MaxTasks:
		r.Say, r.A, r.B, r.C = "{job} waits: its {c} tasks beside the {a} initialised ones of {group} would pass {b}", int64(l.tasks), int64(l.queue.MaxTasks), int64(g.tasks)
	case u.active >= l.limits.InitPerUser:
		r.Group, r.Say, r.A, r.B = j.Member(), "{job} waits: {group} has {a} initialised jobs of at most {b}", int64(u.active), int64(l.limits.InitPerUser)
	case u.tasks+g.tasks > l.queue.MaxTasksPerUser:
		r.Group, r.Say = j.Member(), "{job} waits: its {c} tasks beside the {a} initialised ones of {group} would pass {b}"
		r.A, r.B, r.C = int64(u.tasks), int64(l.queue.MaxTasksPerUser), int64(g.tasks)
	}
	return r
}
