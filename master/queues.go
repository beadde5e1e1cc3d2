package master

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/internal/wire"
)

// A Queue says who may use it. "*" is everybody.
type Queue struct {
	Submit []string `yaml:"submit"` // may hand in jobs
	Admin  []string `yaml:"admin"`  // may also kill others' jobs
}

func listed(list []string, user string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, user)
}

// maySubmit refuses jobs for queues that the user may not use. If no queues are configured, all are open.
func (m *Master) maySubmit(c rpc.Caller, user, queue string) error {
	if len(m.cfg.Queues) == 0 || c.Admin && m.cfg.Key != nil { // without a key everybody is an administrator
		return nil
	}
	if queue == "" {
		queue = defaultQueue
	}
	q, ok := m.cfg.Queues[queue]
	if !ok {
		return wire.Errorf(wire.Invalid, "%w", suggest.Unknown("queue", queue, m.queueNames()))
	}
	if !listed(q.Submit, user) && !listed(q.Admin, user) {
		return wire.Errorf(wire.Denied, "user %q may not submit to queue %q (millrace queue ls shows who may)", user, queue)
	}
	return nil
}

const defaultQueue = "default"

// mayKill refuses callers who may not kill the job.
func (m *Master) mayKill(c rpc.Caller, s *wire.JobStatus) error {
	queue := s.Queue
	if queue == "" {
		queue = defaultQueue
	}
	if c.User == s.User || c.Admin || c.Node != "" || listed(m.cfg.Queues[queue].Admin, c.User) {
		return nil
	}
	return wire.Errorf(wire.Denied, "%s belongs to %s, not to %s", s.Job, s.User, c.User)
}

func (m *Master) queueNames() []string {
	var names []string
	for name := range m.cfg.Queues {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// queues returns the queues that are configured or have jobs.
func (m *Master) queues(ctx context.Context, _ rpc.Caller, _ none) ([]wire.QueueStatus, error) {
	all, err := ask(ctx, m, func(time.Duration) ([]wire.QueueStatus, error) { return m.jobs.Queues(), nil })
	if err != nil {
		return nil, err
	}
	for _, name := range m.queueNames() {
		if !slices.ContainsFunc(all, func(q wire.QueueStatus) bool { return q.Queue == name }) {
			all = append(all, wire.QueueStatus{Queue: name})
		}
	}
	slices.SortFunc(all, func(a, b wire.QueueStatus) int { return strings.Compare(a.Queue, b.Queue) })
	for i := range all {
		q, ok := m.cfg.Queues[all[i].Queue]
		if len(m.cfg.Queues) == 0 {
			q, ok = Queue{Submit: []string{"*"}}, true
		}
		if ok {
			all[i].Submit, all[i].Admin = q.Submit, q.Admin
		}
	}
	return all, nil
}
