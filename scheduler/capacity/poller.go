package capacity

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// Interval implements scheduler.Ticker.
func (i *Init) Interval() time.Duration { return i.cfg.PollInterval }

// Tick implements scheduler.Ticker: one wake-up of the poller (spec/capacity 3.4). The poller sleeps before it first looks:
// a look at the start would initialise the first job alone. While no node is up, nobody knows which jobs a node could hold.
func (i *Init) Tick(_ time.Duration, v *scheduler.View) {
	if !i.awake || v.Total().Nodes == 0 {
		i.awake = true
		return
	}
	for n := range i.waitingQueues {
		i.poll(&i.waitingQueues[n], v)
	}
}

// poll walks the waiting jobs of one queue in order (spec/capacity 3.4, step 2). It skips a job that no node can hold.
func (i *Init) poll(l *waitingQueue, v *scheduler.View) {
	clear(l.full)
	for at := 0; at < l.waiting.Len(); {
		j := l.waiting.At(at)
		g, u := &i.guests[j.Slot()], l.user(j)
		if _, never := v.TooLarge(j); never {
			at++
			continue
		}
		switch {
		case l.held > 0 || l.active >= l.limits.Init || l.tasks+g.tasks > l.queue.MaxTasks: // 2b
			return
		case l.full[j.User().Slot()]: // 2c
			at++
		case u.held > 0 || u.active >= l.limits.InitPerUser || u.tasks+g.tasks > l.queue.MaxTasksPerUser: // 2d
			l.full[j.User().Slot()] = true
			at++
		default: // 2e
			i.initialise(j)
			i.granted = append(i.granted, j)
		}
	}
}

func (l *waitingQueue) user(j *job) *userInQueue {
	for len(l.users) <= j.User().Slot() {
		l.users = append(l.users, userInQueue{})
		l.full = append(l.full, false)
	}
	return &l.users[j.User().Slot()]
}

// initialise moves j from waiting to initialised on the books.
func (i *Init) initialise(j *job) {
	g := &i.guests[j.Slot()]
	l := &i.waitingQueues[g.waitingQueue]
	l.waiting.Remove(j)
	u := l.user(j)
	g.active = true
	l.active++
	u.active++
	l.tasks += g.tasks
	u.tasks += g.tasks
}

// submit is spec/capacity 3.4, Submit.
func (i *Init) submit(j *job) {
	for len(i.guests) <= j.Slot() {
		i.guests = append(i.guests, guest{})
	}
	q, known := i.find(j.Queue().Name())
	n := i.index[q]
	l := &i.waitingQueues[n]
	u := l.user(j)
	g := guest{in: true, waitingQueue: n, tasks: tasksOf(j)}
	if why, refused := i.refuses(l, u, j, g.tasks, known); refused && j.Phase() == scheduler.Waiting {
		i.guests[j.Slot()] = guest{}
		i.refused = append(i.refused, refusal{j, why})
		return
	}
	i.guests[j.Slot()] = g
	l.jobs++
	u.jobs++
	turn := scheduler.Normal
	if q.Priority {
		turn = j.Priority()
	}
	l.waiting.Set(j, turn)
}

func tasksOf(j *job) int { return int(j.Spec().Maps) + int(j.Spec().Reduces) }

// refuses is steps 1 to 3 of Submit. It also refuses what a queue or the memory of a slot cannot hold.
func (i *Init) refuses(l *waitingQueue, u *userInQueue, j *job, tasks int, known bool) (scheduler.Reason, bool) {
	r := scheduler.Reason{Code: scheduler.Denied, Job: j.ID(), Group: j.Queue()}
	spec := j.Spec()
	switch {
	case !known:
		r.Say = "{job} is refused: there is no {group} that runs jobs"
	case i.cfg.MaxMB[scheduler.Map] > 0 && spec.MapDemand.MemoryMB > i.cfg.MaxMB[scheduler.Map]:
		r.Say, r.A, r.B = "{job} is refused: its maps ask for {a} MB, the most is {b}", spec.MapDemand.MemoryMB, i.cfg.MaxMB[scheduler.Map]
	case i.cfg.MaxMB[scheduler.Reduce] > 0 && spec.ReduceDemand.MemoryMB > i.cfg.MaxMB[scheduler.Reduce]:
		r.Say, r.A, r.B = "{job} is refused: its reduces ask for {a} MB, the most is {b}", spec.ReduceDemand.MemoryMB, i.cfg.MaxMB[scheduler.Reduce]
	case tasks > l.queue.MaxTasksPerUser:
		r.Say, r.A, r.B = sayRefusedTasks, int64(tasks), int64(l.queue.MaxTasksPerUser)
	case l.jobs >= l.limits.Accept:
		r.Say, r.A = "{job} is refused: {group} has accepted {a} jobs, all it may", int64(l.jobs)
	case u.jobs >= l.limits.AcceptPerUser:
		r.Say, r.A, r.Group = "{job} is refused: {group} has {a} accepted jobs, all it may", int64(u.jobs), j.Member()
	default:
		return r, false
	}
	return r, true
}

// recount updates the number of tasks to those that a driver has found.
func (i *Init) recount(j *job) {
	g := &i.guests[j.Slot()]
	by := tasksOf(j) - g.tasks
	if !g.in || !g.active || by == 0 {
		return
	}
	l := &i.waitingQueues[g.waitingQueue]
	i.count(g, l, l.user(j), by)
}

// leave is spec/capacity 3.4, Completion.
func (i *Init) leave(j *job) {
	i.refused = slices.DeleteFunc(i.refused, func(r refusal) bool { return r.job == j })
	i.granted = slices.DeleteFunc(i.granted, func(o *job) bool { return o == j })
	g := &i.guests[j.Slot()]
	if !g.in {
		return
	}
	l := &i.waitingQueues[g.waitingQueue]
	u := l.user(j)
	l.jobs--
	u.jobs--
	g.hold(l, u, free)
	if g.active {
		l.active--
		u.active--
		l.tasks -= g.tasks
		u.tasks -= g.tasks
	} else {
		l.waiting.Remove(j)
	}
	*g = guest{}
}
