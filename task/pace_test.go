package task

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
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

// TestPace: what takes a while takes four times as long at a quarter of the speed, to the moment, whether it pauses on the way or at its end; short pauses are
// put together, and an attempt in a long one says every second that it goes on.
func TestPace(t *testing.T) {
	for _, x := range []struct {
		speed   float64
		works   []time.Duration
		pauses  bool
		pausing time.Duration // after the first work
		notes   []int
	}{
		{0.25, []time.Duration{10 * time.Millisecond, 10 * time.Millisecond}, false, 0, []int{1, -1}},
		{0.25, []time.Duration{10 * time.Millisecond, 10 * time.Millisecond}, true, 30 * time.Millisecond, []int{1, -1}},
		{0.5, []time.Duration{10 * time.Millisecond, time.Nanosecond}, true, 0, []int{1, -1}},
		{0.5, []time.Duration{11 * time.Millisecond, time.Millisecond}, true, 11 * time.Millisecond, []int{1, -1}},
		{0.01, []time.Duration{30 * time.Millisecond}, true, 2970 * time.Millisecond, []int{1, 0, 0, -1}},
		{1, []time.Duration{time.Second}, true, 0, []int{1, -1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, notes, cancel := paced(t, x.speed)
			defer cancel()
			begin := time.Now()
			var worked, paused time.Duration
			err := a.computing(func() error {
				for i, w := range x.works {
					time.Sleep(w)
					worked += w
					if from := time.Now(); x.pauses {
						a.pause(leastPause)
						if i == 0 {
							paused = time.Since(from)
						}
					}
				}
				return nil
			})
			want := time.Duration(float64(worked) / x.speed)
			if took := time.Since(begin); err != nil || took != want || paused != x.pausing || !slices.Equal(*notes, x.notes) {
				t.Errorf("%+v: it took %s, want %s, %v; it paused for %s, and says %v", x, took, want, err, paused, *notes)
			}
		})
	}
	a, notes, cancel := paced(t, 0.01)
	defer cancel()
	if err := a.computing(func() error { return errDisk }); !errors.Is(err, errDisk) || !slices.Equal(*notes, []int{1, -1}) {
		t.Errorf("%v, and it says %v", err, *notes)
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
