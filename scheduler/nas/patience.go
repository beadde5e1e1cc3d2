package nas

import (
	"errors"
	"time"
)

// Patience says how long a sharer may be skipped before it takes what comes.
type Patience struct {
	// ByTime counts time since the first skip (Wait) instead of skips (Skips).
	// Published: skips in simulations, time on the real cluster (spec/nas 4.3).
	ByTime bool
	// Skips is D^m or D^r. Larger: better choices, later starts. Published 135;
	// 0 never waits.
	Skips int
	// Wait is the same in time. Published 5 s.
	Wait time.Duration
}

// DefaultPatience returns the published values, counted in skips.
func DefaultPatience() Patience { return Patience{Skips: 135, Wait: 5 * time.Second} }

func (p *Patience) validate() error {
	if p.Skips < 0 || p.Wait < 0 {
		return errors.New("skips and wait must not be negative")
	}
	return nil
}

// waited is how long one sharer has been skipped.
type waited struct {
	skips int
	since time.Duration // of the first skip; meaningful if skips > 0
}

// over reports whether the sharer need not wait any longer. At least, not
// exactly, the limit: reports may come together (spec/nas 6.7).
func (p *Patience) over(now time.Duration, w waited) bool {
	if p.ByTime {
		return p.Wait == 0 || w.skips > 0 && now-w.since >= p.Wait
	}
	return w.skips >= p.Skips
}

// skip counts an offer that was passed up; fresh is false if the node was offered
// since its last heartbeat already.
func (w *waited) skip(now time.Duration, fresh bool) {
	if w.skips == 0 {
		w.since = now
	}
	if fresh || w.skips == 0 {
		w.skips++
	}
}

// progress returns how much of its patience a sharer has used, and the unit in
// which both are given.
func (p *Patience) progress(now time.Duration, w waited) (used, all int64, byTime bool) {
	if p.ByTime {
		return int64(now - w.since), int64(p.Wait), true
	}
	return int64(w.skips), int64(p.Skips), false
}

// waits is a table of waited by slot of the sharer.
type waits []waited

func (t *waits) at(slot int) *waited {
	for len(*t) <= slot {
		*t = append(*t, waited{})
	}
	return &(*t)[slot]
}
