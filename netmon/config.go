package netmon

import (
	"fmt"
	"time"
)

// Config says how utilisation is smoothed and judged.
type Config struct {
	// Interval is how often Sample should be called. Shorter: quicker and
	// noisier. Default 1 s (spec/nas 3.3).
	Interval time.Duration
	// Weight is that of the newest sample in the moving average, 0 < Weight <=
	// 1; 1 takes raw samples. Smaller: smoother and later. Default 0.5 (spec/nas
	// 3.3).
	Weight float64
	// Threshold is the utilisation from which a rack is congested. Default 0.8
	// (spec/nas 3.14).
	Threshold float64
	// Clear is the utilisation below which a congested rack is no longer so. 0
	// means Threshold, as published; lower values keep a rack that hovers around
	// the threshold from counting many episodes.
	Clear float64
}

// DefaultConfig returns the published values.
func DefaultConfig() Config {
	return Config{Interval: time.Second, Weight: 0.5, Threshold: 0.8}
}

func (c *Config) validate() error {
	switch {
	case c.Interval <= 0:
		return fmt.Errorf("network monitor: interval %v must be positive", c.Interval)
	case !(c.Weight > 0 && c.Weight <= 1):
		return fmt.Errorf("network monitor: weight %g must be in (0, 1]", c.Weight)
	case !(c.Threshold > 0):
		return fmt.Errorf("network monitor: threshold %g must be positive", c.Threshold)
	case !(c.Clear >= 0 && c.Clear <= c.Threshold):
		return fmt.Errorf("network monitor: clear %g must be in 0..%g, the threshold", c.Clear, c.Threshold)
	}
	return nil
}
