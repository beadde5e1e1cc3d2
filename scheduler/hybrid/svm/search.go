package svm

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// A Grid is what Search tries.
type Grid struct {
	C, Gamma []float64
	Folds    int
	Train    Config // C and Gamma are replaced
}

// DefaultGrid returns the grid of spec/hybrid 3.1: C from 0.1 to 1000, gamma from
// 0.01 to 10, five folds.
func DefaultGrid() Grid {
	return Grid{C: []float64{0.1, 1, 10, 100, 1000}, Gamma: []float64{0.01, 0.1, 1, 10}, Folds: 5, Train: DefaultConfig()}
}

func (g *Grid) validate() error {
	if len(g.C) == 0 || len(g.Gamma) == 0 {
		return errors.New("the grid is empty")
	}
	if g.Folds < 2 {
		return fmt.Errorf("%d folds: there must be at least 2", g.Folds)
	}
	return nil
}

// Search returns the parameters of the grid with the best accuracy in
// cross-validation, the smaller C and gamma among equals, and that accuracy.
// Every fold has its share of both classes; a class with fewer points than folds
// is an error.
func Search(rng *rand.Rand, x [][]float64, y []int8, g Grid) (best Config, accuracy float64, err error) {
	if err := g.validate(); err != nil {
		return Config{}, 0, err
	}
	if err := check(x, y); err != nil {
		return Config{}, 0, err
	}
	fold, err := folds(rng, y, g.Folds)
	if err != nil {
		return Config{}, 0, err
	}
	accuracy = -1
	for _, gamma := range g.Gamma {
		for _, c := range g.C {
			cfg := g.Train
			cfg.C, cfg.Gamma = c, gamma
			a, err := crossValidate(x, y, fold, g.Folds, cfg)
			if err != nil {
				return Config{}, 0, err
			}
			if a > accuracy {
				best, accuracy = cfg, a
			}
		}
	}
	return best, accuracy, nil
}

// folds deals the points of each class out in random order.
func folds(rng *rand.Rand, y []int8, n int) ([]int, error) {
	fold, count := make([]int, len(y)), [2]int{}
	for _, i := range rng.Perm(len(y)) {
		class := (y[i] + 1) / 2
		fold[i] = count[class] % n
		count[class]++
	}
	if count[0] < n || count[1] < n {
		return nil, fmt.Errorf("%d folds need as many points of each class; there are %d and %d", n, count[0], count[1])
	}
	return fold, nil
}

// crossValidate returns the fraction of points that are right when left out.
func crossValidate(x [][]float64, y []int8, fold []int, n int, cfg Config) (float64, error) {
	right := 0
	for f := range n {
		var tx, vx [][]float64
		var ty, vy []int8
		for i := range x {
			if fold[i] == f {
				vx, vy = append(vx, x[i]), append(vy, y[i])
			} else {
				tx, ty = append(tx, x[i]), append(ty, y[i])
			}
		}
		m, err := Train(tx, ty, cfg)
		if err != nil {
			return 0, err
		}
		right += int(m.Accuracy(vx, vy)*float64(len(vx)) + 0.5)
	}
	return float64(right) / float64(len(x)), nil
}
