package nas

import (
	"math"
	"testing"
)

// Every number is taken at the ends of its range and refused beyond them.
func TestConfigRanges(t *testing.T) {
	for name, c := range map[string]struct {
		good, bad []func(*Config)
	}{
		"t-min and t-max": {
			[]func(*Config){func(c *Config) { c.TMin, c.TMax = 0, 0 }, func(c *Config) { c.TMin, c.TMax = 1, 1 }},
			[]func(*Config){func(c *Config) { c.TMin = -0.1 }, func(c *Config) { c.TMax = 1.1 }, func(c *Config) { c.TMin, c.TMax = 0.6, 0.5 }, func(c *Config) { c.TMin = math.NaN() }},
		},
		"words": {
			[]func(*Config){func(c *Config) { c.Key, c.Mechanisms, c.Sizes = "queue", "mts", "none" }, func(c *Config) { c.Key, c.Mechanisms, c.Sizes = "pool", "mts-ca", "all" }},
			[]func(*Config){func(c *Config) { c.Key = "colour" }, func(c *Config) { c.Mechanisms = "some" }, func(c *Config) { c.Sizes = "" }},
		},
		"congestion":    {nil, []func(*Config){func(c *Config) { c.Congestion = 0 }, func(c *Config) { c.Congestion = -1 }}},
		"traffic scale": {nil, []func(*Config){func(c *Config) { c.TrafficScale = 0 }}},
		"traffic limit": {[]func(*Config){func(c *Config) { c.TrafficLimit = 0 }}, []func(*Config){func(c *Config) { c.TrafficLimit = -1 }}},
		"update":        {[]func(*Config){func(c *Config) { c.Update = 1 }}, []func(*Config){func(c *Config) { c.Update = 0 }}},
		"reduce share": {
			[]func(*Config){func(c *Config) { c.ReduceShare = 0 }, func(c *Config) { c.ReduceShare = 1 }},
			[]func(*Config){func(c *Config) { c.ReduceShare = -0.1 }, func(c *Config) { c.ReduceShare = 1.1 }},
		},
		"classes": {
			[]func(*Config){func(c *Config) { c.Classes = Classes{} }, func(c *Config) { c.Classes = Classes{Light: 5, Heavy: 5} }},
			[]func(*Config){func(c *Config) { c.Classes.Light = -1 }, func(c *Config) { c.Classes.Heavy = c.Classes.Light - 1 }, func(c *Config) { c.Classes.SmallInput = -1 }},
		},
		"block and look": {
			[]func(*Config){func(c *Config) { c.Block, c.Look = 1, 1 }},
			[]func(*Config){func(c *Config) { c.Block = 0 }, func(c *Config) { c.Look = 0 }},
		},
		"patience": {
			[]func(*Config){func(c *Config) { c.Maps.Skips, c.Reduces.Skips = 0, 0 }},
			[]func(*Config){func(c *Config) { c.Maps.Skips = -1 }, func(c *Config) { c.Reduces.Wait = -1 }},
		},
	} {
		for ok, changes := range map[bool][]func(*Config){true: c.good, false: c.bad} {
			for i, change := range changes {
				cfg := DefaultConfig()
				change(&cfg)
				if err := cfg.validate(); (err == nil) != ok {
					t.Errorf("%s, %d: %v, want it taken: %v", name, i, err, ok)
				}
			}
		}
	}
}

// spec/nas 3.2: from which sizes jobs are medium, heavy and large.
func TestClassLimits(t *testing.T) {
	c := DefaultClasses()
	for shuffle, want := range map[float64]Class{0: Light, 1<<20 - 1: Light, 1 << 20: Medium, 100 << 20: Medium, 100<<20 + 1: Heavy} {
		if got := c.Of(shuffle); got != want {
			t.Errorf("%g bytes are %v, want %v", shuffle, got, want)
		}
	}
	for class, want := range map[Class]string{Light: "shuffle-light", Medium: "shuffle-medium", Heavy: "shuffle-heavy"} {
		if class.String() != want {
			t.Errorf("%v, want %s", class, want)
		}
	}
	if !c.Small(10<<20-1) || c.Small(10<<20) {
		t.Error("an input of 10 MiB is the first large one")
	}
}
