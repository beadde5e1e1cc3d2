package memnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// ends makes both ends of a stream.
func ends(t *testing.T, n *Network) (a, b net.Conn) {
	t.Helper()
	l, err := n.Host("10.0.0.2").Listen("0.0.0.0:80")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = n.Host("10.0.0.1").Dial(t.Context(), "10.0.0.2:80"); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// TestDeadlines: reading nothing and writing more than the window end at their deadlines, and
// go on when there are none.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := ends(t, New(1))
		defer b.Close()
		if err := a.SetDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("the deadline came after %s", took)
		}
		if err := a.SetDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := a.Write(make([]byte, 2*window)); n != window || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes written, %v", n, err)
		}
		if err := a.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := a.Write(make([]byte, 2*window))
			if err := errors.Join(err, a.Close()); err != nil {
				t.Error(err)
			}
		}()
		if got, err := io.ReadAll(b); err != nil || len(got) != 3*window {
			t.Errorf("%d bytes read, %v", len(got), err)
		}
		if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("written to whom is gone: %v", err)
		}
	})
}

// send sends numbered packets and returns what has arrived a minute later.
func send(t *testing.T, seed uint64, l Link, count int) (got []int) {
	t.Helper()
	n := New(seed)
	n.Shape(func(_, _ string) Link { return l })
	from, err1 := n.Host("10.0.0.1").ListenPacket("0.0.0.0:0")
	to, err2 := n.Host("10.0.0.2").ListenPacket("10.0.0.2:7")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	defer to.Close()
	for i := range count {
		if _, err := from.WriteTo([]byte{byte(i >> 8), byte(i)}, to.LocalAddr()); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(10 * time.Second)
	if err := to.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 10); ; {
		_, addr, err := to.ReadFrom(b)
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
			return got
		}
		if addr.String() != from.LocalAddr().String() {
			t.Errorf("from %s", addr)
		}
		got = append(got, int(b[0])<<8+int(b[1]))
	}
}

func TestPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := send(t, 1, Link{Latency: time.Second}, 500); len(got) != 500 {
			t.Errorf("%d packets of 500 arrive on a perfect link", len(got))
		}
		if got := send(t, 1, Link{Loss: .3}, 1000); len(got) < 600 || len(got) > 800 {
			t.Errorf("%d packets of 1000 arrive, 0.3 are lost", len(got))
		}
		if got := send(t, 1, Link{Double: .2}, 500); len(got) < 550 || len(got) > 650 {
			t.Errorf("%d packets of 500 arrive, 0.2 come twice", len(got))
		}
		if got := send(t, 1, Link{Cut: true}, 10); len(got) != 0 {
			t.Errorf("%d packets pass a cut", len(got))
		}
		if got := send(t, 1, Link{}, 2000); len(got) != inbox {
			t.Errorf("%d packets fit into an inbox of %d", len(got), inbox)
		}
	})
}

// TestSeed: the seed decides what is lost and what overtakes what.
func TestSeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Link{Latency: time.Millisecond, Jitter: 50 * time.Millisecond, Loss: .2, Double: .1}
		one, same, other := send(t, 7, l, 300), send(t, 7, l, 300), send(t, 8, l, 300)
		if fmt.Sprint(one) != fmt.Sprint(same) {
			t.Error("the same seed, another fate")
		}
		if fmt.Sprint(one) == fmt.Sprint(other) {
			t.Error("another seed, the same fate")
		}
		ordered := true
		for i := range one[1:] {
			ordered = ordered && one[i] < one[i+1]
		}
		if ordered {
			t.Error("no packet has overtaken another")
		}
	})
}

// TestStreamsOutliveCuts: what was sent into a cut arrives when it heals, in order; a new stream
// cannot be made meanwhile, and nobody at the other end is an error at once.
func TestStreamsOutliveCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(3)
		n.Shape(func(_, _ string) Link {
			return Link{Latency: 10 * time.Millisecond, Jitter: time.Millisecond, Loss: .1}
		})
		a := n.Host("10.0.0.1")
		c, s := ends(t, n)
		defer s.Close()
		n.Shape(func(_, _ string) Link { return Link{Cut: true} })
		want := bytes.Repeat([]byte("0123456789"), 1000)
		for i := 0; i < len(want); i += 100 {
			if _, err := c.Write(want[i : i+100]); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := a.Dial(ctx, "10.0.0.2:80"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a dial through a cut: %v", err)
		}
		n.Shape(func(_, _ string) Link { return Link{} })
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
		}
		if _, err := a.Dial(t.Context(), "10.0.0.2:81"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens: %v", err)
		}
	})
}

// TestStreamsTakeTime: what is written arrives when its link lets it, not sooner, and never before what was written earlier, however late that is.
func TestStreamsTakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(3)
		a, b := ends(t, n)
		defer a.Close()
		defer b.Close()
		begin, buf := time.Now(), make([]byte, 1)
		for _, latency := range []time.Duration{100, 300, 10, 400} {
			n.Shape(func(_, _ string) Link { return Link{Latency: latency * time.Millisecond} })
			if _, err := a.Write([]byte{byte(latency / 2)}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		for _, want := range []struct {
			what byte
			at   time.Duration // written at 0, 50, 100 and 150 ms
		}{{50, 200}, {150, 350}, {5, 350}, {200, 550}} {
			if _, err := b.Read(buf); err != nil || buf[0] != want.what || time.Since(begin) != want.at*time.Millisecond {
				t.Errorf("%d arrives after %v, %v, want %d after %v ms", buf[0], time.Since(begin), err, want.what, int(want.at))
			}
		}
	})
}

// TestClosedListener: nobody gets through to a listener that was closed, who waits in it is let go, and its place is free.
func TestClosedListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		l, err := n.Host("10.0.0.2").Listen("10.0.0.2:80")
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan error)
		go func() {
			_, err := l.Accept()
			accepted <- err
		}()
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Errorf("closed: %v", err)
		}
		if err := <-accepted; !errors.Is(err, net.ErrClosed) {
			t.Errorf("who waited is told %v", err)
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed twice: %v", err)
		}
		if c, err := n.Host("10.0.0.1").Dial(t.Context(), "10.0.0.2:80"); err == nil {
			t.Errorf("%v gets through", c.LocalAddr())
		}
		again, err := n.Host("10.0.0.2").Listen("10.0.0.2:80")
		if err != nil {
			t.Fatalf("its place is taken: %v", err)
		}
		waiting, err := n.Host("10.0.0.1").Dial(t.Context(), "10.0.0.2:80")
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		if _, err := waiting.Read(make([]byte, 1)); err == nil {
			t.Error("who was not accepted yet reads on")
		}
	})
}
