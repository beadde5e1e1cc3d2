package sim

import (
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// spec/capacity 2.5 and 6, item 14: two reduces that take 100 s alone share one disk;
// starts 0 and 5 s: the first ends at 195 s; starts 0 and 80 s: it takes 120 s.
func TestTwoReducesOnOneNode(t *testing.T) {
	for _, c := range []struct{ second, first float64 }{{5, 195}, {80, 120}} {
		cfg := DeviceConfig{Hz: 1e9, Cores: 8, DiskRead: 1e6, DiskWrite: 1e6, Copiers: 5, MergeBytes: 1e18, MergeSegments: 1 << 30}
		var jobs []*Job
		for i, at := range []float64{0, c.second} {
			jobs = append(jobs, &Job{
				Spec: &scheduler.JobSpec{ID: scheduler.JobID(i), Submit: seconds(at), Reduces: 1},
			})
		}
		d := NewDevices(cfg, 1, 1).(*devices)
		res, err := Run(Config{
			Topology: cluster(t, 1, 1), Capacity: scheduler.Capacity{MapSlots: 1, ReduceSlots: 2},
			Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: &solo{devices: d, seconds: 100},
		}, jobs)
		if err != nil {
			t.Fatal(err)
		}
		within(t, "end of the first", res.Jobs[0].Finished.Seconds(), c.first, 1e-6)
	}
}

// solo gives every attempt one demand on the disk.
type solo struct {
	*devices
	seconds float64
}

func (s *solo) Start(now time.Duration, a Attempt, job *Job) {
	t := &deviceTask{a: a, job: s.of(job), touched: map[topology.NodeID]bool{}}
	s.live[keyOf(a)] = t
	s.demand(now, t, a.Node, useDisk, s.seconds*s.cfg.DiskRead, 0, func(time.Duration) { s.end(t) })
}

// One map and one reduce without noise: the time is the sum of its demands.
func TestDeviceProgram(t *testing.T) {
	cfg := DefaultDevices()
	cfg.Noise, cfg.ReduceNoise = 0, 0
	const in = 64 << 20
	spec := &scheduler.JobSpec{Maps: 1, Reduces: 1}
	spec.Splits.Add(in, 0)
	job := &Job{Spec: spec, Cost: Cost{MapCycles: 40, ReduceCycles: 90, ShuffleRatio: 1, OutputRatio: 1}}
	res, err := Run(Config{
		Topology: cluster(t, 1, 1), Capacity: scheduler.Capacity{MapSlots: 1, ReduceSlots: 1},
		Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: NewDevices(cfg, 1, 1),
	}, []*Job{job})
	if err != nil {
		t.Fatal(err)
	}
	cycles := func(c float64) float64 { return c / cfg.Hz }
	read, write := in/cfg.DiskRead, in/cfg.DiskWrite
	mapTime := cycles(cfg.StartCycles) + read + cycles(in*40) + cycles(in*44) + write + read + write // two spills: merged once
	reduceTime := cycles(cfg.StartCycles) + read + cycles(cfg.MergeCycles) + write + cycles(cfg.SortCycles) + read + cycles(in*90) + write
	if got, want := res.Makespan.Seconds(), mapTime+reduceTime; math.Abs(got-want) > 1e-3 {
		t.Errorf("took %.4f s, want %.4f", got, want)
	}
}
