package local

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/task"
)

// finalError means that another attempt cannot help.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// final reports whether another attempt cannot help.
func final(err error) bool {
	_, ok := errors.AsType[finalError](err)
	return ok || task.Final(err)
}

// each runs n tasks on the workers, retrying failed ones, and returns the first error that ends the job. It returns
// only when all attempts have ended.
func (s *stage) each(ctx context.Context, n int, attempt func(ctx context.Context, index, attempt int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(s.r.cfg.Workers, n) {
		wg.Go(func() {
			for index := range next {
				if err := s.attempts(ctx, index, attempt); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// attempts tries one task until it succeeds or has used up its tries.
func (s *stage) attempts(ctx context.Context, index int, attempt func(ctx context.Context, index, attempt int) error) error {
	most := s.job.Attempts()
	for i := range most {
		s.r.countAttempt()
		err := attempt(ctx, index, i)
		switch {
		case err == nil:
			s.r.gauge.done.Add(1)
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case final(err) || i == most-1:
			return failed(err, i+1)
		}
		s.r.countRetry()
	}
	return nil
}

// failed adds to an error how often the task was tried and what may help. It keeps user code's stack.
func failed(err error, tries int) error {
	if errors.Is(err, shuffle.ErrRecordTooLarge) {
		err = fmt.Errorf("%w (raise MaxRecordBytes, on the command line --max-record-bytes, or the memory)", err)
	}
	if tries > 1 {
		err = fmt.Errorf("failed %d times; the last: %w", tries, err)
	}
	if a, ok := errors.AsType[*task.AttemptError](err); ok && a.Stack != "" {
		return fmt.Errorf("%w\n%s", err, a.Stack)
	}
	return err
}

func (r *Runner) countAttempt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Attempts++
}

func (r *Runner) countRetry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Retries++
	r.gauge.retries.Add(1)
}
