package lab

import (
	"math"
	"math/rand/v2"
	"slices"
)

// quantile interpolates between order statistics at position q*(n-1)
// (slowdown.md 2.2). The slice is sorted.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	pos := q * float64(len(sorted)-1)
	i := int(pos)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (pos-float64(i))*(sorted[i+1]-sorted[i])
}

func mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func sorted(x []float64) []float64 { return slices.Sorted(slices.Values(x)) }

// normal is the quantile function of the standard normal distribution.
func normal(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// lognormal draws with a given mean and coefficient of variation.
func lognormal(rng *rand.Rand, mean, cv float64) float64 {
	s2 := math.Log1p(cv * cv)
	return mean * math.Exp(math.Sqrt(s2)*rng.NormFloat64()-s2/2)
}

func clamp(x, low, high float64) float64 { return min(max(x, low), high) }
