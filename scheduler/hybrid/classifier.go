package hybrid

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/hybrid/svm"
)

// A Classifier tells small jobs from large ones. It must not change while a
// policy uses it.
type Classifier interface {
	// Classify returns whether the job belongs on scale-up, and its decision value,
	// whose size is its distance to the boundary.
	Classify(s *scheduler.JobSpec) (small bool, value float64)
}

// knownShuffle is the shuffle size a job is classified by: for a job that does
// not recur it is unknown, and 0 is the safe side, because a large job on scale-up
// does more harm than a small one on scale-out (spec/hybrid 3.1).
func knownShuffle(s *scheduler.JobSpec) float64 {
	if s.Recurring && s.Shuffle.Known {
		return float64(s.Shuffle.Bytes)
	}
	return 0
}

// A ByRule classifies with the rule itself: for a cluster without training.
type ByRule struct{ Rule Rule }

var _ Classifier = ByRule{}

// blockBytes is what a map of unknown input is taken to read.
const blockBytes = 128 << 20

// Classify implements Classifier.
func (c ByRule) Classify(s *scheduler.JobSpec) (small bool, value float64) {
	f := c.Rule.distance(inputOf(s), knownShuffle(s))
	return f > 0, f
}

func inputOf(s *scheduler.JobSpec) float64 {
	if s.Input.Known {
		return float64(s.Input.Bytes)
	}
	total := 0.0
	for _, b := range s.Splits.Bytes {
		total += float64(b)
	}
	if total == 0 { // unknown, or its maps make their own
		return float64(s.Maps) * blockBytes
	}
	return total
}

// A Trained classifier is a support vector machine over the number of maps, the
// number of reduces and the shuffle size. It can be written as JSON.
type Trained struct {
	Scaler svm.Scaler
	Model  svm.Model
	// Margin is what the value of a job that does not recur must exceed to be
	// small (spec/hybrid 3.1, 6.9).
	Margin float64
	// Trained is the time of training, as given by whoever trained it, and Jobs the number of jobs used; "" in older
	// files.
	Trained string `json:",omitempty"`
	Jobs    int    `json:",omitempty"`
}

var _ Classifier = (*Trained)(nil)

const features = 3

func (c *Trained) value(maps, reduces, shuffle float64) float64 {
	return c.Model.Decision(c.Scaler.Scale(maps, reduces, shuffle))
}

// Classify implements Classifier.
func (c *Trained) Classify(s *scheduler.JobSpec) (small bool, value float64) {
	f := c.value(float64(s.Maps), float64(s.Reduces), knownShuffle(s))
	if s.Recurring && s.Shuffle.Known {
		return f > 0, f
	}
	return f > c.Margin, f
}

// ParseTrained reads a classifier that was written as JSON, and refuses one that
// could not have been trained.
func ParseTrained(text string) (*Trained, error) {
	c := new(Trained)
	if err := json.Unmarshal([]byte(text), c); err != nil {
		return nil, fmt.Errorf("trained classifier: %w", err)
	}
	if len(c.Scaler.Mean) != features || len(c.Scaler.Deviation) != features {
		return nil, fmt.Errorf("trained classifier: scaler of %d features, want %d", len(c.Scaler.Mean), features)
	}
	for i, d := range c.Scaler.Deviation {
		if m := c.Scaler.Mean[i]; !(d > 0) || math.IsInf(d, 1) || math.IsNaN(m) || math.IsInf(m, 0) {
			return nil, fmt.Errorf("trained classifier: feature %d has mean %g and deviation %g", i, m, d)
		}
	}
	if !(c.Margin >= 0) {
		return nil, errors.New("trained classifier: the margin must not be negative")
	}
	if err := c.Model.Validate(features); err != nil {
		return nil, fmt.Errorf("trained classifier: %w", err)
	}
	return c, nil
}

// Text writes the classifier as JSON, for the model parameter and ParseTrained.
func (c *Trained) Text() (string, error) {
	b, err := json.Marshal(c)
	return string(b), err
}
