// Package tick repeats work.
package tick

import (
	"context"
	"iter"
	"time"
)

// Every yields the time every d until ctx ends, first after d. It skips a tick if its consumer is busy.
func Every(ctx context.Context, d time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-t.C:
				if ctx.Err() != nil || !yield(now) {
					return
				}
			}
		}
	}
}
