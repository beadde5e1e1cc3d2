package admission

import (
	"math"
	"testing"
	"time"
)

// TestSettingsThatCannotBe: a setting at the end of its range is taken, one beyond it is refused, whichever of its neighbours is right.
func TestSettingsThatCannotBe(t *testing.T) {
	shares := map[float64]bool{-0.01: false, 0: true, 1: true, 1.01: false, math.NaN(): false}
	sleeps := map[float64]bool{-1: false, 0: true, 1: true}
	for what, x := range map[string]struct {
		set func(c *Config, v float64)
		ok  map[float64]bool
	}{
		"start":          {func(c *Config, v float64) { c.Start = v }, shares},
		"inc":            {func(c *Config, v float64) { c.Inc = v }, shares},
		"dec":            {func(c *Config, v float64) { c.Dec = v }, shares},
		"current":        {func(c *Config, v float64) { c.Current = v }, shares},
		"previous":       {func(c *Config, v float64) { c.Previous = v }, shares},
		"idle-above":     {func(c *Config, v float64) { c.IdleAbove = int(v) }, map[float64]bool{-1: false, 0: true, 100: true, 101: false}},
		"drop-at":        {func(c *Config, v float64) { c.DropAt = int(v) }, map[float64]bool{0: false, 1: true, 100: true, 101: false}},
		"after-increase": {func(c *Config, v float64) { c.AfterIncrease = time.Duration(v) }, sleeps},
		"lockout":        {func(c *Config, v float64) { c.Lockout = time.Duration(v) }, sleeps},
		"no-pending":     {func(c *Config, v float64) { c.NoPending = time.Duration(v) }, sleeps},
		"quiet":          {func(c *Config, v float64) { c.Quiet = time.Duration(v) }, sleeps},
		"iteration":      {func(c *Config, v float64) { c.Iteration = time.Duration(v) }, map[float64]bool{-1: false, 0: false, 1: true}},
		"samples":        {func(c *Config, v float64) { c.Samples = int(v) }, map[float64]bool{0: false, 1: true}},
		"thresholds":     {func(c *Config, v float64) { c.Thresholds = int(v) }, map[float64]bool{0: false, 1: true, 4: true, 5: false}},
		"lowest":         {func(c *Config, v float64) { c.Lowest = int(v) }, map[float64]bool{-1: false, 0: true, 2: true, 3: false}},
		"highest":        {func(c *Config, v float64) { c.Highest = int(v) }, map[float64]bool{2: false, 3: true}},
		"epsilon":        {func(c *Config, v float64) { c.EpsilonPct = int(v) }, map[float64]bool{-1: false, 0: true, 100: true, 101: false}},
	} {
		for v, ok := range x.ok {
			c := DefaultConfig()
			if x.set(&c, v); (c.validate() == nil) != ok {
				t.Errorf("%s %g: %v", what, v, c.validate())
			}
		}
	}
}
