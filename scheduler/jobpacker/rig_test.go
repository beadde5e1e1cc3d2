package jobpacker

import (
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// rig is a cluster of one node per rack under one policy.
type rig struct {
	*schedulertest.Rig
	p *Policy
}

func uniform(t testing.TB, racks int, c scheduler.Capacity) *rig { return newRig(t, nil, racks, c) }

func newRig(t testing.TB, change func(*Config), racks int, c scheduler.Capacity) *rig {
	t.Helper()
	topo, err := topology.Uniform(racks, 1, 0, 0)
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
	return &rig{schedulertest.NewRigOn(t, p, topo, c), p}
}

// offer returns what was launched on n.
func (r *rig) offer(n topology.NodeID) (tasks []scheduler.TaskID) {
	r.T.Helper()
	if _, err := r.Offer(r.Now, n, func(d scheduler.Decision) { tasks = append(tasks, d.Task) }); err != nil {
		r.T.Fatal(err)
	}
	return tasks
}

// one asks the policy once, without launching, and names the job.
func (r *rig) one(n topology.NodeID) scheduler.JobID {
	if d := r.p.Assign(r.Now, n, r.View()); d.OK {
		return d.Task.Job
	}
	return scheduler.NoJob
}

// finish ends all running maps of a job.
func (r *rig) finishMaps(id scheduler.JobID, out int64) {
	r.T.Helper()
	for _, a := range slices.Collect(r.View().Attempts(r.View().Job(id), scheduler.Map)) {
		r.Send(scheduler.TaskFinished(a.Task, a.Node, time.Second, 0, out))
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
