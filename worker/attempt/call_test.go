package attempt

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestCallOnAClosedClient: a worker that stops closes its client. A driver that then wants to ask the master what to clean
// up must not try again and again: it held the worker up for five seconds.
func TestCallOnAClosedClient(t *testing.T) {
	c := rpc.NewClient(rpc.ClientConfig{Dial: func(context.Context, string) (net.Conn, error) { return nil, errors.New("nobody") }})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	r := &runner{Setting: Setting{Client: c, Master: "10.0.0.1:1"}, l: &wire.Launch{ID: wire.AttemptID{Job: "job-1", Kind: wire.DriverTask}}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := call(ctx, r, api.DriverStep, wire.DriverRequest{ID: r.l.ID})
	if !errors.Is(err, rpc.ErrClosed) || ctx.Err() != nil {
		t.Errorf("%v; %v", err, ctx.Err())
	}
}
