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

// TestMergesInMemory: what a reduce has fetched is merged and written as soon as there is enough of it, by bytes or by segments, while it
// fetches on; it sorts once all merges are over, and only what was left in memory is written then. Copies and merges take a second each.
func TestMergesInMemory(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*DeviceConfig)
		want float64
	}{
		// Four copies end at 4; merge, write of 4, sort, read of 4, reduce, write of 4.
		"none":      {func(*DeviceConfig) {}, 4 + 1 + 4 + 1 + 4 + 4},
		"two each":  {func(c *DeviceConfig) { c.MergeSegments = 2 }, 4 + 1 + 2 + 1 + 1 + 4 + 4 + 1},
		"two bytes": {func(c *DeviceConfig) { c.MergeBytes = 200 }, 4 + 1 + 2 + 1 + 1 + 4 + 4 + 1},
		"all":       {func(c *DeviceConfig) { c.MergeSegments = 4 }, 4 + 1 + 4 + 1 + 1 + 4 + 4},
	} {
		cfg := DeviceConfig{Hz: 1, Cores: 8, DiskRead: 100, DiskWrite: 100, BufferBytes: 1e9, Copiers: 1, MergeBytes: 1e9, MergeSegments: 99, MergeCycles: 1, SortCycles: 1}
		c.edit(&cfg)
		d := NewDevices(cfg, 2, 1).(*devices)
		job := &Job{Spec: &scheduler.JobSpec{Maps: 4, Reduces: 1, Input: scheduler.Bytes(400)}, Cost: Cost{ShuffleRatio: 1, OutputRatio: 1}}
		j := d.of(job)
		for i := range int32(4) {
			d.publish(0, j, i, segment{0, 100})
		}
		d.MapsDone(0, job)
		d.Start(0, Attempt{Task: scheduler.TaskID{Kind: scheduler.Reduce}}, job)
		for at := d.Next(); ; at = d.Next() {
			if at == Never {
				t.Fatalf("%s: the reduce does not end", name)
			}
			if _, ok := d.End(at); ok {
				within(t, name, at.Seconds(), c.want, 1e-3)
				break
			}
		}
	}
}

// TestCards: what comes from another node crosses the card of the node that it comes to, which its tasks share; a card without a limit takes
// no time.
func TestCards(t *testing.T) {
	for name, c := range map[string]struct{ nic, want float64 }{"a card": {50, 1 + 4}, "no limit": {0, 1}} {
		cfg := DeviceConfig{Hz: 1, Cores: 8, DiskRead: 200, DiskWrite: 1e12, BufferBytes: 1e9, Copiers: 1, MergeBytes: 1e9, MergeSegments: 99, NIC: c.nic}
		d := NewDevices(cfg, 2, 1)
		spec := &scheduler.JobSpec{Maps: 3}
		for range 3 {
			spec.Splits.Add(100, 0)
		}
		job := &Job{Spec: spec}
		attempt := func(i int32, n topology.NodeID, l scheduler.Locality) Attempt {
			return Attempt{Task: scheduler.TaskID{Index: i}, Node: n, Locality: l}
		}
		d.Start(0, attempt(0, 1, scheduler.Remote), job)
		d.Start(0, attempt(1, 1, scheduler.Remote), job)
		var ends []float64
		for at := d.Next(); at != Never; at = d.Next() {
			for _, ok := d.End(at); ok; _, ok = d.End(at) {
				ends = append(ends, at.Seconds())
			}
		}
		if len(ends) != 2 {
			t.Fatalf("%s: ended at %v", name, ends)
		}
		within(t, name, ends[1], c.want, 1e-3)
	}
}
