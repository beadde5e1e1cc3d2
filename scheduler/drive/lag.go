package drive

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// Lag is the rule of Hadoop's first versions (spec/capacity 3.7): when no job has a waiting task of a kind, the attempt
// of each job with the least progress gets a second one, if it has run for a while and is behind the average of its
// kind.
type Lag struct {
	// After is how long an attempt must have run. Hadoop: 60 s.
	After time.Duration
	// Behind is by how much its progress, 0 to 1, must be below the average. Hadoop:
	// 0.2. Smaller: more wasted attempts.
	Behind float64
	// Cap is the part of all slots or containers that second attempts may hold. LATE:
	// 0.1.
	Cap float64
}

// DefaultLag returns the published values.
func DefaultLag() Lag { return Lag{After: time.Minute, Behind: 0.2, Cap: 0.1} }

// Validate refuses values that mean nothing.
func (l Lag) Validate() error {
	if l.After < 0 || l.Behind < 0 || l.Behind > 1 || l.Cap < 0 || l.Cap > 1 {
		return fmt.Errorf("second attempts after %v, behind by %g, cap %g: the wait must not be negative, lag and cap must be 0 to 1", l.After, l.Behind, l.Cap)
	}
	return nil
}

func (l Lag) name(h *Header) { h.Lag = &l }

// Most implements Rule.
func (l Lag) Most(v *scheduler.View, k scheduler.Kind) int {
	return int(l.Cap * float64(v.Total().Slots[k]))
}

// Late implements Rule.
func (l Lag) Late(now time.Duration, v *scheduler.View, done Meter) (out []scheduler.Attempt) {
	for j := range v.Jobs().All() {
		for k := range scheduler.Driver {
			if v.Runnable(k).Len() > 0 || j.Running(k) == 0 {
				continue
			}
			if a, found := l.straggler(now, v, j, k, done); found {
				out = append(out, a)
			}
		}
	}
	return out
}

// straggler returns the attempt of a job with the least progress, if it is behind and
// its task has no other.
func (l Lag) straggler(now time.Duration, v *scheduler.View, j *scheduler.Job, k scheduler.Kind, done Meter) (worst scheduler.Attempt, found bool) {
	sum, count, least := float64(j.Done(k)), float64(j.Done(k)), 2.0
	for a := range v.Attempts(j, k) {
		p, known := done(now, a)
		if !known {
			continue
		}
		sum, count = sum+p, count+1
		if now-a.Start < l.After || v.Tries(j, a.Task) != 1 {
			continue
		}
		if p < least || p == least && a.Task.Index < worst.Task.Index {
			worst, least = a, p
		}
	}
	return worst, least < 2 && least < sum/count-l.Behind
}

var (
	_ Rule = LATE{}
	_ Rule = Lag{}
)
