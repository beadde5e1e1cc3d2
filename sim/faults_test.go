package sim

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// broken runs a job on two nodes that fail.
func broken(t *testing.T, m Model, room scheduler.Capacity, job *Job, faults ...Fault) *Result {
	t.Helper()
	res, err := Run(Config{
		Topology: cluster(t, 2, 1), Capacity: room, Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: m,
		DriverStart: 10 * time.Second, Script: Script{Faults: faults},
	}, []*Job{job})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A driver that dies while it starts up no longer takes part of the machine: the map runs as fast as after a driver that did not.
func TestDriverThatDiesWhileItStarts(t *testing.T) {
	job := &Job{Spec: &scheduler.JobSpec{Maps: 20, HasDriver: true}, Maps: []time.Duration{10 * time.Second}}
	room := scheduler.Capacity{Containers: 11}
	whole := broken(t, NewContention(DefaultContention(), 1), room, job)
	died := broken(t, NewContention(DefaultContention(), 1), room, job, Fault{Node: 0, At: 5 * time.Second, Until: 6 * time.Second}, Fault{Node: 1, At: 5 * time.Second, Until: 6 * time.Second})
	if late := died.Makespan - whole.Makespan; late != 6*time.Second {
		t.Errorf("a driver that is lost after 6 s makes the job %v later", late)
	}
}
