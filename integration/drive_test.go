package integration

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler/drive"
)

// TestClusterDecidesAsTheSimulator records what a live master was told: jobs, reports, progress, time. Fed to the
// driver that the simulator runs, the same inputs give the same launches, second attempts, kills and forgotten results.
// Each policy has what the other lacks: fair leaves room for second attempts, tags begins jobs again.
func TestClusterDecidesAsTheSimulator(t *testing.T) {
	t.Parallel()
	launched := func(s drive.Step) bool { return s.Do == drive.Launch && s.Second }
	stopped := func(s drive.Step) bool { return s.Do == drive.Stop }
	forgotten := func(s drive.Step) bool { return s.Do == drive.Forget }
	for _, row := range []struct {
		policy string
		params map[string]string
		wanted map[string]func(s drive.Step) bool
	}{
		{"fair", nil, map[string]func(s drive.Step) bool{"second attempts": launched}},
		// Jobs that have used a second of containers begin again, once, on the other nodes.
		{"tags", map[string]string{"restart": "true", "limits": "1", "lend": "true"}, map[string]func(s drive.Step) bool{"stopped attempts": stopped, "forgotten results": forgotten}},
	} {
		t.Run(row.policy, func(t *testing.T) {
			t.Parallel()
			log := decisionsOf(t, row.policy, row.params)
			row.wanted["admitted jobs"] = func(s drive.Step) bool { return s.Do == drive.Start }
			for what, wanted := range row.wanted {
				if log.count(wanted) == 0 {
					t.Errorf("no %s: the test proves nothing about them", what)
				}
			}
			replay(t, row.policy, row.params, "unlimited", log.lines())
		})
	}
}

// decisionsOf runs four jobs under a policy and returns what the master decided. The first map of the first job hangs
// until it is stopped, when a second attempt has won.
func decisionsOf(t *testing.T, policy string, params map[string]string) *decisions {
	t.Helper()
	var log decisions
	var inFlight atomic.Int32
	straggle := func(task *mapreduce.Task) error {
		time.Sleep(15 * time.Millisecond)
		if task.Index > 0 {
			return nil
		}
		defer inFlight.Add(-1)
		if inFlight.Add(1) > 1 {
			return nil // the second attempt is quick, and wins
		}
		if policy == "tags" {
			return nil // its classes may leave no room for a second attempt
		}
		<-task.Context().Done()
		return task.Context().Err()
	}
	c := testcluster.Start(t, testcluster.Config{Workers: 3, Master: func(m *master.Config) {
		m.Policy, m.PolicyParams, m.Admission = policy, params, "unlimited"
		m.Jobs.SecondAttempts.LATE, m.Jobs.Decisions = lively, log.add
	}, Build: func(p *wire.Program) ([]mapreduce.Job, error) {
		if p.Builtin != "words" {
			return jobs.Parse(p.Builtin, p.Args)
		}
		return countWords(p.Args[0], p.Args[1], straggle, nothing), nil
	}})
	dfsPut(t, c, "/in", text(t, 500_000))
	ids := []wire.JobID{c.Submit(wire.JobSpec{}, "words", "dfs:/in", "dfs:/wc")}
	for i := range 3 {
		ids = append(ids, c.Submit(wire.JobSpec{}, "sleep", "--maps", "30", "--reduces", "2", "--map-time", "40ms", "--reduce-time", "10ms", "--output", fmt.Sprint("dfs:/out", i)))
	}
	for _, id := range ids {
		if s := c.Finish(id); s.State != "SUCCEEDED" {
			t.Errorf("%+v", s)
		}
	}
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
	return &log
}
