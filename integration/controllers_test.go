package integration

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/worker"
)

// controllers are the admission policies that tune their limit.
var controllers = []string{"cbt", "cbtws", "cbtwat"}

// tuned starts a cluster under a controller, ten times as fast as usual, whose machines are as idle as is said.
func tuned(t *testing.T, admission string, workers int, containers int32, idle *atomic.Int64, log *decisions) *testcluster.Cluster {
	return testcluster.Start(t, testcluster.Config{
		Workers: workers,
		Master: func(m *master.Config) {
			m.Policy, m.Admission, m.AdmissionParams = "fair", admission, map[string]string{"time-scale": "10"}
			m.Jobs.Decisions = log.add
			m.Hold, m.Jobs.Heartbeat = 100*time.Millisecond, 100*time.Millisecond
		},
		Worker: func(w *worker.Config) {
			w.Capacity = wire.Capacity{Containers: containers}
			w.Idle = func() (float64, bool) { return float64(idle.Load()), true }
		},
	})
}

// figure asks the master for a number that its policies work with; NaN if there is none.
func figure(t *testing.T, c *testcluster.Cluster, name string) float64 {
	t.Helper()
	s, err := rpc.Call[struct{}, wire.SchedulerStatus](context.Background(), c.Client, c.Addr, "scheduler.status", struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Figures {
		if f.Name == name && f.Job == "" {
			return f.Value
		}
	}
	return math.NaN()
}

// TestControllersFollowTheLoad: while the machines are busy one job runs and the others wait. When they idle the limit
// rises and a second job starts; when they are busy again and a job ends, the limit falls. The first job is in its reduce
// all the time, which lasts until it is killed.
func TestControllersFollowTheLoad(t *testing.T) {
	t.Parallel()
	for _, name := range controllers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var idle atomic.Int64
			var log decisions
			c := tuned(t, name, 4, 3, &idle, &log)
			var ids []wire.JobID
			for i := range 4 {
				ids = append(ids, c.Submit(wire.JobSpec{}, "sleep", "--maps", "10", "--reduces", "1", "--map-time", "1ms", "--reduce-time", "10m", "--output", fmt.Sprint("dfs:/out", i)))
			}
			c.Wait("the first job's maps are done", func() bool { return c.Status(ids[0]).Maps.Done == 10 })
			before := log.samples()
			c.Wait("the controller has looked at busy machines", func() bool { return log.samples() > before+5 })
			if got, jobs := figure(t, c, "marp"), figure(t, c, "drivers"); got != 0.05 || jobs != 1 {
				t.Fatalf("busy machines: MARP %g and %g drivers, want 0.05 and 1", got, jobs)
			}
			idle.Store(100)
			c.Wait("a second job starts on idle machines", func() bool { return figure(t, c, "drivers") > 1 })
			most := figure(t, c, "marp")
			if most <= 0.05 {
				t.Errorf("two drivers under MARP %g", most)
			}
			idle.Store(0)
			if _, err := rpc.Call[wire.JobRequest, struct{}](t.Context(), c.Client, c.Addr, "job.kill", wire.JobRequest{Job: ids[0]}); err != nil {
				t.Fatal(err)
			}
			c.Wait("the slot of a job that has ended is taken back", func() bool {
				now := figure(t, c, "marp")
				most = max(most, now)
				return now < most
			})
		})
	}
}

// samples is how often the policies were told how idle the cluster is.
func (d *decisions) samples() (n int) {
	for _, l := range d.lines() {
		if l.Event.Kind == scheduler.EvCPUSample && l.Event.Node == topology.NoNode {
			n++
		}
	}
	return n
}

// TestControllersOnSmallClusters: with a few containers, on machines that others keep busy for ever, every job starts and
// ends: the limit rises whenever jobs wait and nothing runs.
func TestControllersOnSmallClusters(t *testing.T) {
	t.Parallel()
	for _, name := range controllers {
		for _, containers := range []int32{2, 6} {
			t.Run(fmt.Sprint(name, " ", 2*containers), func(t *testing.T) {
				t.Parallel()
				c := tuned(t, name, 2, containers, new(atomic.Int64), &decisions{})
				var ids []wire.JobID
				for i := range 5 {
					ids = append(ids, c.Submit(wire.JobSpec{}, "sleep", "--maps", "3", "--reduces", "1", "--map-time", "5ms", "--reduce-time", "5ms", "--output", fmt.Sprint("dfs:/out", i)))
				}
				for _, id := range ids {
					if s := c.Finish(id); s.State != "SUCCEEDED" {
						t.Errorf("%+v", s)
					}
				}
			})
		}
	}
}
