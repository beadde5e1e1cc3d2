package rpc

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/memnet"
	"github.com/millrace/millrace/internal/wire"
)

// A well swallows what is written once it is open: a cut as the first moments after its healing look
// through a connection from before.
type well struct {
	net.Conn
	open *atomic.Bool
}

func (w well) Write(b []byte) (int, error) {
	if w.open.Load() {
		return len(b), nil
	}
	return w.Conn.Write(b)
}

// TestMuteConnectionIsGivenUp: after a call that ran out of time on a connection that said nothing, the next one
// goes by a new connection. One that was only short of time does not break the connection of others.
func TestMuteConnectionIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		l, err := n.Host("10.0.0.1").Listen("10.0.0.1:7")
		if err != nil {
			t.Fatal(err)
		}
		s := NewServer(ServerConfig{})
		echo(s)
		done := make(chan error, 1)
		go func() { done <- s.Serve(l) }()
		var dials atomic.Int32
		last := new(atomic.Bool)
		c := NewClient(ClientConfig{User: "ann", Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			dials.Add(1)
			last = new(atomic.Bool)
			conn, err := n.Host("10.0.0.2").Dial(ctx, addr)
			return well{conn, last}, err
		}})
		call := func(limit time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, err := Call[ask, told](ctx, c, "10.0.0.1:7", "echo", ask{Text: "x"})
			return err
		}
		if err := call(time.Second); err != nil {
			t.Fatal(err)
		}
		last.Store(true)
		if err := call(time.Second); wire.KindOf(err) != wire.Unavailable || dials.Load() != 1 {
			t.Errorf("%v by %d connections", err, dials.Load())
		}
		if err := call(5 * time.Second); wire.KindOf(err) != wire.Unavailable {
			t.Errorf("through a well: %v", err)
		}
		if err := call(time.Second); err != nil || dials.Load() != 2 {
			t.Errorf("afterwards: %v by %d connections", err, dials.Load())
		}
		c.Close()
		s.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	})
}
