package capacity

import (
	"time"

	"github.com/millrace/millrace/scheduler"
)

const (
	sayRefusedTasks = "{job} is refused: a user of {group} may have {b} initialised tasks, and it alone has {a}"
	sayManyTasks    = "{job} waits: its {c} tasks beside the {a} initialised ones of {group} would pass {b}"
)

// Judge implements scheduler.Judge: it applies the limits on tasks to the tasks that a driver has found. A plan that
// waits here does not count, or two that wait for each other would do so for ever. No job of its queue, or of its user,
// is initialised before it.
func (i *Init) Judge(_ time.Duration, j *job, s *scheduler.JobSpec, _ *scheduler.View) scheduler.AdmitDecision {
	g := &i.guests[j.Slot()]
	if !g.in || !g.active {
		return scheduler.AdmitDecision{Verdict: scheduler.Admit, Job: j.ID()}
	}
	l := &i.waitingQueues[g.waitingQueue]
	u, tasks := l.user(j), int(s.Maps)+int(s.Reduces)
	r := scheduler.Reason{Code: scheduler.AtLimit, Job: j.ID(), Group: j.Queue(), Say: sayManyTasks, C: int64(tasks)}
	verdict := scheduler.Hold
	i.count(g, l, u, -g.tasks)
	g.hold(l, u, free)
	switch {
	case tasks > l.queue.MaxTasksPerUser:
		verdict, r.Code, r.Say, r.A, r.B = scheduler.Reject, scheduler.Denied, sayRefusedTasks, int64(tasks), int64(l.queue.MaxTasksPerUser)
	case l.tasks+tasks > l.queue.MaxTasks:
		r.A, r.B = int64(l.tasks), int64(l.queue.MaxTasks)
		g.hold(l, u, byQueue)
	case u.tasks+tasks > l.queue.MaxTasksPerUser:
		r.Group, r.A, r.B = j.Member(), int64(u.tasks), int64(l.queue.MaxTasksPerUser)
		g.hold(l, u, byUser)
	default:
		verdict = scheduler.Admit
		i.count(g, l, u, tasks)
	}
	return scheduler.AdmitDecision{Verdict: verdict, Job: j.ID(), Reason: r}
}

// count adds to the tasks of an initialised job.
func (i *Init) count(g *guest, l *waitingQueue, u *userInQueue, by int) {
	g.tasks += by
	l.tasks += by
	u.tasks += by
}

// hold counts the job as held by the queue's limit, the user's, or neither.
func (g *guest) hold(l *waitingQueue, u *userInQueue, by hold) {
	l.held += one(by == byQueue) - one(g.held == byQueue)
	u.held += one(by == byUser) - one(g.held == byUser)
	g.held = by
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
