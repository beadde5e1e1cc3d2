package sim

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
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

// A reduce that begins anew fetches the output of a map once, also where the map had to run again.
func TestMapOutputThatWasLostIsFetchedOnce(t *testing.T) {
	cfg := DefaultDevices()
	cfg.Noise, cfg.ReduceNoise = 0, 0
	spec := &scheduler.JobSpec{Maps: 1, Reduces: 1, Slowstart: 1}
	spec.Splits.Add(64<<20, 0)
	job := &Job{Spec: spec, Cost: Cost{MapCycles: 40, ReduceCycles: 90, ShuffleRatio: 1, OutputRatio: 1}}
	room := scheduler.Capacity{MapSlots: 1, ReduceSlots: 1}
	reduce := func(faults ...Fault) time.Duration {
		res := broken(t, NewDevices(cfg, 2, 1), room, job, faults...)
		return res.Makespan - res.Jobs[0].MapsDone
	}
	whole, again := reduce(), reduce(Fault{Node: 0, At: 9 * time.Second})
	if d := again - whole; d < -time.Millisecond || d > time.Millisecond {
		t.Errorf("the reduce took %v, after a map that ran twice %v", whole, again)
	}
}

// Of faults of one node that overlap each lasts to its end: the map runs from 200 s on.
func TestFaultsThatOverlap(t *testing.T) {
	job := &Job{Spec: &scheduler.JobSpec{Maps: 1}, Maps: []time.Duration{100 * time.Second}}
	at := func(node int32, from, until float64) Fault {
		return Fault{Node: topology.NodeID(node), At: seconds(from), Until: seconds(until)}
	}
	res := broken(t, NewFixed(), scheduler.Capacity{Containers: 1}, job, at(1, 0, 0), at(0, 10, 200), at(0, 20, 30))
	if res.Makespan != 300*time.Second {
		t.Errorf("ended at %v, want 5m", res.Makespan)
	}
}
