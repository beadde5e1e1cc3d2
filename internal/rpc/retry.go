package rpc

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A Retry says how often and how patiently to retry a call. Only errors of a retryable kind are retried. It must be
// safe to carry out the call twice.
type Retry struct {
	First time.Duration // pause after the first failure; doubles; 0 means 20 ms
	Most  time.Duration // longest pause; 0 means 1 s
	For   time.Duration // give up after this; 0 means 30 s
	// Stubborn also retries a stranger: another process may have the address by then.
	Stubborn bool
}

// Do calls fn until it succeeds, fails for good, or time is up.
func (r Retry) Do(ctx context.Context, fn func() error) error {
	pause, most, limit := r.First, r.Most, r.For
	if pause == 0 {
		pause = 20 * time.Millisecond
	}
	if most == 0 {
		most = time.Second
	}
	if limit == 0 {
		limit = 30 * time.Second
	}
	begin := time.Now()
	for {
		err := fn()
		if err == nil || !wire.KindOf(err).Retryable() || (errors.Is(err, ErrStranger) && !r.Stubborn) || ctx.Err() != nil || time.Since(begin)+pause > limit {
			return err
		}
		t := time.NewTimer(pause/2 + rand.N(pause/2+1))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
		pause = min(pause*2, most)
	}
}
