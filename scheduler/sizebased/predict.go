package sizebased

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// PredictConfig says how the size of a job is known before it has run.
type PredictConfig struct {
	// From is "work" (the spec's own Work, as a simulator knows it), "input"
	// (proportional to input bytes) or "auto" (default): work where the spec has
	// it, input otherwise.
	From string
	// Noise is sigma of slowdown.md 3.4: a known size is multiplied by
	// exp(sigma*N(0,1)). 0 is an oracle. Larger: more jobs in the wrong queue.
	// Default 0.2.
	Noise float64
	// Seed makes the noise; a job gets the same noise whenever it arrives.
	Seed uint64
	// SecondsPerGB is slot-seconds per 10^9 input bytes before any job has
	// finished. Default 200 (ours: a 128 MB split read and mapped in 25 s).
	SecondsPerGB float64
	// CountWait counts waiting reduces in the size of a finished job, as
	// Table II does (slowdown.md 6.2). Default true.
	CountWait bool
}

// DefaultPredictConfig returns the defaults of slowdown.md 3.4.
func DefaultPredictConfig() PredictConfig {
	return PredictConfig{From: "auto", Noise: 0.2, Seed: 1, SecondsPerGB: 200, CountWait: true}
}

func (c *PredictConfig) validate() error {
	switch {
	case c.From != "auto" && c.From != "work" && c.From != "input":
		return fmt.Errorf("prediction from %q is not auto, work or input", c.From)
	case c.Noise < 0 || math.IsInf(c.Noise, 0) || math.IsNaN(c.Noise):
		return fmt.Errorf("prediction noise %g: it must be 0 or more", c.Noise)
	case !(c.SecondsPerGB > 0):
		return fmt.Errorf("%g seconds per GB: it must be above 0", c.SecondsPerGB)
	}
	return nil
}

func predictParams() []scheduler.Param {
	return []scheduler.Param{
		{
			Name: "predict", Type: scheduler.ChoiceParam, Default: "auto", Choices: []string{"auto", "work", "input"}, Source: "slowdown.md 3.4",
			Doc: "how a job's size is known: its given work, its input bytes, or the first of the two that is known",
		},
		{
			Name: "noise", Type: scheduler.FloatParam, Default: "0.2", Min: 0, Max: 10, Source: "slowdown.md 3.4",
			Doc: "sigma of the log-normal error put on a known size; 0: an oracle",
		},
		{
			Name: "seed", Type: scheduler.IntParam, Default: "1", Min: 0, Max: 1 << 53, Source: "ours",
			Doc: "seed of the noise",
		},
		{
			Name: "seconds-per-gb", Type: scheduler.FloatParam, Default: "200", Positive: true, Max: 1e12, Source: "ours; slowdown.md 3.4 asks for a constant",
			Doc: "slot-seconds per 10^9 input bytes, until a job has finished",
		},
		flag("size-with-wait", "true", "count waiting reduces in the size of a finished job", "slowdown.md 6.2"),
	}
}

func predictConfigOf(p scheduler.Params) PredictConfig {
	return PredictConfig{
		From: p.String("predict"), Noise: p.Float("noise"), Seed: uint64(p.Int("seed")),
		SecondsPerGB: p.Float("seconds-per-gb"), CountWait: p.Bool("size-with-wait"),
	}
}

// A Predictor guesses sizes in slot-seconds and learns from finished jobs.
type Predictor struct {
	cfg    PredictConfig
	all    history
	byName map[string]*history
}

// history is what finished jobs of one name, or all, took.
type history struct {
	work, bytes float64 // of jobs with known input
	total       float64 // of all
	jobs        int
}

// NewPredictor returns a predictor without experience.
func NewPredictor(cfg PredictConfig) (*Predictor, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Predictor{cfg: cfg, byName: make(map[string]*history)}, nil
}

// Size predicts the slot-seconds of a job (slowdown.md 3.4). Where neither work
// nor input is known it takes expected task lengths, then the mean of finished
// jobs, and with nothing to go by 0: such a job counts as small.
func (p *Predictor) Size(s *scheduler.JobSpec) float64 {
	if s.Work > 0 && p.cfg.From != "input" {
		return s.Work.Seconds() * p.error(s.ID)
	}
	h := p.byName[s.Name]
	if h == nil {
		h = &p.all
	}
	switch bytes, known := inputOf(s); {
	case known && h.bytes > 0:
		return h.work / h.bytes * bytes
	case known && p.all.bytes > 0:
		return p.all.work / p.all.bytes * bytes
	case known:
		return p.cfg.SecondsPerGB * bytes / 1e9
	case s.MapTime > 0 || s.ReduceTime > 0:
		return float64(s.Maps)*s.MapTime.Seconds() + float64(s.Reduces)*s.ReduceTime.Seconds()
	case h.jobs > 0:
		return h.total / float64(h.jobs)
	}
	return 0
}

// error is the factor between the true size of a job and the predicted one.
func (p *Predictor) error(id scheduler.JobID) float64 {
	if p.cfg.Noise == 0 {
		return 1
	}
	return math.Exp(p.cfg.Noise * rand.New(rand.NewPCG(p.cfg.Seed, uint64(id))).NormFloat64())
}

func inputOf(s *scheduler.JobSpec) (bytes float64, known bool) {
	if s.Input.Known {
		return float64(s.Input.Bytes), true
	}
	for _, b := range s.Splits.Bytes {
		bytes += float64(b)
	}
	return bytes, bytes > 0
}

// Learn takes in a job that has just finished and returns its true size.
func (p *Predictor) Learn(j *scheduler.Job) float64 {
	size := p.trueSize(j).Seconds()
	h := p.byName[j.Spec().Name]
	if h == nil {
		h = new(history)
		p.byName[j.Spec().Name] = h
	}
	bytes, known := inputOf(j.Spec())
	for _, h := range [...]*history{h, &p.all} {
		h.jobs++
		h.total += size
		if known && bytes > 0 {
			h.work += size
			h.bytes += bytes
		}
	}
	return size
}

// trueSize is the sum of the run times of the job's tasks (slowdown.md 2.2).
func (p *Predictor) trueSize(j *scheduler.Job) time.Duration {
	if !p.cfg.CountWait {
		return j.WorkSum(scheduler.Map) + j.WorkSum(scheduler.Reduce)
	}
	_, maps, _ := j.Samples(scheduler.Map)
	_, reduces, _ := j.Samples(scheduler.Reduce)
	return maps + reduces
}
