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
	// Noise is sigma of spec/slowdown 3.4: a known size is multiplied by
	// exp(sigma*N(0,1)). 0 is an oracle. Larger: more jobs in the wrong queue.
	// Default 0.2.
	Noise float64
	// Seed makes the noise; a job gets the same noise whenever it arrives.
	Seed uint64
	// SecondsPerGB is slot-seconds per 10^9 input bytes before any job has
	// finished. Default 200 (ours: a 128 MB split read and mapped in 25 s).
	SecondsPerGB float64
	// CountWait counts waiting reduces in the size of a finished job, as
	// Table II does (spec/slowdown 6.2), where no work was given. Default true.
	CountWait bool
}

// DefaultPredictConfig returns the defaults of spec/slowdown 3.4.
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

func (c *PredictConfig) params() []scheduler.Param {
	return []scheduler.Param{
		scheduler.Choice(&c.From, []string{"auto", "work", "input"}, "predict", "spec/slowdown 3.4", "how a job's size is known: its given work, its input bytes, or the first of the two that is known"),
		scheduler.Float(&c.Noise, "noise", "spec/slowdown 3.4", "sigma of the log-normal error put on a known size; 0: an oracle").In(0, 10),
		scheduler.Int(&c.Seed, "seed", "ours", "seed of the noise").In(0, 1<<53),
		scheduler.Float(&c.SecondsPerGB, "seconds-per-gb", "ours; spec/slowdown 3.4 asks for a constant", "slot-seconds per 10^9 input bytes, until a job has finished").Above0(1e12),
		scheduler.Bool(&c.CountWait, "size-with-wait", "spec/slowdown 6.2", "count waiting reduces in the size of a finished job"),
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

// Size predicts the slot-seconds of a job (spec/slowdown 3.4). If neither work nor input is known, it uses expected
// task lengths, then the mean of finished jobs, and else 0: such a job counts as small unless the caller checks Known.
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

// Known reports whether there is anything to predict from.
func (p *Predictor) Known(s *scheduler.JobSpec) bool {
	_, input := inputOf(s)
	return s.Work > 0 && p.cfg.From != "input" || input || s.MapTime > 0 || s.ReduceTime > 0 || p.all.jobs > 0
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

// maxNames bounds the names that a predictor distinguishes; jobs of other names only count in the total.
const maxNames = 10_000

// Learn adds a finished job and returns its true size in the unit of the prediction: work that a spec gives is without
// the time that reduces wait for maps (spec/slowdown 6.7).
func (p *Predictor) Learn(l *scheduler.Lesson) float64 {
	size := sizeOf(l, p.cfg.CountWait)
	h := p.byName[l.Name]
	if h == nil {
		h = new(history)
		if len(p.byName) < maxNames {
			p.byName[l.Name] = h
		}
	}
	for _, h := range [...]*history{h, &p.all} {
		h.jobs++
		h.total += size
		if l.Input > 0 {
			h.work += size
			h.bytes += float64(l.Input)
		}
	}
	return sizeOf(l, p.cfg.CountWait && (l.Work == 0 || p.cfg.From == "input"))
}

// sizeOf returns the slot-seconds of a finished job, with or without the time that its reduces waited for maps.
func sizeOf(l *scheduler.Lesson, wait bool) float64 {
	if wait {
		return (l.MapTime + l.ReduceTime).Seconds()
	}
	return (l.MapTime + l.ReduceWork).Seconds()
}

// trueSize is the sum of the run times of the job's tasks (spec/slowdown 2.2).
func (p *Predictor) trueSize(j *scheduler.Job) time.Duration {
	if !p.cfg.CountWait {
		return j.WorkSum(scheduler.Map) + j.WorkSum(scheduler.Reduce)
	}
	_, maps, _ := j.Samples(scheduler.Map)
	_, reduces, _ := j.Samples(scheduler.Reduce)
	return maps + reduces
}
