// Package tick repeats work.
package tick

import (
	"context"
	"iter"
	"time"
)

// Every yields the time once every d, until ctx ends. The first comes after d; one that finds its consumer busy is left out.
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
