package admission

import (
	"math"
	"strings"
	"testing"
	"time"
)

// Every constant of the controllers is taken up to the ends of its range, and refused beyond them.
func TestConfigRanges(t *testing.T) {
	always := math.MaxInt32
	share := func(field func(*Config) *float64) func(*Config, int) {
		return func(c *Config, v int) { *field(c) = float64(v) / 10 }
	}
	number := func(field func(*Config) *int) func(*Config, int) { return func(c *Config, v int) { *field(c) = v } }
	length := func(field func(*Config) *time.Duration) func(*Config, int) {
		return func(c *Config, v int) { *field(c) = time.Duration(v) }
	}
	for name, f := range map[string]struct {
		set       func(*Config, int)
		low, high int
	}{
		"start":          {share(func(c *Config) *float64 { return &c.Start }), 0, 10},
		"inc":            {share(func(c *Config) *float64 { return &c.Inc }), 0, 10},
		"dec":            {share(func(c *Config) *float64 { return &c.Dec }), 0, 10},
		"current":        {share(func(c *Config) *float64 { return &c.Current }), 0, 10},
		"previous":       {share(func(c *Config) *float64 { return &c.Previous }), 0, 10},
		"idle above":     {number(func(c *Config) *int { return &c.IdleAbove }), 0, 100},
		"drop at":        {number(func(c *Config) *int { return &c.DropAt }), 1, 100},
		"samples":        {number(func(c *Config) *int { return &c.Samples }), 1, always},
		"thresholds":     {number(func(c *Config) *int { return &c.Thresholds }), 1, 4},
		"lowest":         {number(func(c *Config) *int { return &c.Lowest }), 0, 2},
		"highest":        {number(func(c *Config) *int { return &c.Highest }), 3, always},
		"epsilon":        {number(func(c *Config) *int { return &c.EpsilonPct }), 0, 100},
		"after increase": {length(func(c *Config) *time.Duration { return &c.AfterIncrease }), 0, always},
		"lockout":        {length(func(c *Config) *time.Duration { return &c.Lockout }), 0, always},
		"no pending":     {length(func(c *Config) *time.Duration { return &c.NoPending }), 0, always},
		"quiet":          {length(func(c *Config) *time.Duration { return &c.Quiet }), 0, always},
		"iteration":      {length(func(c *Config) *time.Duration { return &c.Iteration }), 1, always},
	} {
		for v, ok := range map[int]bool{f.low - 1: false, f.low: true, f.high: true, f.high + 1: f.high == always} {
			c := DefaultConfig()
			f.set(&c, v)
			if err := c.validate(); (err == nil) != ok {
				t.Errorf("%s at %d of %d..%d: %v", name, v, f.low, f.high, err)
			}
		}
	}
	for marp, ok := range map[float64]bool{-0.1: false, 0: true, 1: true, 1.1: false, math.NaN(): false} {
		if _, err := NewStatic(marp, DefaultLimits(), source0()); (err == nil) != ok {
			t.Errorf("a MARP of %g: %v", marp, err)
		}
	}
	if q := CBTwATConfig().Quiet; q != 20*time.Second { // spec/marp 7.22
		t.Errorf("CBTwAT looks for the first time after %v", q)
	}
}

// Limits are taken up to the ends of their ranges and refused beyond them, by every policy that has some, and by name.
func TestLimitRanges(t *testing.T) {
	for _, tt := range []struct {
		change func(*Limits)
		want   string // "": it is taken
	}{
		{func(*Limits) {}, ""},
		{func(l *Limits) { l.Measure = "memory" }, ""},
		{func(l *Limits) { l.Measure = "containers" }, ""},
		{func(l *Limits) { l.Measure = "miles" }, `measure "miles" is not`},
		{func(l *Limits) { l.LeastDrivers = 0 }, ""},
		{func(l *Limits) { l.LeastDrivers = -1 }, "least drivers -1"},
		{func(l *Limits) { l.Progress = "yarn" }, ""},
		{func(l *Limits) { l.Progress = "half" }, ""},
		{func(l *Limits) { l.Progress = "none" }, `progress "none" is not`},
		{func(l *Limits) { l.ReloadMin, l.ReloadMax = 0, 0 }, ""},
		{func(l *Limits) { l.ReloadMin = -1 }, "reload delay"},
		{func(l *Limits) { l.ReloadMin, l.ReloadMax = 2, 1 }, "reload delay 2ns..1ns is no range"},
		{func(l *Limits) { l.ActivationMin, l.ActivationMax = 1, 1 }, ""},
		{func(l *Limits) { l.ActivationMin = -1 }, "activation delay"},
		{func(l *Limits) { l.ActivationMin = 1 }, "activation delay 1ns..0s is no range"},
		{func(l *Limits) { l.TimeScale = 0 }, "time scale must be positive"},
		{func(l *Limits) { l.TimeScale = math.NaN() }, "time scale must be positive"},
	} {
		l := DefaultLimits()
		tt.change(&l)
		control, err := NewCBT(CBTConfig())
		if err != nil {
			t.Fatal(err)
		}
		_, static := NewStatic(0.5, l, source0())
		_, tuned := NewTuned(control, CBTConfig(), l, source0())
		for what, err := range map[string]error{"static": static, "tuned": tuned} {
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%s: %v, want %q", what, err, tt.want)
			}
		}
	}
}

// A controller of constants that mean nothing is none, and no policy is made with them.
func TestRefusedControllers(t *testing.T) {
	bad := DefaultConfig()
	bad.Iteration = 0
	_, cbt := NewCBT(bad)
	_, ws := NewCBTwS(bad)
	_, wat := NewCBTwAT(bad, source0())
	good, err := NewCBT(CBTConfig())
	if err != nil {
		t.Fatal(err)
	}
	_, tuned := NewTuned(good, bad, DefaultLimits(), source0())
	for what, err := range map[string]error{"CBT": cbt, "CBTwS": ws, "CBTwAT": wat, "a policy": tuned} {
		if err == nil {
			t.Errorf("%s was made", what)
		}
	}
}

// The formulas at the ends: nothing to admit, nothing to admit it to, drivers that take no room.
func TestFormulasAtTheEnds(t *testing.T) {
	if got := [...]int64{Slots(0.5, 10, 0), Slots(0.5, 10, -1), Slots(0.5, 10, 1), Slots(0, 10, 1), Slots(1, 10, 3)}; got != [...]int64{math.MaxInt64, math.MaxInt64, 5, 0, 3} {
		t.Errorf("slots: %v", got)
	}
	if got := [...]float64{Smallest(0, 10, 1), Smallest(3, 0, 1), Smallest(3, 10, 1), Smallest(20, 10, 1), Smallest(-1, 10, 1)}; got != [...]float64{0, 0, 0.3, 2, 0} {
		t.Errorf("smallest: %v", got)
	}
	if got := [...]int64{SafeJobs(10, 0, 0, 1), SafeJobs(10, 1, 1, 2), SafeJobs(10, 1, 1, 11), SafeJobs(10, 2, 1, 1)}; got != [...]int64{math.MaxInt64, 4, 0, 3} {
		t.Errorf("safe jobs: %v", got)
	}
}
