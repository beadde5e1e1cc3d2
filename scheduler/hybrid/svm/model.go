package svm

import (
	"fmt"
	"math"
)

// A Model is a trained classifier:
// f(x) = sum_i coef_i * exp(-gamma*|x_i-x|^2) + bias.
type Model struct {
	Gamma   float64
	Bias    float64
	Coef    []float64   // alpha_i * y_i of each support vector
	Vectors [][]float64 // the support vectors
}

// Decision returns f(x): positive for class +1. x must have as many features as
// the training points.
func (m *Model) Decision(x []float64) float64 {
	f := m.Bias
	for i, v := range m.Vectors {
		f += m.Coef[i] * kernel(m.Gamma, v, x)
	}
	return f
}

// Norm returns |w| in the space of the kernel: |f(x)|/|w| is the distance of x
// to the separating surface.
func (m *Model) Norm() float64 {
	sum := 0.0
	for i, v := range m.Vectors {
		for j, w := range m.Vectors {
			sum += m.Coef[i] * m.Coef[j] * kernel(m.Gamma, v, w)
		}
	}
	return math.Sqrt(max(sum, 0))
}

// Accuracy returns the fraction of points on the right side.
func (m *Model) Accuracy(x [][]float64, y []int8) float64 {
	right := 0
	for i := range x {
		if m.Decision(x[i]) > 0 == (y[i] > 0) {
			right++
		}
	}
	return float64(right) / float64(max(len(x), 1))
}

func kernel(gamma float64, a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		d := a[i] - b[i]
		sum += d * d
	}
	return math.Exp(-gamma * sum)
}

// Validate reports what is wrong with a model that came from outside.
func (m *Model) Validate(features int) error {
	if !(m.Gamma > 0) || math.IsInf(m.Gamma, 1) || math.IsNaN(m.Bias) || math.IsInf(m.Bias, 0) {
		return fmt.Errorf("gamma %g and bias %g must be finite", m.Gamma, m.Bias)
	}
	if len(m.Coef) != len(m.Vectors) {
		return fmt.Errorf("%d coefficients for %d support vectors", len(m.Coef), len(m.Vectors))
	}
	for i, v := range m.Vectors {
		if len(v) != features {
			return fmt.Errorf("support vector %d has %d features, want %d", i, len(v), features)
		}
		sum := m.Coef[i]
		for _, f := range v {
			sum += f
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			return fmt.Errorf("support vector %d is not finite", i)
		}
	}
	return nil
}
