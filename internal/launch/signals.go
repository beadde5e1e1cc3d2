package launch

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

// An Interrupted is the cause of a program's ended context: a signal.
type Interrupted struct{ Signal os.Signal }

func (*Interrupted) Error() string { return "interrupted" }

// Is makes errors.Is(err, context.Canceled) true.
func (*Interrupted) Is(target error) bool { return target == context.Canceled }

// WithSignals returns a context that ends with the first of the Signals. The second one ends the process at once. A
// quit signal, which asks where the program hangs, also prints all goroutines.
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

// ExitCode returns the exit code of a program that would otherwise exit with code. After a signal it is 128 plus its
// number, as in a shell, unless the program succeeded or a job continues by itself.
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

// Signals returns the signals that end a run cleanly. The end of the terminal is among them, unless nohup ignores
// it.
func Signals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}
