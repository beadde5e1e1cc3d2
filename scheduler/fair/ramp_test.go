package fair

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// With rampup reduces that wait give way until shares are even, by weight, among users, pools and queues as among jobs; in order where
// the jobs of one run in order. Job 1 holds eight containers, six of them for reduces that wait; job 2 has ten maps and nothing.
func TestReducesGiveWayUntilEven(t *testing.T) {
	for _, tc := range []struct {
		name         string
		change       func(*Config)
		holds, wants scheduler.JobSpec
		newer        bool // job 1 came after job 2
		gives        int
	}{
		{"jobs", nil, scheduler.JobSpec{}, scheduler.JobSpec{}, false, 4},
		{"jobs by weight", nil, scheduler.JobSpec{Weight: 3}, scheduler.JobSpec{}, false, 2},
		{"jobs by the other's weight", nil, scheduler.JobSpec{}, scheduler.JobSpec{Weight: 3}, false, 6},
		{"pools", func(c *Config) { c.Key = "pool" }, scheduler.JobSpec{Pool: "a", Weight: 9}, scheduler.JobSpec{Pool: "b"}, false, 4},
		{"pools by weight", func(c *Config) { c.Key, c.Weights = "pool", map[string]float64{"a": 3} }, scheduler.JobSpec{Pool: "a"}, scheduler.JobSpec{Pool: "b"}, false, 2},
		{"in one pool", func(c *Config) { c.Key = "pool" }, scheduler.JobSpec{Pool: "a"}, scheduler.JobSpec{Pool: "a", Weight: 3}, false, 6},
		{"in one pool, in order", func(c *Config) { c.Key, c.Inside = "pool", "fifo" }, scheduler.JobSpec{Pool: "a"}, scheduler.JobSpec{Pool: "a"}, false, 0},
		{"in one pool, in order, to an older", func(c *Config) { c.Key, c.Inside = "pool", "fifo" }, scheduler.JobSpec{Pool: "a"}, scheduler.JobSpec{Pool: "a"}, true, 6},
		{"in one pool, to a better", func(c *Config) { c.Key, c.Inside = "pool", "fifo" }, scheduler.JobSpec{}, scheduler.JobSpec{Priority: scheduler.High}, false, 6},
		{"in one pool, to an older that is worse", func(c *Config) { c.Key, c.Inside = "pool", "fifo" }, scheduler.JobSpec{}, scheduler.JobSpec{Priority: scheduler.Low}, true, 0},
		{"order inside is none of jobs", func(c *Config) { c.Inside = "fifo" }, scheduler.JobSpec{}, scheduler.JobSpec{}, false, 4},
		{"no rampup", func(c *Config) { c.Reduces.Ramp = 0 }, scheduler.JobSpec{}, scheduler.JobSpec{}, false, 0},
	} {
		for name, made := range map[string]func(Config) (scheduler.Policy, error){
			"fair":  func(c Config) (scheduler.Policy, error) { return New(c) },
			"delay": func(c Config) (scheduler.Policy, error) { return NewDelay(c, Patience{}) },
		} {
			cfg := DefaultConfig()
			cfg.Reduces.Ramp = 0.5
			if tc.change != nil {
				tc.change(&cfg)
			}
			p, err := made(cfg)
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, p, scheduler.Capacity{Containers: 8})
			holds, wants := tc.holds, tc.wants
			holds.ID, holds.Maps, holds.Reduces, holds.Slowstart = 1, 2, 6, -1
			wants.ID, wants.Maps = 2, 10
			if tc.newer {
				r.submit(&wants)
			}
			r.submit(&holds)
			for i := range int32(8) {
				task := scheduler.TaskID{Job: 1, Index: i}
				if i >= 2 {
					task = scheduler.TaskID{Job: 1, Kind: scheduler.Reduce, Index: i - 2}
				}
				r.feed(scheduler.Launched(task, 0, scheduler.Anywhere, false))
			}
			if !tc.newer {
				r.submit(&wants)
			}
			got := 0
			if err := r.Kill(time.Minute, func(scheduler.Victim) { got++ }); err != nil || got != tc.gives {
				t.Errorf("%s, %s: %d reduces gave way, want %d; %v", name, tc.name, got, tc.gives, err)
			}
		}
	}
}

// Maps count against maps where kinds have slots of their own, or where that is asked for; else all that a job holds counts.
func TestWhatCounts(t *testing.T) {
	for count, want := range map[string]scheduler.JobID{"auto": 1, "kind": 1, "all": 2} {
		r := newRig(t, policy(t, func(c *Config) { c.Count = count }), scheduler.Capacity{MapSlots: 4, ReduceSlots: 4})
		r.submit(&scheduler.JobSpec{ID: 1, Maps: 9, Reduces: 4, Slowstart: -1})
		r.submit(&scheduler.JobSpec{ID: 2, Maps: 9})
		for i := range int32(2) {
			r.feed(scheduler.Launched(scheduler.TaskID{Job: 1, Index: i}, 0, scheduler.Anywhere, false))
			r.feed(scheduler.Launched(scheduler.TaskID{Job: 2, Index: i}, 0, scheduler.Anywhere, false))
		}
		for i := range int32(4) {
			r.feed(scheduler.Launched(scheduler.TaskID{Job: 1, Kind: scheduler.Reduce, Index: i}, 0, scheduler.Anywhere, false))
		}
		r.feed(scheduler.TaskFinished(scheduler.TaskID{Job: 1}, 0, 1, 0, 0))
		r.want(r.offer(), want)
	}
}

// A pool below its least share of reduces gets the first of them.
func TestMinimumReducesComeFirst(t *testing.T) {
	r := newRig(t, policy(t, func(c *Config) {
		c.Key, c.MinReduces, c.MinMaps = "pool", map[string]float64{"b": 2}, map[string]float64{"a": 9}
	}), scheduler.Capacity{MapSlots: 1, ReduceSlots: 4})
	r.submit(&scheduler.JobSpec{ID: 1, Reduces: 5, Pool: "a"})
	r.submit(&scheduler.JobSpec{ID: 2, Reduces: 5, Pool: "b"})
	r.want(r.offer(), 2, 2, 1, 1)
}

// Patience is never negative.
func TestPatienceRanges(t *testing.T) {
	for _, p := range []Patience{{Skips: -1}, {RackSkips: -1}, {Wait: -1}, {RackWait: -1}} {
		if p.Validate() == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
	if err := (&Patience{}).Validate(); err != nil {
		t.Errorf("no patience at all: %v", err)
	}
}

// A delay policy of a patience or of shares that mean nothing is none.
func TestRefusedDelays(t *testing.T) {
	wrong := DefaultConfig()
	wrong.Key = "colour"
	for what, of := range map[string]struct {
		cfg Config
		p   Patience
	}{"patience": {DefaultConfig(), Patience{Skips: -1}}, "shares": {wrong, DefaultPatience()}} {
		if p, err := NewDelay(of.cfg, of.p); p != nil || err == nil {
			t.Errorf("%s: %v, %v", what, p, err)
		}
	}
}
