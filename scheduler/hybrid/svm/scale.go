package svm

import "math"

// A Scaler turns raw features, which must not be negative, into log(1+v) with
// mean 0 and deviation 1 over the points it was fitted to.
type Scaler struct{ Mean, Deviation []float64 }

// FitScaler returns the scaler of points x; there must be one at least.
func FitScaler(x [][]float64) Scaler {
	n := len(x[0])
	s := Scaler{Mean: make([]float64, n), Deviation: make([]float64, n)}
	for _, p := range x {
		for i, v := range p {
			s.Mean[i] += math.Log1p(v) / float64(len(x))
		}
	}
	for _, p := range x {
		for i, v := range p {
			d := math.Log1p(v) - s.Mean[i]
			s.Deviation[i] += d * d / float64(len(x))
		}
	}
	for i, v := range s.Deviation {
		if s.Deviation[i] = math.Sqrt(v); v == 0 {
			s.Deviation[i] = 1 // a constant feature says nothing
		}
	}
	return s
}

// Scale returns the scaled features of one point in a new slice.
func (s *Scaler) Scale(p ...float64) []float64 {
	out := make([]float64, len(p))
	for i, v := range p {
		out[i] = (math.Log1p(v) - s.Mean[i]) / s.Deviation[i]
	}
	return out
}
