package client

import (
	"context"
	"testing"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestStopping: what a master that stops gives up is a call that nobody answers; what the caller gives up stays that.
func TestStopping(t *testing.T) {
	given := wire.Errorf(wire.Canceled, "given up")
	if err := stopping(t.Context(), given); wire.KindOf(err) != wire.Unavailable {
		t.Errorf("the master gave up: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx context.Context
		err error
	}{{gone, given}, {t.Context(), rpc.ErrClosed}, {t.Context(), nil}, {t.Context(), wire.Errorf(wire.Denied, "no")}} {
		if got := stopping(c.ctx, c.err); got != c.err { //nolint:errorlint // the same, with nothing around it
			t.Errorf("%v became %v", c.err, got)
		}
	}
}
