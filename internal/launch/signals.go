package launch

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

// An Interrupted is why the context of a program ended: somebody sent it a signal.
type Interrupted struct{ Signal os.Signal }

func (*Interrupted) Error() string { return "interrupted" }

// Is makes it a cancelled context to those who ask.
func (*Interrupted) Is(target error) bool { return target == context.Canceled }

// WithSignals is a context that the first of the Signals ends. The second ends the process at once. A quit, of somebody who wants to know
// where the program hangs, also shows what all goroutines are doing.
func WithSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	came := make(chan os.Signal, 1)
	signal.Notify(came, Signals()...)
	go func() {
		select {
		case s := <-came:
			signal.Stop(came)
			if s == syscall.SIGQUIT {
				_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2) // in the form of a panic
			}
			cancel(&Interrupted{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(came); cancel(nil) }
}

// ExitCode is the code of a program that would end with this one: after a signal 128 and its number, as a shell says
// it, unless the program did what it was to do, or a job goes on by itself.
func ExitCode(ctx context.Context, code int) int {
	in, ok := errors.AsType[*Interrupted](context.Cause(ctx))
	if !ok || code == 0 || code == codeGoesOn {
		return code
	}
	if s, ok := in.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return code
}

// Signals end a run, cleanly. The end of the terminal is one of them, unless nohup has said that it is not.
func Signals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}
