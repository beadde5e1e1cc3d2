package admission

import (
	"math"
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
