package worker

import (
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestSeedsAreKept: a worker goes on looking for members where the master gossiped last, while that says nothing of it and while it is gone.
func TestSeedsAreKept(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	srv := rpc.NewServer(rpc.ServerConfig{})
	rpc.HandleQuick(srv, api.ClusterGossip, func(rpc.Caller, struct{}) (wire.Gossip, error) { return wire.Gossip{Addr: <-said}, nil })
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	w := &Worker{cfg: Config{Master: l.Addr().String()}}
	w.ctx, w.client = t.Context(), rpc.NewClient(rpc.ClientConfig{Node: "w1"})
	defer w.client.Close()
	s := &seeds{w: w}
	for _, x := range []struct{ say, want string }{{"10.0.0.1:5", "10.0.0.1:5"}, {"", "10.0.0.1:5"}, {"10.0.0.2:5", "10.0.0.2:5"}} {
		said <- x.say
		if got := s.list(); !slices.Equal(got, []string{x.want}) {
			t.Errorf("the master says %q: %q", x.say, got)
		}
	}
	if err := errors.Join(srv.Close(), <-served); err != nil {
		t.Fatal(err)
	}
	if got := s.list(); !slices.Equal(got, []string{"10.0.0.2:5"}) {
		t.Errorf("the master is gone: %q", got)
	}
}
