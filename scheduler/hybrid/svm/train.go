package svm

import (
	"errors"
	"fmt"
	"math"
)

// Config holds the parameters of one training.
type Config struct {
	// C bounds the weight of one point. Larger: fewer training errors, a rougher
	// boundary, longer training.
	C float64
	// Gamma is the width of the kernel, 1/length^2. Larger: rougher boundary.
	Gamma float64
	// Tolerance ends training when no pair violates optimality by more. Smaller:
	// longer training. Default 1e-3, as is usual.
	Tolerance float64
	// MaxSteps bounds the number of pairs optimised; what was reached then is
	// returned. Default 10 million; 0 means the default.
	MaxSteps int
	// CacheRows is how many rows of the kernel matrix are kept. Fewer: less memory,
	// more arithmetic. Default 2000; at least 2.
	CacheRows int
}

// DefaultConfig returns C = 1, gamma = 1.
func DefaultConfig() Config {
	return Config{C: 1, Gamma: 1, Tolerance: 1e-3, MaxSteps: 10_000_000, CacheRows: 2000}
}

func (c *Config) validate() error {
	switch {
	case !(c.C > 0) || math.IsInf(c.C, 1):
		return fmt.Errorf("the bound C is %g: it must be positive", c.C)
	case !(c.Gamma > 0) || math.IsInf(c.Gamma, 1):
		return fmt.Errorf("gamma is %g: it must be positive", c.Gamma)
	case !(c.Tolerance > 0):
		return fmt.Errorf("tolerance is %g: it must be positive", c.Tolerance)
	case c.MaxSteps < 0 || c.CacheRows < 2:
		return errors.New("the steps must not be negative, and two rows must fit the cache")
	}
	return nil
}

// Train fits a classifier to points x with classes y, +1 or -1.
func Train(x [][]float64, y []int8, cfg Config) (*Model, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := check(x, y); err != nil {
		return nil, err
	}
	s := newSolver(x, y, cfg)
	s.solve()
	m := &Model{Gamma: cfg.Gamma, Bias: -s.rho()}
	for i, a := range s.alpha {
		if a > 0 {
			m.Coef = append(m.Coef, a*s.y[i])
			m.Vectors = append(m.Vectors, x[i])
		}
	}
	return m, nil
}

func check(x [][]float64, y []int8) error {
	if len(x) != len(y) {
		return fmt.Errorf("%d points but %d classes", len(x), len(y))
	}
	var seen [2]bool
	for i := range x {
		switch {
		case y[i] != 1 && y[i] != -1:
			return fmt.Errorf("point %d has class %d: it must be +1 or -1", i, y[i])
		case len(x[i]) != len(x[0]):
			return fmt.Errorf("point %d has %d features, point 0 has %d", i, len(x[i]), len(x[0]))
		}
		for _, v := range x[i] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("point %d is not finite", i)
			}
		}
		seen[(y[i]+1)/2] = true
	}
	if !seen[0] || !seen[1] {
		return errors.New("there must be points of both classes")
	}
	return nil
}
