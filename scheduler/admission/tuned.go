package admission

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// A Tuned admits jobs under a MARP that a Controller changes. A batch begins
// with the first job in an empty cluster and ends when none is left; jobs that
// come in between join it.
type Tuned struct {
	*gate
	control   Controller
	iteration time.Duration
	active    bool          // a batch is under way
	gaveUp    bool          // control ended before the batch did (spec/marp 7.12)
	seen      time.Duration // latest time known
	wake      time.Duration // of the next step
}

var (
	_ scheduler.Admission = (*Tuned)(nil)
	_ scheduler.Ticker    = (*Tuned)(nil)
	_ scheduler.Explainer = (*Tuned)(nil)
	_ scheduler.Figurer   = (*Tuned)(nil)
	_ scheduler.Judge     = (*Tuned)(nil)
)

// NewTuned returns an admission policy that starts at cfg.Start and is steered
// by control, which was made with cfg. random draws the reload delays.
func NewTuned(control Controller, cfg Config, limits Limits, random *rand.Rand) (*Tuned, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := limits.validate(); err != nil {
		return nil, err
	}
	return &Tuned{gate: newGate(limits, cfg.Start, random), control: control, iteration: cfg.Iteration}, nil
}

// Controller returns the controller, for experiments that look inside.
func (t *Tuned) Controller() Controller { return t.control }

// Observe implements scheduler.Admission.
func (t *Tuned) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	t.seen = now
	if j := v.Job(e.Job); t.active && j != nil {
		switch {
		case e.Kind == scheduler.EvJobSubmitted:
			t.control.Track(e.Job, true)
		case j.Phase() == scheduler.Ended && !t.books.has(j):
			t.control.Track(e.Job, false) // it never had a slot
		}
	}
	t.books.observe(e, v)
}

// Interval implements scheduler.Ticker: until the next step or the next value
// that begins to count, whichever is sooner.
func (t *Tuned) Interval() time.Duration {
	next := t.wake
	if at, ok := t.delay.next(); ok {
		next = min(next, at)
	}
	return max(next-t.seen, time.Millisecond)
}

// Tick implements scheduler.Ticker.
func (t *Tuned) Tick(now time.Duration, v *scheduler.View) {
	t.seen = now
	t.delay.value(now)
	if now < t.wake {
		return
	}
	t.wake = now + t.limits.scaled(t.iteration)
	idle, sampled := v.CPUIdle()
	switch {
	case pending(v)+running(v) == 0 && !t.active:
		t.gaveUp = false
	case !t.active && !t.gaveUp:
		t.begin(now, v)
	case t.active && sampled:
		t.do(now, t.control.Step(t.look(now, idle, v)))
		t.gaveUp = !t.active && pending(v)+running(v) > 0
	}
}

func (t *Tuned) begin(now time.Duration, v *scheduler.View) {
	batch := make([]jobID, 0, v.Jobs().Len())
	for j := range v.Jobs().All() {
		batch = append(batch, j.ID())
	}
	t.active = true
	t.do(now, t.control.Init(batch, t.delay.last))
}

// do carries out what the controller wants. A Resume continues the iteration,
// so that only the sleep passes.
func (t *Tuned) do(now time.Duration, act Act) {
	if act.Write {
		t.delay.set(now, act.MARP, t.books.jobs)
	}
	if act.Done {
		t.active = false
	}
	rest := act.Sleep
	if !act.Resume {
		rest += t.iteration
	}
	t.wake = now + max(t.limits.scaled(rest), 1)
}

func (t *Tuned) look(now time.Duration, idle float64, v *scheduler.View) Obs {
	return Obs{
		Now: now, IdlePct: int(math.Round(idle)), Pending: pending(v), Running: running(v),
		Prog: func(id jobID) float64 { return t.progress(v.Job(id)) },
	}
}

// pending counts the jobs that wait, except those that no node can hold: no MARP starts them.
func pending(v *scheduler.View) int {
	_, n := ahead(nil, v)
	return n
}

func running(v *scheduler.View) int { return v.Jobs().Len() - v.Waiting().Len() }

// progress returns what the controller sees: 0 before the job is ready, 100 once
// it has ended, else what it reports, in the weights asked for (spec/marp 2.2, 7.9). YARN's
// 5 + 45*map + 45*reduce is 5 + 0.9 times what weighs them half each.
func (t *Tuned) progress(j *scheduler.Job) float64 {
	switch {
	case j == nil || j.Phase() == scheduler.Ended:
		return 100
	case j.Phase() != scheduler.Ready:
		return 0
	}
	switch p := j.Progress(); t.limits.Progress {
	case "yarn":
		return r3(5 + 0.9*p)
	case "half":
		return r3(min(max((p-5)/0.9, 0), 100))
	default:
		return p
	}
}
