package console

import (
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// What people see of a job on a cluster, by how it stands.
func TestRemoteProgress(t *testing.T) {
	tasks := func(total, done int) wire.TaskTotals { return wire.TaskTotals{Total: total, Done: done} }
	for _, c := range []struct {
		s    wire.JobStatus
		want string
	}{
		{wire.JobStatus{}, "plan     0%"},
		{wire.JobStatus{State: "QUEUED"}, "queued   0%"},
		{wire.JobStatus{State: "RUNNING", Maps: tasks(4, 1), Reduces: tasks(2, 0)}, "map     25%"},
		{wire.JobStatus{State: "RUNNING", Maps: tasks(4, 4), Reduces: tasks(2, 1)}, "reduce  50%"},
		{wire.JobStatus{State: "RUNNING", Maps: tasks(4, 4), Reduces: tasks(2, 2), Committing: true}, "commit   0%"},
	} {
		var r Remote
		c.s.Name = "count"
		r.Note(c.s)
		if got := barLine(r.Progress(), "", 12); got != c.want { // so narrow that nothing else is there
			t.Errorf("%+v: %q, want %q", c.s, got, c.want)
		}
	}
}
