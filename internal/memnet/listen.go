package memnet

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// backlog is how many connections wait to be accepted.
const backlog = 128

// A listener accepts streams.
type listener struct {
	net  *Network
	addr netip.AddrPort

	// Guarded by the network's mutex.
	wake   *sync.Cond
	queue  []*stream
	closed bool
}

// Listen accepts streams at ip:port; port 0 takes a free one.
func (h *Host) Listen(addr string) (net.Listener, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	a, err := h.place(addr, func(a netip.AddrPort) bool { return h.net.accepts[a] != nil })
	if err != nil {
		return nil, err
	}
	l := &listener{net: h.net, addr: a, wake: sync.NewCond(&h.net.mu)}
	h.net.accepts[a] = l
	return l, nil
}

func (l *listener) Accept() (net.Conn, error) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.wake.Wait()
	}
	if l.closed {
		return nil, net.ErrClosed
	}
	s := l.queue[0]
	l.queue = l.queue[1:]
	return s, nil
}

// Close refuses new connections and those not accepted yet.
func (l *listener) Close() error {
	l.net.mu.Lock()
	if l.closed {
		l.net.mu.Unlock()
		return net.ErrClosed
	}
	l.closed = true
	delete(l.net.accepts, l.addr)
	waiting := l.queue
	l.queue = nil
	l.wake.Broadcast()
	l.net.mu.Unlock()
	for _, s := range waiting {
		_ = s.Close() // nobody else had it
	}
	return nil
}

func (l *listener) Addr() net.Addr { return tcpAddr(l.addr) }

// Dial connects to ip:port. If nobody listens there, it fails at once. If the link is cut, it waits while ctx
// allows. A lost step of the handshake is repeated after 1, 2, 4 … seconds, as in Linux.
func (h *Host) Dial(ctx context.Context, addr string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: tcpAddr(to), Err: err}
	}
	for again := time.Second; ; again *= 2 {
		trip, ok := h.handshake(to)
		if !ok {
			trip = again
		}
		select {
		case <-ctx.Done():
			return fail(ctx.Err())
		case <-time.After(trip):
		}
		if ok {
			break
		}
	}
	s, err := h.connect(to)
	if err != nil {
		return fail(err)
	}
	return s, nil
}

// handshake returns how long the handshake takes, if none of it is lost.
func (h *Host) handshake(to netip.AddrPort) (time.Duration, bool) {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	there, back := n.link(h.ip, to.Addr()), n.link(to.Addr(), h.ip)
	d1, d2 := n.roll(h.ip, to.Addr()), n.roll(to.Addr(), h.ip)
	lost := d1.Float64() < there.Loss || d2.Float64() < back.Loss
	return there.delay(d1) + back.delay(d2), !lost && !there.Cut && !back.Cut
}

func (h *Host) connect(to netip.AddrPort) (*stream, error) {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.accepts[to]
	if l == nil || len(l.queue) >= backlog {
		return nil, syscall.ECONNREFUSED
	}
	h.next++
	here, there := n.pair(netip.AddrPortFrom(h.ip, h.next), to)
	l.queue = append(l.queue, there)
	l.wake.Broadcast()
	return here, nil
}
