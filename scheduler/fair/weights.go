package fair

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// SlackWeights turns completion-time goals into weights: the slack of a job is
// its goal less its time alone in the cluster, and its weight the largest slack
// over its own (spec/deadline 3.8). A job without slack can meet its goal by no
// weight; that is an error.
func SlackWeights(slacks []time.Duration) ([]float64, error) {
	if len(slacks) == 0 {
		return nil, errors.New("no jobs to weigh")
	}
	longest := slices.Max(slacks)
	weights := make([]float64, len(slacks))
	for i, s := range slacks {
		if s <= 0 {
			return nil, fmt.Errorf("job %d has a slack of %v: its goal is not after its time alone", i, s)
		}
		weights[i] = longest.Seconds() / s.Seconds()
	}
	return weights, nil
}
