// Package rpctest provides servers for tests, which run until the test ends.
package rpctest

import (
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/rpc"
)

// Serve starts a server on loopback, with the routes that handle registers, and returns its address. stop closes it,
// or else the end of the test, which fails if the server does not end well.
func Serve(t testing.TB, handle func(s *rpc.Server)) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, served := rpc.NewServer(rpc.ServerConfig{}), make(chan error, 1)
	handle(s)
	go func() { served <- s.Serve(l) }()
	stop = sync.OnceFunc(func() {
		if err := errors.Join(s.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}
