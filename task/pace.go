package task

import "time"

// A Pace makes attempts as slow as on a slower machine: an attempt that has computed for a second pauses until
// 1/Speed seconds have passed. Waiting for map output of others does not count as computing.
type Pace struct {
	// Speed is the emulated machine's speed relative to this one's, above 0 and up to 1.
	Speed float64
	// Note is called when an attempt starts (1) or stops (-1) computing, and about every second of a long pause (0),
	// so that nobody takes the attempt for dead. Attempts may call it concurrently.
	Note func(change int)
}

// leastPause is how much pause must accumulate before an attempt sleeps, since shorter sleeps are inaccurate.
const leastPause = 10 * time.Millisecond

// computing runs the computing part of an attempt at its pace.
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
	a.pause(0) // if it is cancelled now, it has still succeeded
	return nil
}

// pause waits until the attempt is no further than on a slower machine. It skips pauses of at most least.
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
