package schedulertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Rig is a small cluster of equal nodes under one policy, with a clock that the test
// moves: for tests of single decisions.
type Rig struct {
	*scheduler.Engine
	T   testing.TB
	Now time.Duration
}

// NewRig brings nodes in one rack up.
func NewRig(t testing.TB, p scheduler.Policy, nodes int, c scheduler.Capacity) *Rig {
	t.Helper()
	topo, err := topology.Uniform(1, nodes, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return NewRigOn(t, p, topo, c)
}

// NewRigOn brings the nodes of a topology up.
func NewRigOn(t testing.TB, p scheduler.Policy, topo *topology.Topology, c scheduler.Capacity) *Rig {
	t.Helper()
	s, err := scheduler.NewState(topo, scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	r := &Rig{Engine: scheduler.NewEngine(s, p, nil), T: t}
	for n := range topo.NumNodes() {
		r.Send(scheduler.NodeUp(topology.NodeID(n), c))
	}
	return r
}

// Send feeds an event that must be accepted.
func (r *Rig) Send(e scheduler.Event) {
	r.T.Helper()
	if err := r.Feed(r.Now, e); err != nil {
		r.T.Fatal(err)
	}
}

// Submit sends jobs and admits them.
func (r *Rig) Submit(specs ...*scheduler.JobSpec) {
	r.T.Helper()
	for _, s := range specs {
		r.Send(scheduler.JobSubmitted(s))
	}
	if _, err := r.Admit(r.Now, nil); err != nil {
		r.T.Fatal(err)
	}
}

// Serve returns the jobs that node n is given tasks of, in order.
func (r *Rig) Serve(n topology.NodeID) (order []scheduler.JobID) {
	r.T.Helper()
	if _, err := r.Offer(r.Now, n, func(d scheduler.Decision) { order = append(order, d.Task.Job) }); err != nil {
		r.T.Fatal(err)
	}
	return order
}

// Want fails the test unless exactly these jobs were served.
func (r *Rig) Want(order []scheduler.JobID, want ...scheduler.JobID) {
	r.T.Helper()
	if fmt.Sprint(order) != fmt.Sprint(want) {
		r.T.Fatalf("at %v served %v, want %v", r.Now, order, want)
	}
}

// Finish ends the running attempt of a task on node n.
func (r *Rig) Finish(j scheduler.JobID, k scheduler.Kind, index int32, n topology.NodeID) {
	r.T.Helper()
	r.Send(scheduler.TaskFinished(scheduler.TaskID{Job: j, Kind: k, Index: index}, n, 0, 0, 0))
}
