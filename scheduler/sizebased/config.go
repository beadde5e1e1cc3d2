package sizebased

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/millrace/millrace/scheduler"
)

// A Discipline says how a job gets into its queue.
type Discipline uint8

// The disciplines of Table I (spec/slowdown 2.4).
const (
	FBQ  Discipline = iota // feedback, shared slots
	TAGS                   // feedback, partitions
	SITA                   // predicted size, partitions
	COMP                   // compared size, shared slots
)

// String returns the policy's name.
func (d Discipline) String() string { return [...]string{"fbq", "tags", "sita", "comp"}[min(d, COMP)] }

// Feedback reports whether jobs move between queues.
func (d Discipline) Feedback() bool { return d == FBQ || d == TAGS }

// Partitioned reports whether each queue has its own nodes.
func (d Discipline) Partitioned() bool { return d == TAGS || d == SITA }

// Config says how many queues there are and who belongs where.
type Config struct {
	Discipline Discipline
	// K is the number of queues, at least 1; 1 is plain first come first
	// served. More: finer classes, more limits to get right. Default 2
	// (spec/slowdown 3.2 to 3.5).
	K int
	// Limits has L_1..L_(K-1) in slot-seconds, increasing. FBQ, TAGS: the
	// attained service at which a job leaves queue k. SITA: the largest
	// predicted size of queue k. Nil means the published values, which exist
	// for K = 2 and, for FBQ, K = 4. Not used by COMP.
	Limits []float64
	// Fit takes the limits from the sizes of finished jobs, or from the number of containers until there are some,
	// instead of the published ones. Default false. A cluster sets it: its jobs never reach the published limits.
	Fit bool
	// Shares has the part of the nodes of each queue, summing to 1; TAGS and
	// SITA only. Nil means the published values for K = 2. A larger first share
	// isolates small jobs better and starves large ones.
	Shares []float64
	// PerQueue counts service since the job entered its queue instead of since
	// its arrival (spec/slowdown 6.4). Default false.
	PerQueue bool
	// CountWait counts the time that launched reduces wait for maps as service
	// (spec/slowdown 6.2). Default true.
	CountWait bool
	// OnCompletion checks limits only when a task of the job ends, which is
	// coarser (spec/slowdown 6.5). Default false: at every event.
	OnCompletion bool
	// Restart, TAGS only: a job that moves down is stopped and starts from
	// nothing, as in the ancestor of the policy (spec/slowdown 3.3). For
	// comparison; it wastes work. Default false.
	Restart bool
	// Lend gives what a partition cannot use to the other queues, smallest
	// first. Default false: partitions are strict (spec/slowdown 3.3).
	Lend bool
	// Predict says how sizes are known in advance; SITA and COMP only.
	Predict PredictConfig
	// Reduces says when reduces may start.
	Reduces scheduler.ReduceRule
}

// DefaultConfig returns the published best values of a discipline with K = 2
// (spec/slowdown 3.2 to 3.5).
func DefaultConfig(d Discipline) Config {
	return Config{Discipline: d, K: 2, CountWait: true, Predict: DefaultPredictConfig(), Reduces: scheduler.DefaultReduceRule()}
}

// published returns the limits and shares of spec/slowdown 3.2 to 3.4.
func published(d Discipline, k int) (limits, shares []float64) {
	switch {
	case d == FBQ && k == 2:
		return []float64{12_000}, nil
	case d == FBQ && k == 4:
		return []float64{4_000, 10_000, 36_000}, nil
	case d == TAGS && k == 2:
		return []float64{14_000}, []float64{0.5, 0.5}
	case d == SITA && k == 2:
		return []float64{18_000}, []float64{0.3, 0.7}
	case k == 1:
		return []float64{}, []float64{1}
	}
	return nil, nil
}

// fill sets published values where none are given. With Fit the limits start small, and shares are equal for any number
// of queues.
func (c *Config) fill() error {
	limits, shares := published(c.Discipline, c.K)
	if c.Fit && c.Limits != nil {
		return fmt.Errorf("limits %v and fit: give one of them", c.Limits)
	}
	if c.Fit && c.K > 1 {
		limits = (&fitted{sizes: newRing(0)}).limits(c.K, 1)
		if shares == nil {
			shares = slices.Repeat([]float64{1 / float64(c.K)}, c.K)
		}
	}
	if c.Limits == nil {
		c.Limits = limits
	}
	if c.Shares == nil {
		c.Shares = shares
	}
	return nil
}

func (c *Config) validate() error {
	if c.K < 1 {
		return fmt.Errorf("%d queues: there must be at least 1", c.K)
	}
	if c.Restart && c.Discipline != TAGS {
		return fmt.Errorf("restart is an option of tags, not of %v", c.Discipline)
	}
	if c.Discipline != COMP {
		if err := c.validateLimits(); err != nil {
			return err
		}
	}
	if c.Discipline.Partitioned() {
		if err := c.validateShares(); err != nil {
			return err
		}
	}
	return c.Predict.validate()
}

func (c *Config) validateLimits() error {
	if len(c.Limits) != c.K-1 {
		return fmt.Errorf("%d queues need %d limits, not %d", c.K, c.K-1, len(c.Limits))
	}
	last := 0.0
	for _, l := range c.Limits {
		if !(l > last) || math.IsInf(l, 1) {
			return fmt.Errorf("limits %v: they must be positive and increase", c.Limits)
		}
		last = l
	}
	return nil
}

func (c *Config) validateShares() error {
	if len(c.Shares) != c.K {
		return fmt.Errorf("%d queues need %d shares, not %d", c.K, c.K, len(c.Shares))
	}
	sum := 0.0
	for _, s := range c.Shares {
		sum += s
	}
	if slices.Min(c.Shares) <= 0 {
		return errors.New("each share must be above 0")
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("shares %v add up to %g, not 1", c.Shares, sum)
	}
	return nil
}
