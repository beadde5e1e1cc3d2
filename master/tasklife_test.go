package master

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
)

// TestTasksLiveWithTheirJob: a task is answered while its job runs and a little longer, and only on behalf of the job's user.
func TestTasksLiveWithTheirJob(t *testing.T) {
	var l taskLife
	now := time.Unix(1000, 0)
	record := func(kind tracker.RecordKind, id wire.JobID) {
		l.follow([]tracker.Record{{Kind: kind, Job: id, Spec: &wire.JobSpec{User: "ann"}}}, now)
	}
	check := func(when string, c rpc.Caller, good bool) {
		t.Helper()
		if err := l.refuses(c, now); (err == nil) != good {
			t.Errorf("%s, %+v: %v", when, c, err)
		}
	}
	task := rpc.Caller{User: "ann", Job: "job-1"}
	check("before", task, false)
	check("before", rpc.Caller{User: "ann"}, true)
	record(tracker.Submitted, "job-1")
	check("while it runs", task, true)
	check("while it runs", rpc.Caller{User: "bob", Job: "job-1"}, false)
	check("while it runs", rpc.Caller{User: "ann", Job: "job-2"}, false)
	now = now.Add(1000 * time.Hour)
	check("after a long time", task, true)
	record(tracker.JobEnded, "job-1")
	record(tracker.JobEnded, "job-1")
	now = now.Add(taskGrace)
	check("just after its end", task, true)
	now = now.Add(time.Second)
	check("after its end", task, false)
	for i := range 100 {
		id := wire.JobID(fmt.Sprint("job-", i+10))
		record(tracker.Submitted, id)
		record(tracker.JobEnded, id)
		now = now.Add(taskGrace)
	}
	if len(l.jobs) > 3 || len(l.over) > 3 {
		t.Errorf("%d jobs and %d ends are remembered", len(l.jobs), len(l.over))
	}
}
