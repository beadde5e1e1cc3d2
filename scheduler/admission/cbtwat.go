package admission

import (
	"errors"
	"math/rand/v2"
	"slices"
)

// CBTwAT starts one more job when the processors idle and the smoothed rate of
// progress rises by a threshold, which it chooses by trying some and then mostly
// using the best (spec/marp 3.5, script 9.3.3).
type CBTwAT struct {
	smoother
	random *rand.Rand

	mem      []int // explored thresholds, in order
	score    []int // of mem, by index
	at       int   // index of the threshold being explored
	count    int   // measurements of it so far
	sum      int   // of their deltas
	exploits bool
	thr      int
	tracker  int
}

var _ Controller = (*CBTwAT)(nil)

// NewCBTwAT returns a controller without a batch that draws from random.
func NewCBTwAT(cfg Config, random *rand.Rand) (*CBTwAT, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if random == nil {
		return nil, errors.New("cbtwat needs a source of randomness")
	}
	return &CBTwAT{smoother: newSmoother(cfg), random: random}, nil
}

// Init implements Controller: step a of spec/marp 3.5.
func (c *CBTwAT) Init(batch []jobID, marp float64) Act {
	var mem []int
	for _, i := range c.random.Perm(c.cfg.Highest - c.cfg.Lowest + 1)[:c.cfg.Thresholds] {
		mem = append(mem, c.cfg.Lowest+i)
	}
	return c.initWith(mem, batch, marp)
}

func (c *CBTwAT) initWith(mem []int, batch []jobID, marp float64) Act {
	c.mem, c.score = mem, make([]int, len(mem))
	c.at, c.count, c.sum, c.exploits, c.thr, c.tracker = 0, 0, 0, false, 1, 0
	return c.smoother.Init(batch, marp)
}

// Scores returns the thresholds of this batch in the order they are explored, the
// score of each so far, and how many are done.
func (c *CBTwAT) Scores() (thresholds, scores []int, explored int) {
	return slices.Clone(c.mem), slices.Clone(c.score), c.at
}

// Step implements Controller.
func (c *CBTwAT) Step(o Obs) Act { return c.step(o, c.measure) }

// measure is lines 1 to 18 of spec/marp 3.5. Unlike CBTwS it always takes the measurement.
func (c *CBTwAT) measure(mean float64, o Obs) Act {
	c.choose()
	p, d := c.next(mean)
	delta := d - c.delta
	switch {
	case delta >= c.thr:
		c.tracker++
	case delta < 0:
		c.tracker--
	}
	c.progress, c.delta = p, d
	act := Act{Sleep: c.cfg.NoPending}
	if o.Pending > 0 {
		act = Act{}
		if c.tracker > 0 || c.stalled(o) {
			act = c.write(c.raised())
		}
		c.tracker = 0
	}
	c.learn(delta)
	return act
}

// choose sets the threshold of this measurement (lines 1-5).
func (c *CBTwAT) choose() {
	if !c.exploits {
		c.thr = c.mem[c.at]
		return
	}
	if 1+c.random.IntN(100) > c.cfg.EpsilonPct {
		c.thr = c.best()
		return
	}
	i := c.random.IntN(len(c.mem))
	if c.thr = c.mem[i]; c.cfg.CompatIndexBug {
		c.thr = 1 + i
	}
}

// best returns the threshold with the highest score, the smallest of equals.
func (c *CBTwAT) best() int {
	most, best := slices.Max(c.score), -1
	for i, s := range c.score {
		if s == most && (best < 0 || c.mem[i] < best) {
			best = c.mem[i]
		}
	}
	return best
}

// learn adds one sample to the threshold being explored (lines 13-17).
func (c *CBTwAT) learn(delta int) {
	if c.exploits {
		return
	}
	c.sum += delta
	if c.count++; c.count < c.cfg.Samples {
		return
	}
	c.score[c.at] = c.sum / c.cfg.Samples // toward zero
	c.at, c.count, c.sum = c.at+1, 0, 0
	c.exploits = c.at == len(c.mem)
}
