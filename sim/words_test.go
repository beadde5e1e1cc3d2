package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// TestBytesOfMaps: what maps read and make, where it is given by map, as a whole, or not at all.
func TestBytesOfMaps(t *testing.T) {
	for name, c := range map[string]struct {
		job                     Job
		in, out, last, shuffled int64 // of map 1, of map 5, of all
	}{
		"as a whole": {Job{Spec: &scheduler.JobSpec{Maps: 6, Input: scheduler.Bytes(60), Shuffle: scheduler.Bytes(32)}}, 10, 5, 5, 32},
		"by map":     {Job{Spec: &scheduler.JobSpec{Maps: 6, Splits: scheduler.Splits{Bytes: []int64{3, 4}}}, MapOutput: []int64{1, 2, 3, 4}}, 4, 2, 2, 13},
		"no maps":    {Job{Spec: &scheduler.JobSpec{Input: scheduler.Bytes(60), Shuffle: scheduler.Bytes(32)}}, 0, 0, 0, 32},
	} {
		if in, out, last, all := c.job.input(1), c.job.output(1), c.job.output(5), c.job.shuffled(); in != c.in || out != c.out || last != c.last || all != c.shuffled {
			t.Errorf("%s: in %d, out %d, of the last %d, all %d", name, in, out, last, all)
		}
	}
	j := Job{Maps: []time.Duration{1, 2}, Reduces: []time.Duration{5}}
	for want, task := range map[time.Duration]scheduler.TaskID{1: {Index: 4}, 2: {Index: 3}, 5: {Kind: scheduler.Reduce, Index: 9}} {
		if got := j.Time(task); got != want || (&Job{}).Time(task) != 0 {
			t.Errorf("%v takes %v, want %v", task, got, want)
		}
	}
}

// TestMapsUndone: under every model a reduce that starts once output of maps was lost waits until all maps have ended again; one that
// was stopped does not go on.
func TestMapsUndone(t *testing.T) {
	job := &Job{Spec: &scheduler.JobSpec{Maps: 1, Reduces: 3}, Maps: []time.Duration{time.Second}, Reduces: []time.Duration{10 * time.Second}}
	reduce := func(i int32) Attempt {
		return Attempt{Task: scheduler.TaskID{Kind: scheduler.Reduce, Index: i}, Try: uint32(i + 1)}
	}
	for name, m := range models(t) {
		ends := func(until time.Duration) (out []int32) {
			for at := m.Next(); at <= until; at = m.Next() {
				for a, ok := m.End(at); ok; a, ok = m.End(at) {
					out = append(out, a.Task.Index)
				}
			}
			slices.Sort(out)
			return out
		}
		m.MapsDone(0, job)
		m.Start(0, reduce(0), job)
		m.MapsUndone(0, job)
		for i := range int32(2) {
			m.Start(0, reduce(i+1), job)
		}
		early := ends(time.Minute)
		m.Stop(time.Minute, reduce(2))
		m.MapsDone(2*time.Minute, job)
		late := ends(10 * time.Minute)
		if all := slices.Sorted(slices.Values(append(early, late...))); slices.Contains(early, 1) || !slices.Equal(all, []int32{0, 1}) {
			t.Errorf("%s: reduces %v ended while a map was to run again, %v later", name, early, late)
		}
	}
}

