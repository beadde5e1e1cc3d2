package emulate

import (
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/topology"
)

// A Place is a node and its rack.
type Place struct{ Node, Rack string }

// A Shaper delays what one node sends.
type Shaper struct {
	Links *Links
	Rates topology.Links
	Self  Place
	// Locate returns where a peer is, by its name or address, or false if the peer is not a node.
	Locate func(peer string) (Place, bool)
	// Racks returns the racks of the located peers.
	Racks func() []string
}

var _ rpc.Shaper = (*Shaper)(nil)

// Route sends map output for another rack by circuit if it is worth one.
func (s *Shaper) Route(p rpc.Peer, bytes int64, together bool) rpc.Traffic {
	if p.What != rpc.Shuffle || !s.Rates.Optical.Present() || !together && !s.Rates.Optical.Elephant(bytes) {
		return p.What
	}
	if to, ok := s.Locate(p.Name); !ok || to.Rack == s.Self.Rack {
		return p.What
	}
	return rpc.Circuit
}

// Send waits as long as the bytes take on the slowest link of their way, or until a circuit has carried them.
func (s *Shaper) Send(p rpc.Peer, n int, t *rpc.Transfer) {
	if p.What == rpc.Control {
		return
	}
	to, ok := s.Locate(p.Name)
	if !ok || to.Node == s.Self.Node {
		return
	}
	if p.What != rpc.Circuit {
		t = nil
	}
	for step := s.step(); n > 0; {
		wait, passed := s.take(to, min(n, step), t)
		if passed {
			n -= step
		}
		if wait > 0 {
			time.Sleep(wait)
		}
	}
}

// take reserves one turn on the way to a place; for t, a turn on the circuit there if that is lit. If the links are
// closed, nothing waits any more.
func (s *Shaper) take(to Place, n int, t *rpc.Transfer) (wait time.Duration, passed bool) {
	s.Links.mu.RLock()
	defer s.Links.mu.RUnlock()
	if s.Links.mem == nil {
		return 0, true
	}
	if t != nil {
		if c, err := s.Links.circuit(s.Self.Rack, to.Rack); err == nil {
			return s.Links.pass(clock(), c, s.Rates.Optical, n, t)
		}
	}
	return s.way(to).reserve(clock(), n), true
}

// Receive costs nothing: the sender has paid.
func (s *Shaper) Receive(rpc.Peer, int) {}

// A way is the links from this node to another.
type way []hop

type hop struct {
	*slot
	rate topology.Rate
}

// way finds the links. They must not be closed while it is used.
func (s *Shaper) way(to Place) (w way) {
	pass := func(link string, r topology.Rate) {
		if r <= 0 {
			return
		}
		if slot, err := s.Links.find(link); err == nil {
			w = append(w, hop{slot, r})
		}
	}
	pass("out "+s.Self.Node, s.Rates.NIC)
	pass("in "+to.Node, s.Rates.NIC)
	if to.Rack != s.Self.Rack {
		pass("up "+s.Self.Rack, s.Rates.Rack(s.Self.Rack).Uplink)
		pass("down "+to.Rack, s.Rates.Rack(to.Rack).Down())
	}
	return w
}

// turn is how long a transfer has a link before the next one has its turn. Transfers that share a link get about
// equal parts of it, and a few bytes wait only for one turn of each of the others, not for all that they send.
const turn = 4 * time.Millisecond

// minStep keeps the number of turns on very slow links small.
const minStep = 1 << 10

// step returns how many bytes pass in one turn: the same for all, or those with less would get less of a shared
// link.
func (s *Shaper) step() int {
	slowest := topology.Rate(0)
	slower := func(r topology.Rate) {
		if r > 0 && (slowest == 0 || r < slowest) {
			slowest = r
		}
	}
	slower(s.Rates.NIC)
	slower(s.Rates.Uplink)
	slower(s.Rates.Optical.Rate)
	for _, r := range s.Rates.Racks {
		slower(r.Uplink)
		slower(r.Down())
	}
	return max(minStep, int(float64(slowest)*turn.Seconds()))
}

// reserve reserves all links for n bytes and returns how long to wait until they have passed.
func (w way) reserve(now int64, n int) (wait time.Duration) {
	for _, h := range w {
		wait = max(wait, h.slot.reserve(now, n, h.rate))
	}
	return wait
}
