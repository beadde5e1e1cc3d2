package rpc

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestCloseWhileConnecting: a client that is closed while a peer has accepted and says nothing does not wait for it, and
// neither do those who called.
func TestCloseWhileConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		c := NewClient(ClientConfig{Dial: func(context.Context, string) (net.Conn, error) { return here, nil }})
		called := make(chan error, 1)
		go func() {
			_, err := Call[ask, told](t.Context(), c, "10.0.0.1:7", "echo", ask{})
			called <- err
		}()
		synctest.Wait()
		begin := time.Now()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-called; !errors.Is(err, ErrClosed) {
			t.Errorf("who called hears %v", err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("closing took %s", took)
		}
		if _, err := Call[ask, told](t.Context(), c, "10.0.0.1:7", "echo", ask{}); !errors.Is(err, ErrClosed) {
			t.Errorf("a call afterwards: %v", err)
		}
	})
}