// TestStallTells: a run is stalled once nothing has moved for as long as it has patience, and tells of five jobs why; what moves is a job
// that comes, starts or ends, an attempt that starts or ends, a node that goes or comes back.
func TestStallTells(t *testing.T) {
	hopeless := func(n int, at time.Duration) (out []*Job) {
		for i := range n {
			out = append(out, &Job{Spec: &scheduler.JobSpec{ID: scheduler.JobID(10 + i), Maps: 1, MapDemand: scheduler.Demand{Slots: 9}, Submit: at}})
		}
		return out
	}
	second := []time.Duration{time.Second}
	for _, c := range []struct {
		name   string
		jobs   []*Job
		faults []Fault
		at     time.Duration // it has moved last
		left   int
	}{
		{"seven that never fit", hopeless(7, 3*time.Second), nil, 3 * time.Second, 7},
		{"one that does", append(hopeless(1, 0), &Job{Spec: &scheduler.JobSpec{ID: 1, Maps: 3, Submit: 2 * time.Second}, Maps: second}), nil, 5 * time.Second, 1},
		{"one that waits for its driver", append(hopeless(1, 0), &Job{Spec: &scheduler.JobSpec{ID: 1, Maps: 1, HasDriver: true, DriverDemand: scheduler.Demand{Slots: 9}}, Maps: second}), nil, 0, 2},
		{"a node that goes", hopeless(1, 0), []Fault{{Node: 0, At: 50 * time.Second}}, 50 * time.Second, 1},
		{"a node that comes back", hopeless(1, 0), []Fault{{Node: 0, At: 20 * time.Second, Until: 70 * time.Second}}, 70 * time.Second, 1},
	} {
		for _, beat := range []time.Duration{0, time.Second} {
			_, err := Run(Config{
				Topology: cluster(t, 1, 1), Capacity: scheduler.Capacity{Containers: 1}, Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(),
				Model: NewFixed(), Patience: time.Minute, Script: Script{Faults: c.faults}, Reports: Reports{Heartbeat: beat, AllHeartbeats: true},
				Views: Views{Sample: func(time.Duration, *scheduler.View) {}, SampleEvery: time.Second},
			}, c.jobs)
			stall, ok := errors.AsType[*StallError](err)
			if !ok {
				t.Fatalf("%s: %v", c.name, err)
			}
			if slack := stall.At - c.at - time.Minute; slack < -time.Second || slack > beat+2*time.Second || stall.Left != c.left || len(stall.Why) != min(5, c.left) {
				t.Errorf("%s, reports every %v: %+v, want it a minute after %v, with %d jobs left", c.name, beat, stall, c.at, c.left)
			}
			if text := err.Error(); !strings.Contains(text, fmt.Sprintf("stalled at %v: %d jobs have not ended", stall.At, stall.Left)) || strings.Count(text, "\n  ") != len(stall.Why) || !strings.Contains(text, stall.Why[0]) {
				t.Errorf("%s: %s", c.name, text)
			}
		}
	}
}

// TestStop: who asks to stop ends the run with the error given, and what has ended until then.
func TestStop(t *testing.T) {
	asked, enough := 0, errors.New("enough")
	res, err := Run(Config{
		Topology: cluster(t, 1, 1), Capacity: scheduler.Capacity{Containers: 1}, Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: NewFixed(),
		Stop: func() error {
			if asked++; asked > 2 {
				return enough
			}
			return nil
		},
	}, []*Job{{Spec: &scheduler.JobSpec{ID: 0, Maps: 1}, Maps: []time.Duration{1}}, {Spec: &scheduler.JobSpec{ID: 1, Maps: 10000}, Maps: []time.Duration{time.Second}}})
	if !errors.Is(err, enough) || asked != 3 || res == nil || res.Jobs[0].Finished != 1 || res.Jobs[1].Finished != 0 {
		t.Errorf("asked %d times, ended with %v", asked, err)
	}
}

// foresight is told of jobs that will come, and wants their input in the last rack.
type foresight struct {
	scheduler.Policy
	told []string
}

func (f *foresight) Plan(now time.Duration, expected []*scheduler.JobSpec, _ *scheduler.View) (out []scheduler.Placement) {
	for _, s := range expected {
		f.told = append(f.told, fmt.Sprintf("%v: %v at %v", now, s.ID, s.Submit))
		out = append(out, scheduler.Placement{Job: s.ID, MapRacks: []topology.RackID{1}})
	}
	return out
}

