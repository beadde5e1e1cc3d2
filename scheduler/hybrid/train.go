package hybrid

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/millrace/millrace/scheduler/hybrid/svm"
)

// A Sample is one job of the training trace, with its label: was it faster on
// scale-up?
type Sample struct {
	Maps, Reduces int
	Shuffle       float64 // bytes
	Small         bool
}

// TrainConfig says how a classifier is trained.
type TrainConfig struct {
	// Grid is what the search tries; default spec/hybrid 3.1.
	Grid svm.Grid
	// GridPoints and FitPoints bound the samples used for the search and for the
	// final fit, drawn with both classes in proportion. More: better and slower.
	// Default 4,000 and 10,000 (spec/hybrid 3.1).
	GridPoints, FitPoints int
	// MarginSteps is the fineness of the sweep that sets the margin for jobs of
	// unknown shuffle size, per feature; default 24.
	MarginSteps int
}

// DefaultTrainConfig returns the proposals of spec/hybrid 3.1.
func DefaultTrainConfig() TrainConfig {
	return TrainConfig{Grid: svm.DefaultGrid(), GridPoints: 4000, FitPoints: 10_000, MarginSteps: 24}
}

func (c *TrainConfig) validate() error {
	if c.GridPoints < 2*c.Grid.Folds || c.FitPoints < 2 || c.MarginSteps < 2 {
		return fmt.Errorf("%d and %d points, %d steps: too few to train with", c.GridPoints, c.FitPoints, c.MarginSteps)
	}
	return nil
}

// Train fits a classifier to samples: features log(1+v) and standardised, C and
// gamma by cross-validation, then the margin (spec/hybrid 3.1). The same rng state
// and samples give the same classifier. The second result is the accuracy that
// cross-validation found.
func Train(rng *rand.Rand, samples []Sample, cfg TrainConfig) (*Trained, float64, error) {
	if err := cfg.validate(); err != nil {
		return nil, 0, err
	}
	if len(samples) == 0 {
		return nil, 0, errors.New("no samples to train with")
	}
	raw := make([][]float64, len(samples))
	for i := range samples {
		raw[i] = samples[i].raw()
	}
	c := &Trained{Scaler: svm.FitScaler(raw)}
	x, y := c.scaled(stratified(rng, samples, cfg.GridPoints))
	best, accuracy, err := svm.Search(rng, x, y, cfg.Grid)
	if err != nil {
		return nil, 0, fmt.Errorf("train classifier: %w", err)
	}
	x, y = c.scaled(stratified(rng, samples, cfg.FitPoints))
	m, err := svm.Train(x, y, best)
	if err != nil {
		return nil, 0, fmt.Errorf("train classifier: %w", err)
	}
	c.Model = *m
	c.Margin = c.margin(samples, cfg.MarginSteps)
	return c, accuracy, nil
}

func (s *Sample) raw() []float64 {
	return []float64{float64(s.Maps), float64(s.Reduces), s.Shuffle}
}

func (c *Trained) scaled(samples []Sample) (x [][]float64, y []int8) {
	for i := range samples {
		class := int8(-1)
		if samples[i].Small {
			class = 1
		}
		x, y = append(x, c.Scaler.Scale(samples[i].raw()...)), append(y, class)
	}
	return x, y
}

// stratified draws at most n samples with both classes in proportion.
func stratified(rng *rand.Rand, all []Sample, n int) []Sample {
	if len(all) <= n {
		return all
	}
	var out []Sample
	var seen, taken [2]int
	for _, s := range all {
		seen[label(s)]++
	}
	for _, i := range rng.Perm(len(all)) {
		k := label(all[i])
		if taken[k]*len(all) < seen[k]*n {
			taken[k]++
			out = append(out, all[i])
		}
	}
	return out
}

func label(s Sample) int {
	if s.Small {
		return 1
	}
	return 0
}

// margin returns the least value above which no job of unknown shuffle size is called small but could be large: no
// point of a grid flips from small to large as its shuffle grows, and no large job of the training trace exceeds it
// (spec/hybrid 3.1 and 6.9: the kernel is not monotone, so the argument needs a check). The shuffle grows up to that of
// any job with as few tasks: beyond that the classifier has seen nothing, and a narrow kernel gives its constant there.
// Without reduces there is no shuffle.
func (c *Trained) margin(samples []Sample, steps int) float64 {
	var most Sample
	margin := 0.0
	for i := range samples {
		s := &samples[i]
		most.Maps, most.Reduces = max(most.Maps, s.Maps), max(most.Reduces, s.Reduces)
		if !s.Small {
			margin = max(margin, c.value(float64(s.Maps), float64(s.Reduces), 0))
		}
	}
	for _, maps := range spaced(float64(most.Maps), steps) {
		for _, reduces := range spaced(float64(most.Reduces), steps) {
			if f := c.value(maps, reduces, 0); f > margin && c.flips(maps, reduces, largestShuffle(samples, maps, reduces), steps) {
				margin = f
			}
		}
	}
	return margin
}

// largestShuffle returns the largest shuffle of jobs with so many tasks or fewer.
func largestShuffle(samples []Sample, maps, reduces float64) float64 {
	most := 1.0
	for i := range samples {
		if s := &samples[i]; float64(s.Maps) <= maps && float64(s.Reduces) <= reduces {
			most = max(most, s.Shuffle)
		}
	}
	return most
}

// flips reports whether some shuffle size up to most makes the job large.
func (c *Trained) flips(maps, reduces, most float64, steps int) bool {
	for _, shuffle := range spaced(most, 2*steps) {
		if c.value(maps, reduces, shuffle) <= 0 {
			return true
		}
	}
	return false
}

// spaced returns n numbers from 1 to high in equal ratios.
func spaced(high float64, n int) []float64 {
	out := make([]float64, n)
	ratio := math.Log(max(high, 1))
	for i := range out {
		out[i] = math.Exp(ratio * float64(i) / float64(n-1))
	}
	return out
}
