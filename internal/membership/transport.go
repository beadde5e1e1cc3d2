package membership

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// A Network is what gossip needs from a network, to replace the machine's own. Addresses are IP:port.
type Network interface {
	ListenPacket(addr string) (net.PacketConn, error)
	Listen(addr string) (net.Listener, error)
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// A transport carries memberlist over a Network.
type transport struct {
	net     Network
	packets net.PacketConn
	streams net.Listener
	in      chan *memberlist.Packet
	accept  chan net.Conn
	done    chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

// listen opens packets and streams at the same address.
func listen(n Network, bind string) (*transport, error) {
	p, err := n.ListenPacket(bind)
	if err != nil {
		return nil, err
	}
	l, err := n.Listen(p.LocalAddr().String())
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	t := &transport{net: n, packets: p, streams: l, in: make(chan *memberlist.Packet), accept: make(chan net.Conn), done: make(chan struct{})}
	t.wg.Go(t.readPackets)
	t.wg.Go(t.takeStreams)
	return t, nil
}

// maxPacket exceeds the size of memberlist's packets.
const maxPacket = 64 << 10

func (t *transport) readPackets() {
	buf := make([]byte, maxPacket)
	for {
		n, from, err := t.packets.ReadFrom(buf)
		if err != nil {
			return // closed
		}
		select {
		case t.in <- &memberlist.Packet{Buf: append([]byte(nil), buf[:n]...), From: from, Timestamp: time.Now()}:
		case <-t.done:
			return
		}
	}
}

func (t *transport) takeStreams() {
	for {
		c, err := t.streams.Accept()
		if err != nil {
			return // closed
		}
		select {
		case t.accept <- c:
		case <-t.done:
			_ = c.Close() // nobody needs it any more
			return
		}
	}
}

// FinalAdvertiseAddr returns where the transport really listens.
func (t *transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	a, err := netip.ParseAddrPort(t.packets.LocalAddr().String())
	if err != nil {
		return nil, 0, fmt.Errorf("gossip address: %w", err)
	}
	return a.Addr().AsSlice(), int(a.Port()), nil
}

func (t *transport) WriteTo(b []byte, addr string) (time.Time, error) {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return time.Time{}, err
	}
	_, err = t.packets.WriteTo(b, net.UDPAddrFromAddrPort(a))
	return time.Now(), err
}

func (t *transport) DialTimeout(addr string, d time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return t.net.Dial(ctx, addr)
}

func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.in }
func (t *transport) StreamCh() <-chan net.Conn           { return t.accept }

// Shutdown closes both listeners and waits for their readers.
func (t *transport) Shutdown() (err error) {
	t.once.Do(func() {
		close(t.done)
		err = errors.Join(t.packets.Close(), t.streams.Close())
		t.wg.Wait()
	})
	return err
}
