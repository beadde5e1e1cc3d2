package integration

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/worker"
)

// TestPrioritiesOrderStarts: five jobs wait for one container, the least important submitted first. Their maps start in
// the order of their --priority flags.
func TestPrioritiesOrderStarts(t *testing.T) {
	t.Parallel()
	log := &starts{priority: map[scheduler.JobID]scheduler.Priority{}}
	c := testcluster.Start(t, testcluster.Config{
		Workers: 1,
		Master: func(m *master.Config) {
			m.Policy, m.Admission, m.Jobs.Decisions = "fifo", "unlimited", log.add
		},
		Worker: func(w *worker.Config) { w.Capacity = wire.Capacity{MapSlots: 1, ReduceSlots: 1} },
	})
	// With slots, drivers take no room from maps: the blocker holds the only map slot.
	blocker := submitWords(t, c, "sleep", "--maps=1", "--reduces=0", "--map-time=60s", "--output=dfs:/blocker")
	c.Wait("the blocker's map runs", func() bool { return c.Status(blocker).Maps.Running == 1 })
	names := []string{"very-low", "low", "normal", "high", "very-high"}
	var ids []wire.JobID
	for _, name := range names {
		ids = append(ids, submitWords(t, c, "sleep", "--maps=1", "--reduces=0", "--map-time=1ms", "--priority="+name, "--output=dfs:/"+name))
	}
	c.Wait("all jobs are planned", func() bool {
		return !slices.ContainsFunc(ids, func(id wire.JobID) bool { return c.Status(id).Maps.Total != 1 })
	})
	log.forget()
	if _, err := api.JobKill.Call(context.Background(), c.Client, c.Addr, wire.JobRequest{Job: blocker}); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if s := c.Finish(id); s.State != "SUCCEEDED" {
			t.Fatalf("%+v", s)
		}
	}
	slices.Reverse(names)
	if got := log.order(); !slices.Equal(got, names) {
		t.Errorf("maps started in the order %v, want %v", got, names)
	}
}

// TestPrioritiesOrderDrivers: where drivers share containers with tasks, five jobs wait for a driver, the least important
// submitted first: by admission, which lets one driver run, or for its place. They start in the order of their priorities.
func TestPrioritiesOrderDrivers(t *testing.T) {
	t.Parallel()
	for _, admission := range []string{"marp", "unlimited"} {
		t.Run(admission, func(t *testing.T) {
			t.Parallel()
			log := &starts{priority: map[scheduler.JobID]scheduler.Priority{}}
			c := testcluster.Start(t, testcluster.Config{
				Workers: 1,
				Master: func(m *master.Config) {
					m.Policy, m.Admission, m.Jobs.Decisions = "fifo", admission, log.add
				},
				Worker: func(w *worker.Config) { w.Capacity = wire.Capacity{Containers: 2} },
			})
			blocker := submitWords(t, c, "sleep", "--maps=1", "--reduces=0", "--map-time=60s", "--output=dfs:/blocker")
			c.Wait("the blocker's map runs", func() bool { return c.Status(blocker).Maps.Running == 1 })
			log.forget()
			names := []string{"very-low", "low", "normal", "high", "very-high"}
			var ids []wire.JobID
			for _, name := range names {
				ids = append(ids, submitWords(t, c, "sleep", "--maps=1", "--reduces=0", "--map-time=1ms", "--priority="+name, "--output=dfs:/"+name))
			}
			kill(t, c, blocker)
			for _, id := range ids {
				if s := c.Finish(id); s.State != "SUCCEEDED" {
					t.Fatalf("%+v", s)
				}
			}
			slices.Reverse(names)
			if got := log.order(); !slices.Equal(got, names) {
				t.Errorf("maps started in the order %v, want %v", got, names)
			}
		})
	}
}

// submitWords submits a job as the command line does: all of its fields come from its flags.
func submitWords(t *testing.T, c *testcluster.Cluster, words ...string) wire.JobID {
	t.Helper()
	stages, err := jobs.Parse(words[0], words[1:])
	if err != nil {
		t.Fatal(err)
	}
	return c.Submit(client.SpecOf(stages, wire.Program{}, false), words...)
}

// starts notes the priorities of jobs whose maps start.
type starts struct {
	mu       sync.Mutex
	priority map[scheduler.JobID]scheduler.Priority
	seen     []string
}

func (s *starts) add(l *drive.Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if spec := l.Event.Spec; spec != nil {
		s.priority[spec.ID] = spec.Priority
	}
	for _, d := range l.Steps {
		if d.Do == drive.Launch && d.Task.Kind == scheduler.Map {
			s.seen = append(s.seen, s.priority[d.Task.Job].String())
		}
	}
}

func (s *starts) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
}

func (s *starts) order() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}
