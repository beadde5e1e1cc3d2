package sim

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// A run is refused for what it could not mean, and taken with everything at the ends of its range.
func TestConfigRanges(t *testing.T) {
	config := func() Config {
		return Config{Topology: cluster(t, 1, 2), Policy: policy(t, "fifo", nil), Model: NewFixed(), State: scheduler.DefaultConfig()}
	}
	fault := func(f Fault) func(*Config) { return func(c *Config) { c.Faults = []Fault{f} } }
	for name, change := range map[string]func(*Config){
		"no topology":        func(c *Config) { c.Topology = nil },
		"no policy":          func(c *Config) { c.Policy = nil },
		"no model":           func(c *Config) { c.Model = nil },
		"no nodes":           func(c *Config) { c.Topology = topology.NewBuilder().Topology() },
		"capacities":         func(c *Config) { c.Capacities = make([]scheduler.Capacity, 1) },
		"speeds of some":     func(c *Config) { c.Speeds = []float64{1} },
		"no speed":           func(c *Config) { c.Speeds = []float64{1, 0} },
		"speed that is none": func(c *Config) { c.Speeds = []float64{math.NaN(), 1} },
		"heartbeat":          func(c *Config) { c.Heartbeat = -1 },
		"driver start":       func(c *Config) { c.DriverStart = -1 },
		"patience":           func(c *Config) { c.Patience = -1 },
		"ask again":          func(c *Config) { c.AskAgain = -1 },
		"asks and heartbeat": func(c *Config) { c.AskAgain, c.Heartbeat = 1, 1 },
		"reload":             func(c *Config) { c.ReloadMin, c.ReloadMax = -2, -1 },
		"reload upside down": func(c *Config) { c.ReloadMin, c.ReloadMax = 2, 1 },
		"timeline":           func(c *Config) { c.Timeline = -1 },
		"horizon":            func(c *Config) { c.PlanHorizon = -1 },
		"share":              func(c *Config) { c.Stragglers = Stragglers{1.1, 2} },
		"share below":        func(c *Config) { c.Stragglers = Stragglers{-0.1, 2} },
		"factor":             func(c *Config) { c.Stragglers = Stragglers{0.5, 0.9} },
		"late reports":       func(c *Config) { c.ReportLate = true },
		"samples":            func(c *Config) { c.Sample = func(time.Duration, *scheduler.View) {} },
		"fault's node":       fault(Fault{Node: 2}),
		"fault of none":      fault(Fault{Node: -1}),
		"fault's time":       fault(Fault{At: -1}),
		"fault's end":        fault(Fault{At: 5, Until: 5}),
		"second attempts":    func(c *Config) { c.Seconds = drive.Lag{Cap: 2} },
	} {
		c := config()
		change(&c)
		if _, err := Run(c, nil); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	edge := config()
	edge.Capacities, edge.Speeds = make([]scheduler.Capacity, 2), []float64{0.1, 1}
	edge.Stragglers, edge.ReloadMin, edge.ReloadMax = Stragglers{1, 1}, 3, 3
	edge.Faults = []Fault{{Node: 1}, {At: 5, Until: 6}}
	edge.Sample, edge.SampleEvery, edge.Heartbeat, edge.ReportLate = func(time.Duration, *scheduler.View) {}, 1, 1, true
	if err := edge.validate(); err != nil {
		t.Errorf("at the ends of all ranges: %v", err)
	}
	edge.Stragglers, edge.Heartbeat, edge.ReportLate, edge.AskAgain = Stragglers{0, 0.5}, 0, false, 1
	if err := edge.validate(); err != nil {
		t.Errorf("a factor of nobody: %v", err)
	}
	for _, n := range []NetworkConfig{{}, {Tick: -1}, {Parts: -1}, {Instant: -1}, {WriteCopies: -1}, {WriteCopies: 3}, {Pairs: true, ByNode: true}} {
		if n.Tick+time.Duration(n.Parts)+time.Duration(n.Instant) != 0 || n.WriteCopies != 0 || n.Pairs {
			n.Topology = cluster(t, 1, 2)
		}
		if n.validate() == nil {
			t.Errorf("network %+v: taken", n)
		}
	}
	if err := (&NetworkConfig{Topology: cluster(t, 1, 1), WriteCopies: 2, Pairs: true}).validate(); err != nil {
		t.Error(err)
	}
}

// What somebody writes of a machine or a job is taken at the ends of its range and refused beyond them.
func TestWrittenRanges(t *testing.T) {
	type numbers []struct {
		name      string
		of        *float64
		low, high float64
	}
	check := func(all numbers, valid func() error) {
		t.Helper()
		if err := valid(); err != nil {
			t.Fatal(err)
		}
		for _, n := range all {
			was := *n.of
			for v, ok := range map[float64]bool{n.low: true, n.high: true, n.low - 0.0001: false, n.high * 1.01: false} {
				*n.of = v
				if err := valid(); (err == nil) != ok {
					t.Errorf("%s of %g: %v", n.name, v, err)
				}
			}
			if *n.of = math.NaN(); valid() == nil {
				t.Errorf("%s that is no number was taken", n.name)
			}
			*n.of = was
		}
	}
	c := DefaultContention()
	check(numbers{
		{"threads", &c.Threads, 0.01, 1e6}, {"disk", &c.Disk, 0.01, 1e6}, {"beta", &c.Beta, 0, 1e3}, {"gamma", &c.Gamma, 0, 1e3}, {"noise", &c.Noise, 0, 100},
	}, c.Validate)
	d := DefaultDevices()
	check(numbers{
		{"hz", &d.Hz, 1e-3, 1e15},
		{"cores", &d.Cores, 1e-3, 1e15},
		{"disk_read", &d.DiskRead, 1e-3, 1e15},
		{"disk_write", &d.DiskWrite, 1e-3, 1e15},
		{"buffer", &d.BufferBytes, 1e-3, 1e15},
		{"merge_bytes", &d.MergeBytes, 1e-3, 1e15},
		{"nic", &d.NIC, 0, 1e15},
		{"start", &d.StartCycles, 0, 1e15},
		{"sort of bytes", &d.SortCyclesPerByte, 0, 1e15},
		{"merge", &d.MergeCycles, 0, 1e15},
		{"sort", &d.SortCycles, 0, 1e15},
		{"noise", &d.Noise, 0, 3},
		{"reduce_noise", &d.ReduceNoise, 0, 3},
	}, d.Validate)
	l := Listed{Maps: 1, Reduces: 1, MapTime: 1, ReduceTime: 1}
	check(numbers{
		{"at", &l.At, 0, 1e8}, {"map_time", &l.MapTime, 0.001, 1e8}, {"reduce_time", &l.ReduceTime, 0.001, 1e8}, {"deadline", &l.Deadline, 0, 1e8},
	}, l.Check)
	for _, bad := range []Listed{{Maps: 1_000_001, MapTime: 1}, {Maps: 1, MapTime: 1, ReduceTime: 1, Reduces: 1_000_001}, {Maps: 1, MapTime: 1, Reduces: -1}, {Maps: 1, MapTime: 1, Weight: 1e6 + 1}, {Maps: 1, MapTime: 1, Shuffle: -1}} {
		if bad.Check() == nil {
			t.Errorf("%+v: taken", bad)
		}
	}
	most := Listed{Maps: 1_000_000, Reduces: 1_000_000, MapTime: 1, ReduceTime: 1, Weight: 1e6}
	if err := most.Check(); err != nil {
		t.Errorf("as much as may be: %v", err)
	}
	c, d = DefaultContention(), DefaultDevices()
	c.Latency, d.Copiers = -1, 0
	if c.Validate() == nil || d.Validate() == nil {
		t.Error("a negative latency, or a reduce without a copier, was taken")
	}
	d.Copiers, d.MergeSegments = 1, 0
	if d.Validate() == nil {
		t.Error("merges of nothing were taken")
	}
}

// A load that jobs cannot have is refused; spreading keeps the first arrival and the distance of deadlines.
func TestLoadAndSpread(t *testing.T) {
	jobs := func(list ...Listed) []*Job {
		out, err := FromList(list, DefaultWorkload(cluster(t, 1, 2), 4), rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	spread := jobs(Listed{At: 30, Maps: 1, MapTime: 1, Deadline: 5}, Listed{At: 10, Maps: 1, MapTime: 1}, Listed{At: 20, Maps: 1, MapTime: 1})
	Spread(spread, 0.5)
	Spread(nil, 2)
	if a, b, c := spread[0].Spec, spread[1].Spec, spread[2].Spec; a.Submit != seconds(20) || b.Submit != seconds(10) || c.Submit != seconds(15) || a.Deadline != seconds(25) || b.Deadline != 0 {
		t.Errorf("they come at %v, %v and %v, the first with a goal of %v", a.Submit, b.Submit, c.Submit, a.Deadline)
	}
	if err := SetLoad(nil, 4, 0.5); err != nil {
		t.Errorf("of no job: %v", err)
	}
	idle := jobs(Listed{At: 1, Maps: 1, MapTime: 1}, Listed{At: 2, Maps: 1, MapTime: 1})
	for _, j := range idle {
		j.Spec.Work = 0
	}
	if err := SetLoad(idle, 4, 0.5); err == nil || !strings.Contains(err.Error(), "have work") {
		t.Errorf("of jobs without work: %v", err)
	}
	if err := SetLoad(jobs(Listed{At: 7, Maps: 1, MapTime: 1}, Listed{At: 7, Maps: 1, MapTime: 1}), 4, 0.5); err == nil {
		t.Error("of jobs that come together a load was made")
	}
}
