package memnet

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// inbox is how many packets wait to be read; more are lost, as in a kernel.
const inbox = 1024

type packet struct {
	from netip.AddrPort
	data []byte
}

// A packetConn is a UDP socket.
type packetConn struct {
	host *Host
	addr netip.AddrPort

	// Guarded by the network's mutex.
	wake   *sync.Cond
	queue  []packet
	until  deadline
	closed bool
}

// ListenPacket opens a UDP socket at ip:port; port 0 takes a free one.
func (h *Host) ListenPacket(addr string) (net.PacketConn, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	a, err := h.place(addr, func(a netip.AddrPort) bool { return h.net.packets[a] != nil })
	if err != nil {
		return nil, err
	}
	c := &packetConn{host: h, addr: a, wake: sync.NewCond(&h.net.mu)}
	h.net.packets[a] = c
	return c, nil
}

// WriteTo sends a packet. As with UDP, nobody says whether it arrives.
func (c *packetConn) WriteTo(b []byte, addr net.Addr) (int, error) {
	to, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return 0, &net.OpError{Op: "write", Net: "udp", Addr: addr, Err: err}
	}
	n := c.host.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	l, dice := n.link(c.addr.Addr(), to.Addr()), n.roll(c.addr.Addr(), to.Addr())
	copies := 1
	if dice.Float64() < l.Double {
		copies = 2
	}
	p := packet{c.addr, append([]byte(nil), b...)}
	for range copies {
		lost, d := dice.Float64() < l.Loss, l.delay(dice)
		if !lost && !l.Cut {
			time.AfterFunc(d, func() { n.arrive(to, p) })
		}
	}
	return len(b), nil
}

// arrive puts a packet into the inbox of its receiver. A packet that was under way when its link was cut is lost.
func (n *Network) arrive(to netip.AddrPort, p packet) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.packets[to]
	if c == nil || len(c.queue) >= inbox || n.link(p.from.Addr(), to.Addr()).Cut {
		return
	}
	c.queue = append(c.queue, p)
	c.wake.Broadcast()
}

func (c *packetConn) ReadFrom(b []byte) (int, net.Addr, error) {
	c.host.net.mu.Lock()
	defer c.host.net.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, nil, net.ErrClosed
		case c.until.passed():
			return 0, nil, os.ErrDeadlineExceeded
		case len(c.queue) > 0:
			p := c.queue[0]
			c.queue = c.queue[1:]
			return copy(b, p.data), udpAddr(p.from), nil
		}
		c.wake.Wait()
	}
}

func (c *packetConn) Close() error {
	c.host.net.mu.Lock()
	defer c.host.net.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	c.until.stop()
	delete(c.host.net.packets, c.addr)
	c.wake.Broadcast()
	return nil
}

func (c *packetConn) LocalAddr() net.Addr { return udpAddr(c.addr) }

func (c *packetConn) SetReadDeadline(t time.Time) error {
	c.host.net.mu.Lock()
	defer c.host.net.mu.Unlock()
	c.until.set(t, c.wake)
	return nil
}

// SetDeadline is SetReadDeadline, since writing never waits.
func (c *packetConn) SetDeadline(t time.Time) error    { return c.SetReadDeadline(t) }
func (c *packetConn) SetWriteDeadline(time.Time) error { return nil }

// A deadline wakes waiting goroutines when it passes. The mutex of their condition guards it.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) set(t time.Time, wake *sync.Cond) {
	d.stop()
	d.at = t
	if !t.IsZero() {
		d.timer = time.AfterFunc(time.Until(t), func() {
			wake.L.Lock()
			defer wake.L.Unlock()
			wake.Broadcast()
		})
	}
	wake.Broadcast()
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
