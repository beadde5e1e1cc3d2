package sizebased

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// SRPTConfig says what the oracle orders by.
type SRPTConfig struct {
	// Product orders by size times remaining work (SPTP, optimal mean slowdown
	// in M/G/1) instead of remaining work (SRPT). Default false (spec/slowdown
	// 3.7).
	Product bool
	// Predict says how sizes are known; Noise 0 is the oracle, and the default
	// here.
	Predict PredictConfig
	// Reduces says when reduces may start.
	Reduces scheduler.ReduceRule
}

// DefaultSRPTConfig returns SRPT with known sizes.
func DefaultSRPTConfig() SRPTConfig {
	c := SRPTConfig{Predict: DefaultPredictConfig(), Reduces: scheduler.DefaultReduceRule()}
	c.Predict.Noise = 0
	return c
}

func (c *SRPTConfig) params() []scheduler.Param {
	predict := c.Predict.params()
	predict[1].Source = "spec/slowdown 3.7: an oracle" // the noise
	out := []scheduler.Param{
		scheduler.Either(&c.Product, [2]string{"remaining", "product"}, "by", "spec/slowdown 3.7", "order by remaining work (SRPT) or by size times remaining work (SPTP)"),
	}
	return append(append(out, predict...), c.Reduces.Params()...)
}

// An SRPT serves the job with the least work left. What is left is the size less
// the run times of finished tasks: it changes when a task ends, not while one
// runs.
type SRPT struct {
	cfg       SRPTConfig
	predictor *Predictor
	size      []float64 // by job slot
	lines     [kinds]*scheduler.Order[*job, scheduler.FloatKey]
}

var (
	_ scheduler.Policy    = (*SRPT)(nil)
	_ scheduler.Explainer = (*SRPT)(nil)
)

// NewSRPT returns the oracle.
func NewSRPT(cfg SRPTConfig) (*SRPT, error) {
	p, err := NewPredictor(cfg.Predict)
	if err != nil {
		return nil, fmt.Errorf("predictor: %w", err)
	}
	s := &SRPT{cfg: cfg, predictor: p}
	for k := range s.lines {
		s.lines[k] = scheduler.NewOrder[*job](scheduler.CompareFloatKeys)
	}
	return s, nil
}

// Observe implements scheduler.Policy.
func (s *SRPT) Observe(_ time.Duration, e scheduler.Event, v *scheduler.View) {
	if e.Kind == scheduler.EvTaught {
		s.predictor.Learn(e.Lesson)
	}
	j := v.Job(e.Job)
	if j == nil {
		return
	}
	switch e.Kind {
	case scheduler.EvJobSubmitted, scheduler.EvJobReady:
		for len(s.size) <= j.Slot() {
			s.size = append(s.size, 0)
		}
		s.size[j.Slot()] = s.predictor.Size(j.Spec())
	case scheduler.EvJobFinished:
		s.predictor.Learn(j.Lesson())
	}
	for k, l := range s.lines {
		if s.cfg.Reduces.Eligible(j, scheduler.Kind(k)) {
			l.Set(j, scheduler.FloatKey{First: s.key(j)})
		} else {
			l.Remove(j)
		}
	}
}

// Remaining returns the slot-seconds that j still needs.
func (s *SRPT) Remaining(j *scheduler.Job) float64 {
	return max(0, s.size[j.Slot()]-s.predictor.trueSize(j).Seconds())
}

func (s *SRPT) key(j *job) float64 {
	if s.cfg.Product {
		return s.size[j.Slot()] * s.Remaining(j)
	}
	return s.Remaining(j)
}

// Assign implements scheduler.Policy.
func (s *SRPT) Assign(_ time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	why := scheduler.Reason{Code: scheduler.NoWork, Say: "no job has work for {node}", Node: n}
	kinds, ripe := scheduler.RipeFirst(v.KindOrder(n, s.cfg.Reduces.Share))
	for _, k := range kinds {
		l := s.lines[k]
		if l.Len() == 0 {
			continue
		}
		why = scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for a {kind} of {job}", Node: n, Kind: k, Job: l.At(0).ID()}
		if !v.HasRoom(n, k) {
			continue
		}
		for i := range l.Len() {
			j := l.At(i)
			if !v.Fits(n, j, k) || ripe && j.Waits(k) {
				continue
			}
			if t, near, ok := v.PickTask(j, n, k); ok {
				return scheduler.Run(t, near, s.chosen(j))
			}
		}
	}
	return scheduler.Idle(why)
}

func (s *SRPT) chosen(j *job) scheduler.Reason {
	return scheduler.Reason{Say: "{job} has the least work left: {a:time}", Job: j.ID(), A: int64(s.Remaining(j) * 1e9)}
}

// Explain implements scheduler.Explainer.
func (s *SRPT) Explain(_ time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	j := v.Job(id)
	for k, l := range s.lines {
		if j == nil || !l.Has(j) {
			continue
		}
		ahead := 0
		for l.At(ahead) != j {
			ahead++
		}
		return scheduler.Reason{
			Code: scheduler.Behind, Say: "{job} has {b:time} of work left; {a} jobs with {kind}s to run have less", Job: id, Kind: scheduler.Kind(k),
			A: int64(ahead), B: int64(s.Remaining(j) * 1e9),
		}
	}
	if j == nil {
		return scheduler.Reason{Code: scheduler.NoWork, Say: "{job} is not an unfinished job", Job: id}
	}
	return s.cfg.Reduces.Why(j)
}
