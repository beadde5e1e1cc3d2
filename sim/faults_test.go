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

// A node that is away for less than its period reports as often afterwards as before: it starts a map with each report, of 3 s, and not with two.
func TestReportsAfterAShortFault(t *testing.T) {
	job := &Job{Spec: &scheduler.JobSpec{Maps: 30}, Maps: []time.Duration{100 * time.Second}}
	var starts []time.Duration
	cfg := Config{
		Topology: cluster(t, 1, 1), Capacity: scheduler.Capacity{Containers: 100}, Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: NewFixed(),
		Reports: Reports{Heartbeat: 3 * time.Second, PerHeartbeat: 1},
		Views: Views{Watch: func(now time.Duration, _ Attempt, started bool) {
			if started {
				starts = append(starts, now)
			}
		}},
	}
	for i := range 10 { // some of them between two reports
		at := seconds(1 + 10.7*float64(i))
		cfg.Faults = append(cfg.Faults, Fault{At: at, Until: at + 100*time.Millisecond})
	}
	if _, err := Run(cfg, []*Job{job}); err != nil {
		t.Fatal(err)
	}
	for i, at := range starts[1:] {
		if gap := at - starts[i]; gap < 3*time.Second {
			t.Fatalf("a map began %v after the one before, at %v", gap, at)
		}
	}
}

// A fault that begins the moment another one of its node ends goes on from there: the node is not back in between.
func TestFaultUponFault(t *testing.T) {
	job := &Job{Spec: &scheduler.JobSpec{Maps: 1, Submit: 15 * time.Second}, Maps: []time.Duration{10 * time.Second}}
	for _, reports := range []Reports{{}, {Heartbeat: time.Second}} {
		starts := 0
		res := mustRun(t, Config{
			Topology: cluster(t, 1, 1), Capacity: scheduler.Capacity{Containers: 1}, Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: NewFixed(), Reports: reports,
			Script: Script{Faults: []Fault{{At: 10 * time.Second, Until: 20 * time.Second}, {At: 20 * time.Second, Until: 50 * time.Second}}},
			Views: Views{Watch: func(_ time.Duration, _ Attempt, started bool) {
				if started {
					starts++
				}
			}},
		}, job)
		if late := res.Makespan - 60*time.Second; starts != 1 || late < 0 || late > reports.Heartbeat {
			t.Errorf("%+v: %d starts, ended at %v", reports, starts, res.Makespan)
		}
	}
}
