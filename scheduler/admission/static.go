package admission

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// A Static admits jobs under a MARP that only an operator changes, by a
// ConfigChanged event "marp=0.25", which takes effect after the reload delay.
type Static struct {
	*gate
	seen time.Duration
}

var (
	_ scheduler.Admission = (*Static)(nil)
	_ scheduler.Ticker    = (*Static)(nil)
	_ scheduler.Explainer = (*Static)(nil)
	_ scheduler.Figurer   = (*Static)(nil)
	_ scheduler.Judge     = (*Static)(nil)
)

// NewStatic returns a static admission policy. random draws the reload delays.
func NewStatic(marp float64, limits Limits, random *rand.Rand) (*Static, error) {
	if !(marp >= 0 && marp <= 1) {
		return nil, fmt.Errorf("MARP %g must be in 0..1", marp)
	}
	if err := limits.validate(); err != nil {
		return nil, err
	}
	return &Static{gate: newGate(limits, marp, random)}, nil
}

// Observe implements scheduler.Admission.
func (s *Static) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	s.seen = now
	s.books.observe(e, v)
	if e.Kind == scheduler.EvConfig {
		if marp, ok := marpOf(e.Text); ok {
			s.delay.set(now, marp, s.books.jobs)
		}
	}
}

// marpOf parses "marp=0.25". It returns false for other settings and impossible values.
func marpOf(text string) (float64, bool) {
	name, value, _ := strings.Cut(text, "=")
	marp, err := strconv.ParseFloat(value, 64)
	return marp, name == "marp" && err == nil && marp >= 0 && marp <= 1
}

// Interval implements scheduler.Ticker: until the value on its way counts.
func (s *Static) Interval() time.Duration {
	if at, ok := s.delay.next(); ok {
		return max(at-s.seen, time.Millisecond)
	}
	return 0
}

// Tick implements scheduler.Ticker. The driver calls Admit next, which uses the
// new value.
func (s *Static) Tick(now time.Duration, _ *scheduler.View) {
	s.seen = now
	s.delay.value(now)
}

// Explain implements scheduler.Explainer for a waiting job that some node can hold.
func (g *gate) Explain(now time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	j := v.Job(id)
	if first, before := ahead(j, v); before > 0 && !g.limits.Overtake {
		_, why := g.judge(now, first, v)
		return scheduler.Reason{
			Code: why.Code, Say: "{job} waits for admission: {a:jobs are} before it, the first is {other}",
			Job: id, Other: first.ID(), A: int64(before),
		}
	}
	ok, why := g.judge(now, j, v)
	if ok {
		return scheduler.Reason{Code: scheduler.ForAdmission, Say: "{job} is next to be admitted", Job: id}
	}
	return why
}

// ahead counts the jobs before j that some node can hold, and returns the first.
func ahead(j *scheduler.Job, v *scheduler.View) (first *scheduler.Job, before int) {
	for o := range v.Waiting().All() {
		if o == j {
			break
		}
		if _, never := v.TooLarge(o); !never {
			if before++; before == 1 {
				first = o
			}
		}
	}
	return first, before
}
