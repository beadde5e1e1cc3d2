package dfs_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/internal/rpc"
)

// A tap is a connection on which, after so many bytes, nothing comes any more.
type tap struct {
	net.Conn
	left   *atomic.Int64 // of all connections together
	closed chan struct{}
	once   sync.Once
}

func (c *tap) Read(p []byte) (int, error) {
	if c.left.Load() < 0 && c.left.CompareAndSwap(c.left.Load(), 1<<60) { // the first to be over; the others go on
		<-c.closed
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p)
	c.left.Add(int64(-n))
	return n, err
}

func (c *tap) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// A replica that stops in the middle is given up after a while, and another one goes on at that byte.
func TestReplicaStallsWhileReading(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 3})
	data := dfstest.Noise(3, 6<<20+5)
	if err := dfstest.Put(c.Client(""), "/f", data, dfs.CreateOptions{BlockSize: 4 << 20}); err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{100 << 10, 3 << 20, 5 << 20} {
		var left atomic.Int64
		left.Store(after)
		rc := rpc.NewClient(rpc.ClientConfig{User: "ann", Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			raw, err := d.DialContext(ctx, "tcp", addr)
			return &tap{Conn: raw, left: &left, closed: make(chan struct{})}, err
		}})
		cl := c.Client("", func(cfg *dfs.Config) { cfg.Client, cfg.Stall = rc, 200*time.Millisecond })
		begin := time.Now()
		dfstest.WantFile(t, cl, "/f", data)
		if took := time.Since(begin); took < 200*time.Millisecond || took > 5*time.Second {
			t.Errorf("a stall after %d bytes cost %s", after, took)
		}
		if left.Load() < 1<<50 {
			t.Errorf("nothing stalled after %d bytes", after)
		}
		if err := rc.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A slowConn brings 64 KiB every 20 ms.
type slowConn struct{ net.Conn }

func (c slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), 64<<10)])
	time.Sleep(time.Duration(n) * 20 * time.Millisecond / (64 << 10))
	return n, err
}

// A large read over a slow link takes longer than a replica may pause; the replica does not pause, and is not given up.
func TestSlowReplicaIsNoStall(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 3})
	data := dfstest.Noise(3, 4<<20)
	if err := dfstest.Put(c.Client(""), "/f", data, dfs.CreateOptions{BlockSize: 4 << 20}); err != nil {
		t.Fatal(err)
	}
	var dials atomic.Int64
	rc := rpc.NewClient(rpc.ClientConfig{User: "ann", Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		dials.Add(1)
		var d net.Dialer
		raw, err := d.DialContext(ctx, "tcp", addr)
		return slowConn{raw}, err
	}})
	defer rc.Close()
	cl := c.Client("", func(cfg *dfs.Config) { cfg.Client, cfg.Stall, cfg.Hedge = rc, 500*time.Millisecond, time.Minute })
	f, err := cl.Open(t.Context(), "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, len(data))
	begin := time.Now()
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, data) {
		t.Errorf("other bytes, or %v", err)
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("the link was not slow: %s", took)
	}
	if n := dials.Load(); n > 2 { // the name service and one replica
		t.Errorf("%d connections", n)
	}
}
