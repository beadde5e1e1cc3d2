package memnet

import (
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// window is how many bytes may be under way on a stream. Beyond that a writer waits.
const window = 256 << 10

type chunk struct {
	data []byte
	due  time.Time
}

// A stream is one end of a TCP connection.
type stream struct {
	net         *Network
	local, peer netip.AddrPort
	other       *stream

	// Guarded by the network's mutex.
	wake       *sync.Cond
	queue      []chunk // on the way here
	queued     int     // bytes in queue
	last       time.Time
	ended      bool // the other end was closed: end of file behind the queue
	closed     bool
	read, send deadline
}

// pair makes both ends of a connection.
func (n *Network) pair(from, to netip.AddrPort) (a, b *stream) {
	a = &stream{net: n, local: from, peer: to, wake: sync.NewCond(&n.mu)}
	b = &stream{net: n, local: to, peer: from, wake: sync.NewCond(&n.mu), other: a}
	a.other = b
	n.streams[a], n.streams[b] = true, true
	return a, b
}

func (s *stream) Write(b []byte) (total int, err error) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	for len(b) > 0 {
		s.arrived() // maybe the end
		switch {
		case s.closed:
			return total, net.ErrClosed
		case s.ended:
			return total, &net.OpError{Op: "write", Net: "tcp", Addr: tcpAddr(s.peer), Err: syscall.EPIPE}
		case s.send.passed():
			return total, os.ErrDeadlineExceeded
		case s.other.closed: // not known at this end yet
			return total + len(b), nil
		case s.other.queued >= window:
			s.wake.Wait()
			continue
		}
		k := min(len(b), window-s.other.queued)
		s.other.push(append([]byte(nil), b[:k]...))
		b, total = b[k:], total+k
	}
	return total, nil
}

// push sends bytes to this end, behind earlier ones. An empty slice marks the end.
func (s *stream) push(data []byte) {
	l, dice := s.net.link(s.peer.Addr(), s.local.Addr()), s.net.roll(s.peer.Addr(), s.local.Addr())
	d := l.delay(dice)
	for range 10 { // a link that loses everything is a cut, which is handled elsewhere
		if dice.Float64() >= l.Loss {
			break
		}
		d += Resend
	}
	due := time.Now().Add(d)
	if due.Before(s.last) {
		due = s.last
	}
	s.last = due
	s.queue = append(s.queue, chunk{data, due})
	s.queued += len(data)
	wait := time.Until(due)
	if wait <= 0 { // no timer: one that is due at once runs on the system stack in a bubble of synctest, where the race detector has crashed (Go 1.26)
		s.wake.Broadcast()
		return
	}
	time.AfterFunc(wait, func() {
		s.net.mu.Lock()
		defer s.net.mu.Unlock()
		s.wake.Broadcast()
	})
}

func (s *stream) Read(b []byte) (int, error) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	for {
		here := s.arrived()
		switch {
		case s.closed:
			return 0, net.ErrClosed
		case s.read.passed():
			return 0, os.ErrDeadlineExceeded
		case s.ended:
			return 0, io.EOF
		case here:
			return s.take(b), nil
		}
		s.wake.Wait()
	}
}

// arrived reports whether there is something to read. What is under way does not pass a cut.
func (s *stream) arrived() bool {
	for len(s.queue) > 0 && !time.Now().Before(s.queue[0].due) && !s.net.link(s.peer.Addr(), s.local.Addr()).Cut {
		if len(s.queue[0].data) > 0 {
			return true
		}
		s.queue, s.ended = nil, true
		s.wake.Broadcast()
	}
	return false
}

func (s *stream) take(b []byte) int {
	c := &s.queue[0]
	k := copy(b, c.data)
	if c.data = c.data[k:]; len(c.data) == 0 {
		s.queue = s.queue[1:]
	}
	s.queued -= k
	s.other.wake.Broadcast()
	return k
}

// Close ends both directions. The other side reads what was sent before, and then the end.
func (s *stream) Close() error {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.closed = true
	s.read.stop()
	s.send.stop()
	delete(s.net.streams, s)
	if !s.other.closed {
		s.other.push(nil)
	}
	s.wake.Broadcast()
	s.other.wake.Broadcast()
	return nil
}

func (s *stream) LocalAddr() net.Addr  { return tcpAddr(s.local) }
func (s *stream) RemoteAddr() net.Addr { return tcpAddr(s.peer) }

func (s *stream) SetDeadline(t time.Time) error {
	_ = s.SetReadDeadline(t) // neither fails
	return s.SetWriteDeadline(t)
}

func (s *stream) SetReadDeadline(t time.Time) error {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.read.set(t, s.wake)
	return nil
}

func (s *stream) SetWriteDeadline(t time.Time) error {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.send.set(t, s.wake)
	return nil
}
