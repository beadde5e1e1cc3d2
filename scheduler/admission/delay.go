package admission

import (
	"math/rand/v2"
	"time"
)

// A write is a MARP on its way to the admission test.
type write struct {
	at   time.Duration // when it counts
	marp float64
}

// delayFactor is the path of a MARP from being written to being used (spec/marp 2.4).
type delayFactor struct {
	limits *Limits
	random *rand.Rand
	now    float64 // the value in use
	last   float64 // the value last written
	queue  []write // ascending by time
}

// set writes a value. Increases while jobs run take longer; writes count in
// the order they were made.
func (d *delayFactor) set(now time.Duration, marp float64, running int) {
	wait := d.draw(d.limits.ReloadMin, d.limits.ReloadMax)
	if marp > d.last && running > 0 {
		wait += d.draw(d.limits.ActivationMin, d.limits.ActivationMax)
	}
	at := now + d.limits.scaled(wait)
	if n := len(d.queue); n > 0 {
		at = max(at, d.queue[n-1].at)
	}
	d.queue = append(d.queue, write{at, marp})
	d.last = marp
}

func (d *delayFactor) draw(from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + time.Duration(d.random.Int64N(int64(to-from)+1))
}

// value returns the MARP in use at now.
func (d *delayFactor) value(now time.Duration) float64 {
	for len(d.queue) > 0 && d.queue[0].at <= now {
		d.now = d.queue[0].marp
		d.queue = d.queue[1:]
	}
	return d.now
}

// next returns when the next written value counts.
func (d *delayFactor) next() (at time.Duration, ok bool) {
	if len(d.queue) == 0 {
		return 0, false
	}
	return d.queue[0].at, true
}
