//go:build unix

package launch

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestSignals: the first signal ends the context, and a program that had not done its work ends with 128 and its number.
func TestSignals(t *testing.T) {
	ctx, stop := WithSignals(t.Context())
	defer stop()
	if got := ExitCode(ctx, 1); got != 1 {
		t.Errorf("without a signal: %d", got)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	for code, want := range map[int]int{0: 0, 1: 128 + int(syscall.SIGTERM), 2: 128 + int(syscall.SIGTERM), 3: 3} {
		if got := ExitCode(ctx, code); got != want {
			t.Errorf("%d becomes %d, want %d", code, got, want)
		}
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) || err.Error() != "interrupted" {
		t.Errorf("%v", err)
	}
}
