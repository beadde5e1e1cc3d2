// Package stats computes statistics of experiments and comparisons: means, quantiles, intervals, fairness. It also
// formats numbers for reports.
package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Mean returns the mean, or NaN of nothing.
func Mean(x []float64) float64 { return Sum(x) / float64(len(x)) }

// Sum adds values in the order of the slice.
func Sum(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// Sorted returns the values in ascending order.
func Sorted(x []float64) []float64 { return slices.Sorted(slices.Values(x)) }

// Quantile interpolates between order statistics at position q*(n-1) (spec/slowdown 2.2). The slice is sorted.
func Quantile(sorted []float64, q float64) float64 {
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

// Median returns the middle value of a slice that need not be sorted.
func Median(x []float64) float64 { return Quantile(Sorted(x), 0.5) }

// Deviation returns the standard deviation of a sample.
func Deviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	m, sum := Mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}

// Jain returns Jain's index of fairness: 1 if all values are equal, 1/n if one has everything.
func Jain(x []float64) float64 {
	var sum, square float64
	for _, v := range x {
		sum, square = sum+v, square+v*v
	}
	if square == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(x)) * square)
}

// Range returns the smallest, the mean and the largest value.
func Range(x []float64) (low, mean, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range x {
		low, high, mean = min(low, v), max(high, v), mean+v/float64(len(x))
	}
	return low, mean, high
}

// Normal returns a quantile of the standard normal distribution.
func Normal(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// Lognormal draws with a given mean and coefficient of variation.
func Lognormal(rng *rand.Rand, mean, cv float64) float64 {
	s2 := math.Log1p(cv * cv)
	return mean * math.Exp(math.Sqrt(s2)*rng.NormFloat64()-s2/2)
}

// Text formats a number with about three digits.
func Text(f float64) string {
	switch a := math.Abs(f); {
	case a >= 1000:
		return fmt.Sprintf("%.0f", f)
	case a >= 100:
		return fmt.Sprintf("%.1f", f)
	case a >= 10:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.3g", f)
}

// Texts formats numbers in a row, each as Text does.
func Texts(x ...float64) string {
	out := make([]string, len(x))
	for i, v := range x {
		out[i] = Text(v)
	}
	return strings.Join(out, ", ")
}

// Span formats the mean of values with its unit, and the smallest and the largest.
func Span(x []float64, unit string) string {
	low, mean, high := Range(x)
	return fmt.Sprintf("%s %s (%s to %s)", Text(mean), unit, Text(low), Text(high))
}
