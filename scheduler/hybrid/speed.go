package hybrid

import "math"

// A Speed is how task durations on scale-up relate to those on scale-out
// (spec/hybrid 2.6b). Simulators use it; no decision does.
type Speed struct {
	Rule Rule
	// Start and End are the ratio of the time on five scale-out machines to that
	// on one scale-up machine for a tiny and for a huge job; published 1.7 and 0.65.
	Start, End float64
	// UpSlots and OutSlots are the tasks that one scale-up machine and scale-out
	// machines of the same price run at once; published 24 and 40.
	UpSlots, OutSlots int
	// Least and Most bound the factor; 0.25 and 1.6.
	Least, Most float64
	// TwoLevel uses SmallFactor and LargeFactor instead of the curve: 0.588 and
	// 0.923 published, 1.54 for large jobs as the pessimistic reading.
	TwoLevel                 bool
	SmallFactor, LargeFactor float64
}

// DefaultSpeed returns the curve.
func DefaultSpeed() Speed {
	return Speed{
		Rule: Rule{Scale: 1}, Start: 1.7, End: 0.65, UpSlots: 24, OutSlots: 40, Least: 0.25, Most: 1.6,
		SmallFactor: 1 / 1.7, LargeFactor: 0.6 / 0.65,
	}
}

// Rho is the time on five scale-out machines over the time on one scale-up
// machine for a job alone: Start at 0, 1 at the crosspoint, End at infinity.
func (s *Speed) Rho(input, shuffle float64) float64 {
	at := input / s.Rule.Crosspoint(shuffle)
	bend := (s.Start - 1) / (1 - s.End) // so that the curve is 1 at the crosspoint
	return s.End + (s.Start-s.End)/(1+bend*at)
}

// Factor is f_up: how much longer (or, below 1, shorter) a task of the job runs
// on scale-up than on scale-out. The difference in slots is taken out, so that a
// job alone on either group shows exactly Rho.
func (s *Speed) Factor(maps int, input, shuffle float64) float64 {
	if s.TwoLevel {
		if s.Rule.Small(input, shuffle) {
			return s.SmallFactor
		}
		return s.LargeFactor
	}
	k := float64(max(maps, 1))
	waves := math.Ceil(k/float64(s.OutSlots)) / math.Ceil(k/float64(s.UpSlots))
	return min(max(waves/s.Rho(input, shuffle), s.Least), s.Most)
}
