package worker

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/membership"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/rpc/rpctest"
	"github.com/millrace/millrace/internal/wire"
)

// TestSeedsAreKept: a worker goes on looking for members where the master gossiped last, while that says nothing of it and while it is gone.
func TestSeedsAreKept(t *testing.T) {
	said := make(chan string, 1)
	master, stop := rpctest.Serve(t, func(s *rpc.Server) {
		rpc.HandleQuick(s, api.ClusterGossip, func(rpc.Caller, struct{}) (wire.Gossip, error) { return wire.Gossip{Addr: <-said}, nil })
	})
	w := &Worker{cfg: Config{Master: master}}
	w.ctx, w.client = t.Context(), rpc.NewClient(rpc.ClientConfig{Node: "w1"})
	defer w.client.Close()
	s := &seeds{w: w}
	for _, x := range []struct{ say, want string }{{"10.0.0.1:5", "10.0.0.1:5"}, {"", "10.0.0.1:5"}, {"10.0.0.2:5", "10.0.0.2:5"}} {
		said <- x.say
		if got := s.list(); !slices.Equal(got, []string{x.want}) {
			t.Errorf("the master says %q: %q", x.say, got)
		}
	}
	stop()
	if got := s.list(); !slices.Equal(got, []string{"10.0.0.2:5"}) {
		t.Errorf("the master is gone: %q", got)
	}
}

// TestWorkersGossip: a worker joins the gossip of which the master tells, under its name and with its rack.
func TestWorkersGossip(t *testing.T) {
	joined := make(chan membership.Member, 4)
	m, err := membership.Start(membership.Config{
		Member: membership.Member{Name: "master", Role: "master"}, Bind: "127.0.0.1:0", Label: "test",
		Events: func(e membership.Event) {
			if e.Kind == membership.Joined && e.Member.Name != "master" {
				joined <- e.Member
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	master, _ := rpctest.Serve(t, func(s *rpc.Server) {
		rpc.HandleQuick(s, api.ClusterGossip, func(rpc.Caller, struct{}) (wire.Gossip, error) {
			return wire.Gossip{Addr: m.Addr(), Label: "test"}, nil
		})
	})
	w := &Worker{cfg: Config{Node: "w1", Rack: "r7", Master: master, Gossip: "127.0.0.1:0", Pause: time.Millisecond, Log: slog.New(slog.DiscardHandler)}}
	ctx, cancel := context.WithCancel(t.Context())
	w.ctx, w.client, w.addr = ctx, rpc.NewClient(rpc.ClientConfig{Node: "w1"}), "127.0.0.1:77"
	defer w.client.Close()
	ended := make(chan struct{})
	go func() { w.gossip("s1"); close(ended) }()
	select {
	case got := <-joined:
		got.Gossip = ""
		if want := (membership.Member{Name: "w1", Role: "worker", Rack: "r7", Addr: "127.0.0.1:77", Session: "s1"}); got != want {
			t.Errorf("joined as %+v, want %+v", got, want)
		}
	case <-ended:
		t.Error("the worker has left before it joined")
	case <-time.After(20 * time.Second):
		t.Error("the worker has not joined")
	}
	cancel()
	<-ended
}
