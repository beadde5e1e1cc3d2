package scheduler

import (
	"testing"
	"time"

	"github.com/millrace/millrace/topology"
)

// TestRestore: a task that was done before a restart counts as done, once, and can be lost.
func TestRestore(t *testing.T) {
	topo, err := topology.Uniform(1, 2, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewState(topo, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	apply := func(e Event) error { return s.Apply(time.Second, e) }
	for _, e := range []Event{
		JobSubmitted(&JobSpec{ID: 1, Maps: 2, Reduces: 1}), JobAdmitted(1),
		Restored(TaskID{Job: 1, Index: 0}, 1, time.Second, time.Second, 10, 20),
		Restored(TaskID{Job: 1, Index: 1}, 0, time.Second, time.Second, 1, 2),
	} {
		if err := apply(e); err != nil {
			t.Fatal(e, err)
		}
	}
	j := s.View().Job(1)
	if in, out := j.MapBytes(); j.Done(Map) != 2 || j.Pending(Map) != 0 || in != 11 || out != 22 || j.OutputNode(Map, 0) != 1 {
		t.Errorf("%d done, %d pending, %d bytes in, %d out, on node %d", j.Done(Map), j.Pending(Map), in, out, j.OutputNode(Map, 0))
	}
	if _, done := j.MapsDoneAt(); !done {
		t.Error("not all maps are done")
	}
	if apply(Restored(TaskID{Job: 1, Index: 0}, 1, 0, 0, 0, 0)) == nil {
		t.Error("restored twice")
	}
	if err := apply(TaskLost(TaskID{Job: 1, Index: 0})); err != nil || j.Pending(Map) != 1 {
		t.Errorf("lost: %d pending, %v", j.Pending(Map), err)
	}
}