// TestWindows: a policy that plans is told of recurring jobs at the start, or of those of each window when it begins, as they are announced;
// their input lies where it wants it.
func TestWindows(t *testing.T) {
	for horizon, want := range map[time.Duration][]string{
		0:                {"0s: j0 at 0s", "0s: j1 at 9s", "0s: j2 at 10s", "0s: j4 at 33s"},
		10 * time.Second: {"0s: j0 at 0s", "0s: j1 at 9s", "10s: j2 at 10s", "30s: j4 at 33s"},
		30 * time.Second: {"0s: j0 at 0s", "0s: j1 at 9s", "0s: j2 at 10s", "30s: j4 at 33s"},
	} {
		topo := cluster(t, 2, 4)
		var jobs []*Job
		for i, at := range []time.Duration{0, 9, 10, 12, 35} {
			spec := &scheduler.JobSpec{ID: scheduler.JobID(i), Maps: 4, Submit: at * time.Second, Recurring: i != 3}
			for range spec.Maps {
				spec.Splits.Add(10, 0)
			}
			jobs = append(jobs, &Job{Spec: spec, Maps: []time.Duration{time.Second}})
		}
		jobs[4].Late = 2 * time.Second
		p := &foresight{Policy: policy(t, "fifo", nil)}
		mustRun(t, Config{
			Topology: topo, Capacity: scheduler.Capacity{Containers: 8}, Policy: p, State: scheduler.DefaultConfig(), Model: NewFixed(),
			Input: Input{Placement: placement.NewPlanned(topo), Copies: 2, PlanHorizon: horizon},
		}, jobs...)
		if !slices.Equal(p.told, want) {
			t.Errorf("windows of %v: %q, want %q", horizon, p.told, want)
		}
		for _, j := range jobs {
			in := 0
			for i := range j.Spec.Maps {
				at := j.Spec.Splits.Of(i)
				if len(at) != 2 {
					t.Fatalf("a block of %v lies on %v", j.Spec.ID, at)
				}
				if topo.RackOf(at[0]) == 1 {
					in++
				}
			}
			if j.Spec.Recurring && in != 4 {
				t.Errorf("windows of %v: %d of 4 blocks of %v lie in the rack that is wanted", horizon, in, j.Spec.ID)
			}
		}
	}
}

// keeper is a policy that lets no shuffle go.
type keeper struct{ scheduler.Policy }

func (keeper) Release(time.Duration, scheduler.JobID, topology.RackID, topology.RackID, int64, *scheduler.View) bool {
	return false
}

// TestSwitchOfAGate: a policy that holds shuffles back does so from the moment on at which it is put in place, and until another is.
func TestSwitchOfAGate(t *testing.T) {
	ends := func(first scheduler.Policy, then ...Switch) time.Duration {
		topo := linked(t, 2, 1)
		spec := &scheduler.JobSpec{Maps: 2, Reduces: 1, Slowstart: 1}
		spec.Splits.Add(1, 0)
		spec.Splits.Add(1, 1)
		return mustRun(t, Config{
			Topology: topo, Capacity: scheduler.Capacity{MapSlots: 1, ReduceSlots: 1}, Policy: first, State: scheduler.DefaultConfig(),
			Model: netModel(t, topo, func(c *NetworkConfig) { c.Pairs = true }), Reports: Reports{AskAgain: 100 * time.Millisecond}, Script: Script{Switches: then},
		}, &Job{Spec: spec, Maps: []time.Duration{5 * time.Second}, Reduces: []time.Duration{time.Second}, MapOutput: []int64{100}}).Makespan
	}
	fifo := func() scheduler.Policy { return policy(t, "fifo", nil) }
	free := ends(fifo())
	if held := ends(keeper{fifo()}, Switch{At: 40 * time.Second, Policy: fifo()}); held < 40*time.Second || held > 50*time.Second {
		t.Errorf("a shuffle that was held until 40 s ended at %v", held)
	}
	late := ends(fifo(), Switch{At: time.Second, Policy: keeper{fifo()}}, Switch{At: 60 * time.Second, Policy: fifo()})
	if free > 15*time.Second || late < 60*time.Second {
		t.Errorf("nobody holds it: it ended at %v; held from 1 s to 60 s: at %v", free, late)
	}
}
