package hybrid

import "math"

// gigabyte is the unit of spec/hybrid 2.6.
const gigabyte = 1e9

// A Rule says which jobs are small: faster on one scale-up machine than on five
// scale-out machines of the same price (spec/hybrid 2.6a, fitted to the measured
// crosspoints of TeraSort and WordCount).
type Rule struct {
	// Scale is g: how many scale-up machines a job may use, relative to the
	// measurement. Larger: more jobs are small. Default 1.
	Scale float64
}

// Crosspoint returns the input size in bytes from which a job with so much
// shuffle data is faster on scale-out: 17.45 GB without shuffle, 32 GB for
// TeraSort, never above 64 GB, all times Scale.
func (r Rule) Crosspoint(shuffle float64) float64 {
	return 17.45 * gigabyte * r.Scale * (1 + min(shuffle, 102.4*gigabyte*r.Scale)/(38.4*gigabyte*r.Scale))
}

// Small reports whether a job of so many bytes belongs on scale-up.
func (r Rule) Small(input, shuffle float64) bool { return input < r.Crosspoint(shuffle) }

// distance is positive for small jobs and grows with the distance to the
// crosspoint, in the logarithm of the size.
func (r Rule) distance(input, shuffle float64) float64 {
	return math.Log(r.Crosspoint(shuffle) / max(input, 1))
}
