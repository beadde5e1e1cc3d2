package rpc

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A slow link passes a KiB in a millisecond.
type slow struct{}

func (slow) Route(p Peer, _ int64, _ bool) Traffic { return p.What }
func (slow) Send(_ Peer, n int, _ *Transfer)       { time.Sleep(time.Duration(n) * time.Millisecond >> 10) }
func (slow) Receive(Peer, int)                     {}

// A sink takes all.
type sink struct{ net.Conn }

func (sink) Write(b []byte) (int, error)         { return len(b), nil }
func (sink) ReadFrom(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }

// TestCountsFollowASlowLink: what counts as sent is what has passed by then, or the master would take a link that many share for idle
// and then for overfull.
func TestCountsFollowASlowLink(t *testing.T) {
	const size = 1 << 20
	for what, send := range map[string]func(c *countedConn) error{
		"bytes": func(c *countedConn) error { _, err := c.Write(make([]byte, size)); return err },
		"a file": func(c *countedConn) error {
			_, err := c.ReadFrom(io.LimitReader(bytes.NewReader(make([]byte, size)), size))
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var m Meter
			peer := Peer{"w2", Shuffle}
			c := countConn(sink{}, &m, slow{}, peer)
			done := make(chan error, 1)
			go func() { done <- send(c) }()
			for passed := int64(0); passed < size; passed += 50 << 10 {
				synctest.Wait()
				if sent := m.Read()[peer].Sent; sent > passed || sent < passed-32<<10 {
					t.Fatalf("%s: %d counted when %d had passed", what, sent, passed)
				}
				time.Sleep(50 * time.Millisecond)
			}
			if err := <-done; err != nil || m.Read()[peer].Sent != size {
				t.Errorf("%s: %d sent, %v", what, m.Read()[peer].Sent, err)
			}
		})
	}
}
