package pipe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/memnet"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// A line is some replicas, each on a host of a network in memory, in virtual time, and a writer.
type line struct {
	t        *testing.T
	net      *memnet.Network
	client   *rpc.Client
	replicas []*memReplica
	hops     []Hop
	ended    []chan error // what Receive said at each
}

func clientAt(n *memnet.Network, ip string) *rpc.Client {
	return rpc.NewClient(rpc.ClientConfig{User: "ann", Dial: func(ctx context.Context, addr string) (net.Conn, error) { return n.Host(ip).Dial(ctx, addr) }})
}

// inLine runs a test with n replicas.
func inLine(t *testing.T, n int, test func(t *testing.T, l *line)) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{t: t, net: memnet.New(1)}
		l.client = clientAt(l.net, "10.0.0.100")
		var stop []func()
		for i := range n {
			stop = append(stop, l.add(fmt.Sprint("10.0.0.", i+1)))
		}
		test(t, l)
		l.client.Close()
		for _, f := range stop {
			f()
		}
		time.Sleep(2 * time.Minute) // of what net/http and the door of a server wait for, in virtual time
	})
}

// add starts a replica and returns what stops it.
func (l *line) add(ip string) (stop func()) {
	listener, err := l.net.Host(ip).Listen(ip + ":7")
	if err != nil {
		l.t.Fatal(err)
	}
	m, ended, c, srv := &memReplica{}, make(chan error, 1), clientAt(l.net, ip), rpc.NewServer(rpc.ServerConfig{})
	rpc.HandleStream(srv, StreamName, rpc.Files, func(ctx context.Context, _ rpc.Caller, a WriteArgs, st *rpc.Stream) {
		ended <- Receive(st, a.Start, m, Timing{}, func(notify func()) (*Sender, error) {
			if len(a.Next) == 0 {
				return nil, nil
			}
			return Open(ctx, c, a.Next[0].Place, a.Behind(), Timing{}, notify)
		})
	})
	l.replicas, l.ended = append(l.replicas, m), append(l.ended, ended)
	l.hops = append(l.hops, Hop{Place: wire.Place{Node: wire.NodeName(ip), Addr: ip + ":7"}})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	return func() {
		c.Close()
		if err := errors.Join(srv.Close(), <-served); err != nil {
			l.t.Error(err)
		}
	}
}

// inRogue runs a test with a server that does in a transfer what it likes, and then keeps the connection until the test is over.
func inRogue(t *testing.T, act func(st *rpc.Stream), test func(t *testing.T, c *rpc.Client, at wire.Place), more ...func(srv *rpc.Server)) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		listener, err := n.Host("10.0.0.1").Listen("10.0.0.1:7")
		if err != nil {
			t.Fatal(err)
		}
		over, served, c, srv := make(chan struct{}), make(chan error, 1), clientAt(n, "10.0.0.100"), rpc.NewServer(rpc.ServerConfig{})
		rpc.HandleStream(srv, StreamName, rpc.Files, func(_ context.Context, _ rpc.Caller, _ WriteArgs, st *rpc.Stream) { act(st); <-over })
		for _, add := range more {
			add(srv)
		}
		go func() { served <- srv.Serve(listener) }()
		test(t, c, wire.Place{Node: "rogue", Addr: "10.0.0.1:7"})
		close(over)
		c.Close()
		if err := errors.Join(srv.Close(), <-served); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
	})
}

func (l *line) open(a WriteArgs) (*Sender, error) {
	a.Next = l.hops[1:]
	return Open(l.t.Context(), l.client, l.hops[0].Place, a, Timing{}, nil)
}

func (l *line) mustOpen(a WriteArgs) *Sender {
	l.t.Helper()
	s, err := l.open(a)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// finished is which replicas have the whole block, as they say.
func (l *line) finished() (out []bool) {
	for _, m := range l.replicas {
		m.mu.Lock()
		out = append(out, m.finished)
		m.mu.Unlock()
	}
	return out
}

// written sends data, ends the block, and waits for all.
func written(s *Sender, data []byte) error {
	if err := sendAll(s, data); err != nil {
		return err
	}
	return s.Wait(int64(len(data)), true)
}

// brokenAt asks an error who broke, and how.
func brokenAt(t *testing.T, err error, at int, kind wire.Kind) {
	t.Helper()
	if b, ok := errors.AsType[*Broken](err); !ok || b.At != at || b.Kind != kind || !errors.Is(err, kind) {
		t.Errorf("%v; want replica %d, %v", err, at+1, kind)
	}
}
