package memnet

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestPlaces: a host listens at its own addresses only, at each once for streams and once for packets; port 0 is a free one, and what
// was closed is free again.
func TestPlaces(t *testing.T) {
	n := New(1)
	h := n.Host("10.0.0.1")
	for name, listen := range map[string]func(addr string) (interface{ Close() error }, string, error){
		"stream": func(addr string) (interface{ Close() error }, string, error) {
			l, err := h.Listen(addr)
			if err != nil {
				return nil, "", err
			}
			return l, l.Addr().Network() + " " + l.Addr().String(), nil
		},
		"packet": func(addr string) (interface{ Close() error }, string, error) {
			c, err := h.ListenPacket(addr)
			if err != nil {
				return nil, "", err
			}
			return c, c.LocalAddr().Network() + " " + c.LocalAddr().String(), nil
		},
	} {
		first, at, err := listen("0.0.0.0:80")
		if err != nil || !strings.HasSuffix(at, " 10.0.0.1:80") {
			t.Fatalf("%s: at %s, %v", name, at, err)
		}
		for addr, want := range map[string]string{"10.0.0.1:80": "10.0.0.1:80: address already in use", "10.0.0.2:81": "host 10.0.0.1 cannot listen on 10.0.0.2:81", "nowhere": "memnet"} {
			if _, _, err := listen(addr); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s at %s: %v, want %q", name, addr, err, want)
			}
		}
		a, one, err := listen("10.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		b, other, err := listen("10.0.0.1:0")
		if err != nil || one == other || strings.HasSuffix(one, ":0") {
			t.Errorf("%s: free ones are %s and %s, %v", name, one, other, err)
		}
		for _, c := range []interface{ Close() error }{a, b, first} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := c.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s closed twice: %v", name, err)
			}
		}
		again, _, err := listen("10.0.0.1:80")
		if err != nil {
			t.Fatalf("%s after it was closed: %v", name, err)
		}
		again.Close()
	}
	if _, err := h.Dial(t.Context(), "nowhere"); err == nil {
		t.Error("nowhere was reached")
	}
}

// TestClosedEnds: whoever uses what was closed, or waits on it while it is, hears so; what is sent to an end that has closed goes nowhere,
// and once that is known it is refused.
func TestClosedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := ends(t, n)
		if a.LocalAddr().String() != b.RemoteAddr().String() || a.RemoteAddr().String() != b.LocalAddr().String() || a.LocalAddr().Network() != "tcp" {
			t.Errorf("from %s to %s, and from %s to %s", a.LocalAddr(), a.RemoteAddr(), b.LocalAddr(), b.RemoteAddr())
		}
		waits := make(chan error, 1)
		go func() {
			_, err := a.Read(make([]byte, 1))
			waits <- err
		}()
		synctest.Wait()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := <-waits; !errors.Is(err, net.ErrClosed) {
			t.Errorf("who reads meanwhile: %v", err)
		}
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read: %v", err)
		}
		if k, err := a.Write([]byte("x")); k != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("write: %d, %v", k, err)
		}
		if err := a.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed twice: %v", err)
		}
		b.Close()

		n.Shape(func(_, _ string) Link { return Link{Latency: time.Second} })
		a, b = ends(t, n)
		a.Close()
		if k, err := b.Write([]byte("abc")); k != 3 || err != nil {
			t.Errorf("before the end is known: %d, %v", k, err)
		}
		time.Sleep(2 * time.Second)
		if _, err := b.Write([]byte("abc")); err == nil || !strings.Contains(err.Error(), "broken pipe") {
			t.Errorf("when it is: %v", err)
		}
		b.Close()
	})
}

// TestClosedPackets: the same of packets; a time limit ends reading, not writing.
func TestClosedPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		c, err := n.Host("10.0.0.1").ListenPacket("10.0.0.1:53")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.SetDeadline(time.Now().Add(time.Second)), c.SetWriteDeadline(time.Now())); err != nil {
			t.Error(err)
		}
		begin := time.Now()
		if _, _, err := c.ReadFrom(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		if k, err := c.WriteTo([]byte("abc"), c.LocalAddr()); k != 3 || err != nil {
			t.Errorf("%d, %v", k, err)
		}
		if _, err := c.WriteTo([]byte("abc"), &net.UnixAddr{Name: "nowhere"}); err == nil {
			t.Error("nowhere was written to")
		}
		if err := c.SetReadDeadline(time.Time{}); err != nil {
			t.Error(err)
		}
		buf := make([]byte, 2)
		if k, from, err := c.ReadFrom(buf); k != 2 || string(buf) != "ab" || err != nil || from.String() != "10.0.0.1:53" {
			t.Errorf("%d bytes from %v, %v", k, from, err)
		}
		waits := make(chan error, 1)
		go func() {
			_, _, err := c.ReadFrom(buf)
			waits <- err
		}()
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-waits; !errors.Is(err, net.ErrClosed) {
			t.Errorf("who reads meanwhile: %v", err)
		}
		if _, err := c.WriteTo([]byte("abc"), c.LocalAddr()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write: %v", err)
		}
	})
}

// TestFullInbox: packets that nobody reads are lost past so many, as in a kernel.
func TestFullInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		c, err := n.Host("10.0.0.1").ListenPacket("10.0.0.1:53")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for range inbox + 9 {
			if _, err := c.WriteTo([]byte("x"), c.LocalAddr()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		got := 0
		for ; err == nil; got++ {
			_, _, err = c.ReadFrom(make([]byte, 1))
		}
		if got-1 != inbox {
			t.Errorf("%d packets of %d arrived, want %d", got-1, inbox+9, inbox)
		}
	})
}
