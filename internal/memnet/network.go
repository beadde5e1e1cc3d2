package memnet

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"
)

// A Link describes one direction between two hosts. The zero Link is perfect.
type Link struct {
	Cut bool // nothing passes
	// Latency is the minimum delay. A random part of Jitter is added, so that packets overtake each other.
	Latency, Jitter time.Duration
	// Loss and Double are the shares of packets that are lost and duplicated. To a stream a loss is a delay of
	// Resend.
	Loss, Double float64
}

// Resend is how much a loss delays a stream: the least that Linux waits before it sends again.
const Resend = 200 * time.Millisecond

// A Network connects hosts. Its methods may be called concurrently.
type Network struct {
	seed uint64

	mu      sync.Mutex // guards everything below, and all hosts and streams
	shape   func(from, to string) Link
	dice    map[[2]string]*rand.Rand
	hosts   map[string]*Host
	packets map[netip.AddrPort]*packetConn
	accepts map[netip.AddrPort]*listener
	streams map[*stream]bool // that are open, to be woken when the shape changes
}

// New returns a network of perfect links without hosts.
func New(seed uint64) *Network {
	return &Network{
		seed: seed, shape: func(_, _ string) Link { return Link{} }, dice: map[[2]string]*rand.Rand{}, hosts: map[string]*Host{},
		packets: map[netip.AddrPort]*packetConn{}, accepts: map[netip.AddrPort]*listener{}, streams: map[*stream]bool{},
	}
}

// Shape sets what the links are like from now on. f is called with the addresses of hosts, under a lock: it must not
// call the network.
func (n *Network) Shape(f func(from, to string) Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shape = f
	for s := range n.streams {
		s.wake.Broadcast()
	}
}

// Host returns the host with an IP address. It makes the host on first use.
func (n *Network) Host(ip string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.hosts[ip]
	if h == nil {
		h = &Host{net: n, ip: netip.MustParseAddr(ip), next: 1024}
		n.hosts[ip] = h
	}
	return h
}

// roll returns the link's own random source, which other links do not affect.
func (n *Network) roll(from, to netip.Addr) *rand.Rand {
	key := [2]string{from.String(), to.String()}
	r := n.dice[key]
	if r == nil {
		h := fnv.New64a()
		fmt.Fprint(h, key) // never fails
		r = rand.New(rand.NewPCG(n.seed, h.Sum64()))
		n.dice[key] = r
	}
	return r
}

func (n *Network) link(from, to netip.Addr) Link { return n.shape(from.String(), to.String()) }

// delay returns how long something takes on a link.
func (l Link) delay(r *rand.Rand) time.Duration {
	if l.Jitter <= 0 {
		return l.Latency
	}
	return l.Latency + time.Duration(r.Int64N(int64(l.Jitter)))
}

// A Host is one machine.
type Host struct {
	net  *Network
	ip   netip.Addr
	next uint16 // the next free port
}

// place resolves the address to listen on; port 0 takes a free one.
func (h *Host) place(addr string, taken func(a netip.AddrPort) bool) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return a, fmt.Errorf("memnet: %w", err)
	}
	if a.Addr() != h.ip && !a.Addr().IsUnspecified() {
		return a, fmt.Errorf("memnet: host %s cannot listen on %s", h.ip, addr)
	}
	free := a.Port() == 0
	a = netip.AddrPortFrom(h.ip, a.Port())
	for free && (a.Port() == 0 || taken(a)) {
		h.next++
		a = netip.AddrPortFrom(h.ip, h.next)
	}
	if taken(a) {
		return a, fmt.Errorf("memnet: %s: address already in use", a)
	}
	return a, nil
}

func tcpAddr(a netip.AddrPort) net.Addr { return net.TCPAddrFromAddrPort(a) }
func udpAddr(a netip.AddrPort) net.Addr { return net.UDPAddrFromAddrPort(a) }
