package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// patience is how long user code may continue after its attempt was cancelled before it is abandoned.
const patience = 5 * time.Second

// alone runs an attempt in a goroutine of its own, since user code may end it. It abandons the goroutine if user
// code continues for too long after the attempt was cancelled, for example for its silence.
func alone[T any](a *attempt, run func() (T, error)) (T, error) {
	defer a.cancel(nil)
	ended := make(chan result[T], 1)
	go runApart(a, run, ended)
	stop := a.watch()
	defer stop()
	select {
	case r := <-ended:
		return r.value, r.err
	case <-a.ctx.Done():
	}
	cause := context.Cause(a.ctx)
	select {
	case r := <-ended:
		if r.err != nil && errors.Is(cause, ErrSilent) { // not how user code reacted to the cancellation
			r.err = cause
		}
		return r.value, r.err
	case <-time.After(patience):
		var none T
		return none, &leftBehind{fmt.Errorf("%s goes on %s after it was cancelled and is left behind: %w", a.task, patience, cause)}
	}
}

// result is the result of an attempt.
type result[T any] struct {
	value T
	err   error
}

// runApart is the goroutine of an attempt. It sends a result even if user code ends the goroutine.
func runApart[T any](a *attempt, run func() (T, error), ended chan<- result[T]) {
	var r result[T]
	returned := false
	defer func() {
		if !returned {
			r = result[T]{err: a.exited}
		}
		ended <- r
	}()
	r.err = a.guard(func() (err error) {
		r.value, err = run()
		return err
	})
	returned = true
}

// ErrSilent marks an attempt whose user code has shown no sign of life for too long.
var ErrSilent = errors.New("no record read, pair emitted or counter changed")

// leftBehind is an attempt that cannot be ended. It may hold memory and files, so there is no other try.
type leftBehind struct{ error }

func (e *leftBehind) Unwrap() error { return e.error }
func (e *leftBehind) Final() bool   { return true }

// looks is how many times in Env.Silence the watcher checks for a sign of life.
const looks = 8

// watch cancels the attempt when its user code has been silent for too long. It ends when stop is called.
func (a *attempt) watch() (stop func()) {
	if a.env.Silence <= 0 {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(max(1, a.env.Silence/looks))
		defer t.Stop()
		for silent := 0; ; silent++ {
			if a.alive() {
				silent = 0
			}
			if silent > looks {
				a.cancel(fmt.Errorf("%s: %w for %s at %s (raise the task timeout; a job in Go may call Task.Alive, a command of streaming print a line or write reporter:status:... to stderr)", a.task, ErrSilent, a.env.Silence, a.where()))
				return
			}
			select {
			case <-t.C:
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// alive reports whether the attempt has done anything since the last call, or is not in user code.
func (a *attempt) alive() bool {
	counted := a.counters.Snapshot()
	alive := a.task.AskAlive() || a.inUser.Load() == 0 || !maps.EqualFunc(counted, a.counted, maps.Equal[map[string]int64])
	a.counted = counted
	return alive
}

// where returns the input of the attempt. The place inside it belongs to the silent goroutine.
func (a *attempt) where() string {
	if in := a.task.Input(); in != "" {
		return in
	}
	return "its input"
}
