package jobpacker

import (
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// rig is a cluster of one node per rack under one policy.
type rig struct {
	*scheduler.Engine
	t   testing.TB
	p   *Policy
	now time.Duration
}

func uniform(t testing.TB, racks int, c scheduler.Capacity) *rig { return newRig(t, nil, racks, c) }

func newRig(t testing.TB, change func(*Config), racks int, c scheduler.Capacity) *rig {
	t.Helper()
	topo, err := topology.Uniform(racks, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.NewState(topo, scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Engine: scheduler.NewEngine(s, p, nil), t: t, p: p}
	for n := range topology.NodeID(racks) {
		r.feed(scheduler.NodeUp(n, c))
	}
	return r
}

func (r *rig) feed(e scheduler.Event) {
	r.t.Helper()
	if err := r.Feed(r.now, e); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) submit(s *scheduler.JobSpec) {
	r.t.Helper()
	r.feed(scheduler.JobSubmitted(s))
	if _, err := r.Admit(r.now, nil); err != nil {
		r.t.Fatal(err)
	}
}

// offer returns what was launched on n.
func (r *rig) offer(n topology.NodeID) (tasks []scheduler.TaskID) {
	r.t.Helper()
	if _, err := r.Offer(r.now, n, func(d scheduler.Decision) { tasks = append(tasks, d.Task) }); err != nil {
		r.t.Fatal(err)
	}
	return tasks
}

// one asks the policy once, without launching, and names the job.
func (r *rig) one(n topology.NodeID) scheduler.JobID {
	if d := r.p.Assign(r.now, n, r.View()); d.OK {
		return d.Task.Job
	}
	return scheduler.NoJob
}

// finish ends all running maps of a job.
func (r *rig) finishMaps(id scheduler.JobID, out int64) {
	r.t.Helper()
	for _, a := range slices.Collect(r.View().Attempts(r.View().Job(id), scheduler.Map)) {
		r.feed(scheduler.TaskFinished(a.Task, a.Node, time.Second, 0, out))
	}
}

// recurring is a job the planner can plan.
func recurring(id scheduler.JobID, maps, reduces int32, shuffle int64) *scheduler.JobSpec {
	return &scheduler.JobSpec{ID: id, Maps: maps, Reduces: reduces, MapTime: 10 * time.Second, ReduceTime: 10 * time.Second, Shuffle: scheduler.Bytes(shuffle), Recurring: true}
}

// adhoc is a job of which only the input is known.
func adhoc(id scheduler.JobID, maps int32, input int64) *scheduler.JobSpec {
	return &scheduler.JobSpec{ID: id, Maps: maps, Reduces: 1, Input: scheduler.Bytes(input)}
}
