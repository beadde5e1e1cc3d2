package integration

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler/drive"
)

// What a recording must have, or it proves nothing.
func isSecond(s drive.Step) bool   { return s.Do == drive.Launch && s.Second }
func isStop(s drive.Step) bool     { return s.Do == drive.Stop }
func isForget(s drive.Step) bool   { return s.Do == drive.Forget }
func isAdmitted(s drive.Step) bool { return s.Do == drive.Start }

// livelyLag makes second attempts of tasks that are behind, later than lively would: all else has ended by then.
var livelyLag = drive.Lag{After: 2 * time.Second, Behind: 0.2, Cap: 0.5}

// TestClusterDecidesAsTheSimulator records what a live master was told: jobs, reports, progress, time. Fed to the
// driver that the simulator runs, the same inputs give the same launches, second attempts, kills and forgotten results.
// Each recording has what the others lack: fair leaves room for second attempts, by both rules, tags begins jobs again, and
// under fair without second attempts reduces that wait give way to maps.
func TestClusterDecidesAsTheSimulator(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, policy string
		params       map[string]string
		seconds      tracker.SecondAttempts
		rule         drive.Rule // which that is
		record       func(t *testing.T, log *decisions, c *master.Config)
		wanted       map[string]func(s drive.Step) bool
	}{
		{"late", "fair", nil, tracker.SecondAttempts{LATE: lively}, lively, fourJobs, map[string]func(s drive.Step) bool{"second attempts": isSecond}},
		{"lag", "fair", nil, tracker.SecondAttempts{By: "lag", Lag: livelyLag}, livelyLag, fourJobs, map[string]func(s drive.Step) bool{"second attempts": isSecond}},
		// Jobs that have used a second of containers begin again, once, on the other nodes.
		{
			"restarts", "tags",
			map[string]string{"restart": "true", "limits": "1", "lend": "true"},
			tracker.SecondAttempts{LATE: lively},
			lively, fourJobs,
			map[string]func(s drive.Step) bool{"stopped attempts": isStop, "forgotten results": isForget},
		},
		{"gives way", "fair", nil, tracker.SecondAttempts{Off: true}, nil, reducesInTheWay, map[string]func(s drive.Step) bool{"stopped attempts": isStop}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var log decisions
			cfg := master.Config{Policy: row.policy, PolicyParams: row.params}
			cfg.Jobs.SecondAttempts = row.seconds
			row.record(t, &log, &cfg)
			row.wanted["admitted jobs"] = isAdmitted
			for what, wanted := range row.wanted {
				if log.count(wanted) == 0 {
					t.Errorf("no %s: the test proves nothing about them", what)
				}
			}
			replay(t, row.policy, row.params, "unlimited", row.rule, log.lines())
		})
	}
}

// recorded starts a cluster with the policies of a configuration, whose decisions hear gets, and on which "words IN OUT" runs
// with a hook in its maps.
func recorded(t *testing.T, like *master.Config, hear func(*drive.Line), onMap func(task *mapreduce.Task) error) *testcluster.Cluster {
	c := testcluster.Start(t, testcluster.Config{Workers: 3, Master: func(m *master.Config) {
		m.Policy, m.PolicyParams, m.Admission = like.Policy, like.PolicyParams, "unlimited"
		m.Jobs.SecondAttempts, m.Jobs.Decisions = like.Jobs.SecondAttempts, hear
	}, Build: func(p *wire.Program) ([]mapreduce.Job, error) {
		if p.Builtin != "words" {
			return jobs.Parse(p.Builtin, p.Args)
		}
		return countWords(p.Args[0], p.Args[1], onMap, nothing), nil
	}})
	dfsPut(t, c, "/in", text(t, 500_000))
	return c
}

// finish waits for jobs, and ends the master, so that the log is whole.
func finish(t *testing.T, c *testcluster.Cluster, ids ...wire.JobID) {
	t.Helper()
	for _, id := range ids {
		if s := c.Finish(id); s.State != "SUCCEEDED" {
			t.Errorf("%+v", s)
		}
	}
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
}

// sleep hands in a job of maps that sleep so long.
func sleep(c *testcluster.Cluster, out, maps, long string) wire.JobID {
	return c.Submit(wire.JobSpec{}, "sleep", "--maps", maps, "--reduces", "2", "--map-time", long, "--reduce-time", "10ms", "--output", "dfs:/"+out)
}

// fourJobs runs four jobs. The first map of the first job hangs until it is stopped, when a second attempt has won.
func fourJobs(t *testing.T, log *decisions, like *master.Config) {
	var inFlight atomic.Int32
	c := recorded(t, like, log.add, func(task *mapreduce.Task) error {
		time.Sleep(15 * time.Millisecond)
		if task.Index > 0 {
			return nil
		}
		defer inFlight.Add(-1)
		if inFlight.Add(1) > 1 {
			return nil // the second attempt is quick, and wins
		}
		if like.Policy == "tags" {
			return nil // its classes may leave no room for a second attempt
		}
		<-task.Context().Done()
		return task.Context().Err()
	})
	ids := []wire.JobID{c.Submit(wire.JobSpec{}, "words", "dfs:/in", "dfs:/wc")}
	for i := range 3 {
		ids = append(ids, sleep(c, fmt.Sprint("out", i), "30", "40ms"))
	}
	finish(t, c, ids...)
}

// reducesInTheWay runs a job whose first map hangs, so that its reduces hold containers and wait, until one of them has
// been stopped for a map of another job.
func reducesInTheWay(t *testing.T, log *decisions, like *master.Config) {
	stopped := make(chan struct{})
	first := sync.OnceFunc(func() { close(stopped) })
	hear := func(l *drive.Line) {
		log.add(l)
		if slices.ContainsFunc(l.Steps, isStop) {
			first()
		}
	}
	c := recorded(t, like, hear, func(task *mapreduce.Task) error {
		if task.Index > 0 {
			return nil
		}
		select {
		case <-stopped:
			return nil
		case <-task.Context().Done():
			return task.Context().Err()
		}
	})
	words := c.Submit(wire.JobSpec{}, "words", "dfs:/in", "dfs:/wc")
	c.Wait("reduces hold containers", func() bool { return c.Status(words).Reduces.Running == 4 })
	ids := []wire.JobID{words}
	for given := false; !given; {
		if len(ids) > 30 {
			t.Fatal("no reduce gave way")
		}
		for range 3 { // with maps that are long enough for one of the jobs to find no place for a while, unless the machine is slow
			ids = append(ids, sleep(c, fmt.Sprint("out", len(ids)), "12", "300ms"))
		}
		for _, id := range ids[len(ids)-3:] {
			c.Finish(id)
		}
		select {
		case <-stopped:
			given = true
		default:
		}
	}
	finish(t, c, ids...)
}
