package integration

import (
	"context"
	"strings"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/worker"
)

// limited starts a cluster of two workers under an admission policy.
func limited(t *testing.T, admission string, params map[string]string, containers int32) *testcluster.Cluster {
	t.Helper()
	c := testcluster.Start(t, testcluster.Config{
		Workers: 2,
		Master: func(m *master.Config) {
			m.Policy, m.Admission, m.AdmissionParams = "fifo", admission, params
		},
		Worker: func(w *worker.Config) { w.Capacity = wire.Capacity{Containers: containers} },
	})
	writeWords(t, c)
	return c
}

// writeWords writes a small text into the block store.
func writeWords(t *testing.T, c *testcluster.Cluster) {
	t.Helper()
	f, err := c.DFS.Create(t.Context(), "/in/words", dfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(strings.Repeat("a b c d e f g\n", (16<<10)/14))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func why(t *testing.T, c *testcluster.Cluster, id wire.JobID) string {
	t.Helper()
	got, err := rpc.Call[wire.JobRequest, wire.Text](context.Background(), c.Client, c.Addr, "job.why", wire.JobRequest{Job: id})
	if err != nil {
		t.Fatal(err)
	}
	return got.Text
}

func kill(t *testing.T, c *testcluster.Cluster, id wire.JobID) {
	t.Helper()
	if _, err := rpc.Call[wire.JobRequest, struct{}](context.Background(), c.Client, c.Addr, "job.kill", wire.JobRequest{Job: id}); err != nil {
		t.Fatal(err)
	}
}

// TestTaskLimitsHoldJobs: a limit on tasks sees the tasks. What submission can know is asked then: a job that is beyond
// the limit alone is refused before it has a driver, one that is beyond it beside others waits for them. What only the
// plan says is asked then: the job waits with its driver, says why, and goes on when the other has ended.
func TestTaskLimitsHoldJobs(t *testing.T) {
	t.Parallel()
	c := limited(t, "capacity-init", map[string]string{"max-tasks": "*=20", "max-tasks-per-user": "*=20", "poll": "20ms"}, 8)
	s := c.Finish(c.Submit(wire.JobSpec{}, "sleep", "--maps=30", "--reduces=1", "--output=dfs:/large"))
	if s.State != "FAILED" || !strings.Contains(s.Error, "may have 20 initialised tasks, and it alone has 31") || s.Attempts != 0 {
		t.Errorf("a job beyond the limit: %+v", s)
	}
	first := c.Submit(wire.JobSpec{}, "sleep", "--maps=11", "--reduces=1", "--map-time=10m", "--output=dfs:/first")
	c.Wait("the first job runs", func() bool { return c.Status(first).Maps.Running > 0 })
	const beside = "tasks beside the 12 initialised ones of queue default would pass 20"
	known := c.Submit(wire.JobSpec{}, "sleep", "--maps=9", "--reduces=1", "--map-time=1ms", "--reduce-time=1ms", "--output=dfs:/known")
	c.Wait("a job of 10 tasks waits", func() bool { return strings.Contains(why(t, c, known), "its 10 "+beside) })
	if s := c.Status(known); s.Driver != "" || s.State != "QUEUED" {
		t.Errorf("it has a driver: %+v", s)
	}
	kill(t, c, known)
	// Of a pattern nobody knows before the driver looks how much there is.
	planned := c.Submit(wire.JobSpec{}, "wordcount", "--input=dfs:/in/*", "--split-bytes=1KiB", "--reducers=1", "--output=dfs:/planned")
	c.Wait("a job of 17 tasks waits when it is planned", func() bool { return strings.Contains(why(t, c, planned), "its 17 "+beside) })
	if s := c.Status(planned); s.Driver == "" || s.Maps.Running+s.Maps.Done > 0 {
		t.Errorf("it has no driver, or runs: %+v", s)
	}
	kill(t, c, first)
	if s := c.Finish(planned); s.State != "SUCCEEDED" || s.Maps.Done != 16 {
		t.Errorf("%+v", s)
	}
}

// TestDeadlockCheckSeesReduces: with four containers, two jobs of a driver and a reduce each could hold all and leave no
// room for a map. The second waits, whether submission says how many reduces it has or only its plan, and ends well
// when the first has.
func TestDeadlockCheckSeesReduces(t *testing.T) {
	t.Parallel()
	c := limited(t, "marp", map[string]string{"marp": "1", "avoid-deadlock": "true"}, 2)
	const locked = "and leave no room for a map"
	first := c.Submit(wire.JobSpec{}, "sleep", "--maps=1", "--reduces=1", "--map-time=10m", "--output=dfs:/first")
	c.Wait("the first job runs", func() bool { return c.Status(first).Maps.Running > 0 })
	known := c.Submit(wire.JobSpec{}, "sleep", "--maps=1", "--reduces=1", "--map-time=1ms", "--reduce-time=1ms", "--output=dfs:/known")
	c.Wait("a job with a reduce waits", func() bool { return strings.Contains(why(t, c, known), locked) })
	if s := c.Status(known); s.Driver != "" {
		t.Errorf("it has a driver: %+v", s)
	}
	kill(t, c, known)
	planned := c.Submit(wire.JobSpec{}, "wordcount", "--input=dfs:/in/*", "--split-bytes=8KiB", "--output=dfs:/planned")
	c.Wait("a job with a reduce waits when it is planned", func() bool {
		return c.Status(planned).Driver != "" && strings.Contains(why(t, c, planned), locked)
	})
	kill(t, c, first)
	if s := c.Finish(planned); s.State != "SUCCEEDED" {
		t.Errorf("%+v", s)
	}
}

// TestPoliciesKnowWhatSubmissionSays: with its submission the policies get a job's tasks and the size of its input. Of a
// job whose maps make their own data they get tasks and no size, neither then nor with its plan: it would seem tiny, and
// sita and hybrid would send it where small jobs go.
func TestPoliciesKnowWhatSubmissionSays(t *testing.T) {
	t.Parallel()
	var log decisions
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Master: func(m *master.Config) { m.Jobs.Decisions = log.add }})
	writeWords(t, c)
	for _, id := range []wire.JobID{
		c.Submit(wire.JobSpec{Name: "made"}, "sleep", "--maps=3", "--reduces=2", "--map-time=1ms", "--reduce-time=1ms", "--output=dfs:/made"),
		c.Submit(wire.JobSpec{Name: "read"}, "wordcount", "--input=dfs:/in", "--split-bytes=8KiB", "--reducers=3", "--output=dfs:/read"),
	} {
		if s := c.Finish(id); s.State != "SUCCEEDED" {
			t.Fatalf("%+v", s)
		}
	}
	for _, l := range log.lines() {
		spec := l.Event.Spec
		if spec == nil {
			continue
		}
		maps, reduces, input := int32(3), int32(2), scheduler.Size{}
		if spec.Name == "read" {
			maps, reduces, input = 2, 3, scheduler.Bytes(16380)
		}
		if spec.Maps != maps || spec.Reduces != reduces || spec.Input != input || spec.Name == "made" && spec.InputBytes() != 0 {
			t.Errorf("%v of %s: %d maps, %d reduces, input %+v; want %d, %d, %+v", l.Event.Kind, spec.Name, spec.Maps, spec.Reduces, spec.Input, maps, reduces, input)
		}
	}
}
