package task

import (
	"context"
	"testing"
	"time"

	"github.com/millrace/millrace/mapreduce"
)

// paced is an attempt on a machine of a speed, and what its owner hears.
func paced(t *testing.T, speed float64) (a *attempt, notes *[]int, cancel func()) {
	t.Helper()
	notes = &[]int{}
	env := &Env{Pace: &Pace{Speed: speed, Note: func(change int) { *notes = append(*notes, change) }}}
	a = newAttempt(t.Context(), &Work{Env: env, Job: &mapreduce.Job{}, Plan: &Plan{}})
	return a, notes, func() { a.cancel(nil) }
}

// TestPace: what takes a while takes four times as long at a quarter of the speed, whether it pauses on the way or at its end.
func TestPace(t *testing.T) {
	for _, checkpoints := range []int{0, 4} {
		a, notes, cancel := paced(t, 0.25)
		defer cancel()
		begin := time.Now()
		var worked time.Duration
		err := a.computing(func() error {
			for range 5 {
				from := time.Now()
				time.Sleep(10 * time.Millisecond) // the work
				worked += time.Since(from)
				if checkpoints > 0 {
					a.pause(leastPause)
				}
			}
			return nil
		})
		if took := time.Since(begin); err != nil || took < 4*worked {
			t.Errorf("%d checkpoints: %s of work took %s, %v; want %s at least", checkpoints, worked, took, err, 4*worked)
		}
		if n := *notes; len(n) < 2 || n[0] != 1 || n[len(n)-1] != -1 {
			t.Errorf("it says %v, want that it begins and ends to compute", n)
		}
	}
}

// TestPauseIsCancelled: an attempt that nobody wants does not pause for an hour.
func TestPauseIsCancelled(t *testing.T) {
	a, _, cancel := paced(t, 0.01)
	a.begun = time.Now().Add(-time.Hour)
	cancel()
	done := make(chan struct{})
	go func() { a.pause(0); close(done) }()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("it pauses on")
	}
}
