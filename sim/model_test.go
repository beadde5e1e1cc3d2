package sim

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// models are all of them, by name, for two nodes.
func models(t *testing.T) map[string]Model {
	t.Helper()
	quiet := DefaultContention()
	quiet.Latency, quiet.Noise = 0, 0
	return map[string]Model{
		"fixed": NewFixed(), "gauged": NewGauged(4), "contention": NewContention(quiet, 1), "devices": NewDevices(DefaultDevices(), 2, 1),
		"network": netModel(t, linked(t, 2, 1), nil),
	}
}

// TestStopOfOne: of two attempts on a node, each the first of its task, one is stopped at once; the other ends when it would have ended alone.
func TestStopOfOne(t *testing.T) {
	ends := func(m Model, stopped bool) map[int32]time.Duration {
		job := &Job{Spec: &scheduler.JobSpec{ID: 1, Maps: 2}, Maps: []time.Duration{5 * time.Second, 3 * time.Second}}
		attempt := func(i int32) Attempt {
			return Attempt{Task: scheduler.TaskID{Job: 1, Kind: scheduler.Map, Index: i}, Try: 1}
		}
		m.Start(0, attempt(0), job)
		if stopped {
			m.Start(0, attempt(1), job)
			m.Stop(0, attempt(1))
		}
		out := map[int32]time.Duration{}
		for at := m.Next(); at != Never; at = m.Next() {
			if a, ok := m.End(at); ok {
				out[a.Task.Index] = at
			}
		}
		return out
	}
	alone := models(t)
	for name, m := range models(t) {
		got, want := ends(m, true), ends(alone[name], false)
		if len(want) != 1 || len(got) != 1 || (got[0]-want[0]).Abs() > time.Microsecond {
			t.Errorf("%s: ended %v, alone %v", name, got, want)
		}
	}
}

// TestNothingToCleanUp: a job that has nothing to clean up leaves the machine as idle as it was.
func TestNothingToCleanUp(t *testing.T) {
	cfg := DefaultContention()
	cfg.Latency, cfg.Noise = 0, 0
	m := NewContention(cfg, 1)
	before := m.(Gauge).IdlePercent(0)
	for _, cleanUp := range []time.Duration{0, time.Second} {
		res := mustRun(t, Config{
			Topology: linked(t, 1, 1), Capacity: scheduler.Capacity{Containers: 1}, Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: m,
		}, &Job{Spec: &scheduler.JobSpec{ID: 1, Maps: 1}, Maps: []time.Duration{time.Second}, CleanUp: cleanUp})
		if after := m.(Gauge).IdlePercent(res.Makespan); after != before {
			t.Errorf("cleaning up for %s: %g %% idle, before %g", cleanUp, after, before)
		}
	}
}

// TestReduceWithoutMaps: in every model the reduce of a job without maps has nothing to wait for, and ends.
func TestReduceWithoutMaps(t *testing.T) {
	for name, m := range models(t) {
		res, err := Run(Config{
			Topology: linked(t, 2, 1), Capacity: scheduler.Capacity{MapSlots: 1, ReduceSlots: 1}, Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: m,
		}, []*Job{{Spec: &scheduler.JobSpec{Reduces: 1}, Reduces: []time.Duration{time.Second}}})
		if err != nil || res.Jobs[0].Failed || res.Makespan <= 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
