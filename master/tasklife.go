package master

import (
	"sync"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
)

// taskGrace is how long after the end of a job the master still answers its tasks, because drivers clean up.
const taskGrace = 2 * time.Minute

// taskLife knows which jobs have tasks. A task's certificate is valid as long as its job lives.
type taskLife struct {
	mu   sync.RWMutex // guards the fields below
	jobs map[wire.JobID]*jobLife
	over []wire.JobID // those that have ended, in their order
}

type jobLife struct {
	user  string
	ended time.Time // zero while it runs
}

// begin remembers a job that has not ended.
func (l *taskLife) begin(id wire.JobID, user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs == nil {
		l.jobs = map[wire.JobID]*jobLife{}
	}
	l.jobs[id] = &jobLife{user: user}
}

// follow updates the jobs from records, and forgets those that ended some time ago.
func (l *taskLife) follow(records []tracker.Record, now time.Time) {
	for i := range records {
		switch r := &records[i]; r.Kind {
		case tracker.Submitted:
			l.begin(r.Job, r.Spec.User)
		case tracker.JobEnded:
			l.end(r.Job, now)
		}
	}
}

func (l *taskLife) end(id wire.JobID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if j := l.jobs[id]; j != nil && j.ended.IsZero() {
		j.ended = now
		l.over = append(l.over, id)
	}
	for len(l.over) > 0 && now.Sub(l.jobs[l.over[0]].ended) > taskGrace {
		delete(l.jobs, l.over[0])
		l.over = l.over[1:]
	}
}

// refuses returns an error if a task gets no answer, with the reason.
func (l *taskLife) refuses(c rpc.Caller, now time.Time) error {
	if c.Job == "" {
		return nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	j := l.jobs[wire.JobID(c.Job)]
	if j == nil || j.user != c.User || !j.ended.IsZero() && now.Sub(j.ended) > taskGrace {
		return wire.Errorf(wire.Denied, "a task of job %s of user %s, which does not run here", c.Job, c.User)
	}
	return nil
}
