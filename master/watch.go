package master

import (
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// waiters are the callers that wait for a job's status. They hear of an end at once, and of progress no more often than
// a person can read it: the status of a job with many attempts is expensive to make.
type waiters struct {
	waiting []chan struct{}
	told    time.Duration // when they were told last
	news    bool          // there is news they have not been told
}

// showEvery is how often callers are told of progress.
const showEvery = 50 * time.Millisecond

// attend, in the loop, returns a channel that is closed when there is news of a job.
func (m *Master) attend(id wire.JobID) chan struct{} {
	a := m.statusWaiters[id]
	if a == nil {
		a = &waiters{told: -showEvery}
		m.statusWaiters[id] = a
	}
	ch := make(chan struct{})
	a.waiting = append(a.waiting, ch)
	if a.news {
		m.tellNow(id, a, m.now())
	}
	return ch
}

// leave removes a caller that no longer waits.
func (m *Master) leave(id wire.JobID, ch chan struct{}) {
	if a := m.statusWaiters[id]; a != nil {
		a.waiting = slices.DeleteFunc(a.waiting, func(c chan struct{}) bool { return c == ch })
	}
}

// show notes that there is news of a job, and tells the waiters if it is time.
func (m *Master) show(id wire.JobID) {
	if a := m.statusWaiters[id]; a != nil {
		a.news = true
		m.tellNow(id, a, m.now())
	}
}

// tellNow tells the waiters if it is time or the job has ended.
func (m *Master) tellNow(id wire.JobID, a *waiters, now time.Duration) {
	ended := m.jobs.HasEnded(id)
	if !ended && now-a.told < showEvery {
		return
	}
	list := a.waiting
	a.waiting, a.news, a.told = nil, false, now
	if ended {
		delete(m.statusWaiters, id)
	}
	m.after(func() {
		for _, ch := range list {
			close(ch)
		}
	})
}

// showAll tells the waiters the news that was held back.
func (m *Master) showAll(now time.Duration) {
	for id, a := range m.statusWaiters {
		switch {
		case a.news:
			m.tellNow(id, a, now)
		case len(a.waiting) == 0 && now-a.told > time.Minute:
			delete(m.statusWaiters, id) // nobody looks any longer
		}
	}
}
