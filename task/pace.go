package task

import "time"

// A Pace makes attempts as slow as on a slower machine: whatever they do, an attempt that has computed for a second pauses
// until 1/Speed seconds have passed. Waiting for map output of others is no computing.
type Pace struct {
	// Speed is what the machine's speed is of this one's, above 0 and up to 1.
	Speed float64
	// Note hears that an attempt begins (1) or ends (-1) to compute, and, about every second of a long pause, that it
	// goes on (0): nobody should take it for dead. Attempts call it at once.
	Note func(change int)
}

// leastPause is what must have come together before an attempt pauses: shorter sleeps are not kept well.
const leastPause = 10 * time.Millisecond

// computing runs the part of an attempt that computes, at its pace.
func (a *attempt) computing(run func() error) error {
	p := a.env.Pace
	if p == nil {
		return run()
	}
	p.Note(1)
	defer p.Note(-1)
	a.begun = time.Now()
	if err := run(); err != nil {
		return err
	}
	a.pause(0) // if it is cancelled now, it has still ended well
	return nil
}

// pause waits until the attempt is no further than a slower machine would be; not for less than least.
func (a *attempt) pause(least time.Duration) {
	p := a.env.Pace
	if p == nil || a.begun.IsZero() {
		return
	}
	passed := time.Since(a.begun)
	owed := time.Duration(float64(passed-a.paused)/p.Speed) - passed
	if owed <= least {
		return
	}
	for end := time.Now().Add(owed); ; p.Note(0) {
		a.task.Alive()
		select {
		case <-time.After(min(time.Until(end), time.Second)):
		case <-a.ctx.Done():
			return
		}
		if !time.Now().Before(end) {
			break
		}
	}
	a.paused += time.Since(a.begun) - passed
}
