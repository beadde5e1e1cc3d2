package admission

import (
	"fmt"
	"time"
)

// Config holds the constants of the controllers. Durations are those of the
// published scripts; Limits.TimeScale shortens them all.
type Config struct {
	// Start is the MARP before a batch and after it. Enough for one driver.
	// Published 0.050 (spec/marp 2.5, Table 3).
	Start float64
	// Inc is added to start one more job: just enough for one driver. Larger:
	// two may start at once. Published 0.040.
	Inc float64
	// Dec is taken off for each job that is about to finish. Much smaller than
	// Inc: unplanned starts build up (spec/marp 3.7); larger: increases come to nothing.
	// Published 0.030. 0 never lowers.
	Dec float64
	// IdleAbove is the percentage of idle processors above which (not at) the
	// cluster counts as idle. Larger: fewer starts. Published 15.
	IdleAbove int
	// DropAt is the whole percentage of progress from which a job counts as
	// about to finish. Published: above 95 for CBT, from 90 for the others.
	DropAt int
	// AfterIncrease is the sleep after an increase, while it takes effect.
	// Shorter: several starts in a row. Published 30 s.
	AfterIncrease time.Duration
	// Lockout is the sleep between two measurements (CBTwS, CBTwAT). Published
	// 15 s.
	Lockout time.Duration
	// NoPending is the sleep of a measurement that finds no job waiting (CBTwS,
	// CBTwAT). Published 20 s.
	NoPending time.Duration
	// Quiet is the time from the first job to the first sample: the listed
	// sleeps and the listing of jobs (spec/marp 7.22). 25 s; CBTwAT 20 s.
	Quiet time.Duration
	// Iteration is the time one round takes besides sleeps: one second for the
	// processor sample, half for queries (spec/marp 3.0). 1.5 s.
	Iteration time.Duration
	// Current and Previous weigh the newest and the smoothed earlier progress
	// delta. Published 0.40 and 0.60.
	Current, Previous float64
	// Samples is how many measurements explore one threshold (CBTwAT).
	// Published 3.
	Samples int
	// Thresholds is how many thresholds are explored, drawn without repetition
	// from Lowest..Highest (CBTwAT). Published 3 from 1..4.
	Thresholds, Lowest, Highest int
	// EpsilonPct is how often, in percent, a random explored threshold is used
	// instead of the best (CBTwAT). Published 10.
	EpsilonPct int
	// CompatEarlyExit ends control as soon as no job runs, though some wait, as
	// the scripts did (spec/marp 7.12).
	CompatEarlyExit bool
	// CompatIndexBug draws the random threshold from the indices 1..Thresholds
	// instead of the explored values, as the script did (spec/marp 7.11).
	CompatIndexBug bool
}

// DefaultConfig returns the published constants of CBTwS.
func DefaultConfig() Config {
	return Config{
		Start: 0.050, Inc: 0.040, Dec: 0.030, IdleAbove: 15, DropAt: 90,
		AfterIncrease: 30 * time.Second, Lockout: 15 * time.Second, NoPending: 20 * time.Second,
		Quiet: 25 * time.Second, Iteration: 1500 * time.Millisecond,
		Current: 0.40, Previous: 0.60,
		Samples: 3, Thresholds: 3, Lowest: 1, Highest: 4, EpsilonPct: 10,
	}
}

// CBTConfig returns the published constants of CBT.
func CBTConfig() Config {
	c := DefaultConfig()
	c.DropAt = 96 // "integer part > 95"
	return c
}

// CBTwATConfig returns the published constants of CBTwAT.
func CBTwATConfig() Config {
	c := DefaultConfig()
	c.Quiet = 20 * time.Second
	return c
}

func (c *Config) validate() error {
	switch {
	case !(c.Start >= 0 && c.Start <= 1) || !(c.Inc >= 0 && c.Inc <= 1) || !(c.Dec >= 0 && c.Dec <= 1):
		return fmt.Errorf("start %g, inc %g, dec %g: each must be in 0..1", c.Start, c.Inc, c.Dec)
	case c.IdleAbove < 0 || c.IdleAbove > 100 || c.DropAt < 1 || c.DropAt > 100:
		return fmt.Errorf("idle-above %d must be in 0..100 and drop-at %d in 1..100", c.IdleAbove, c.DropAt)
	case c.AfterIncrease < 0 || c.Lockout < 0 || c.NoPending < 0 || c.Quiet < 0:
		return fmt.Errorf("sleeps %v, %v, %v, %v must not be negative", c.AfterIncrease, c.Lockout, c.NoPending, c.Quiet)
	case c.Iteration <= 0:
		return fmt.Errorf("iteration %v must be positive", c.Iteration)
	case !(c.Current >= 0 && c.Current <= 1) || !(c.Previous >= 0 && c.Previous <= 1):
		return fmt.Errorf("weights %g and %g must be in 0..1", c.Current, c.Previous)
	case c.Samples < 1 || c.Thresholds < 1 || c.Lowest < 0:
		return fmt.Errorf("samples %d and thresholds %d must be at least 1, lowest %d not negative", c.Samples, c.Thresholds, c.Lowest)
	case c.Highest-c.Lowest+1 < c.Thresholds:
		return fmt.Errorf("%d..%d has fewer than %d thresholds", c.Lowest, c.Highest, c.Thresholds)
	case c.EpsilonPct < 0 || c.EpsilonPct > 100:
		return fmt.Errorf("epsilon %d%% must be in 0..100", c.EpsilonPct)
	}
	return nil
}
