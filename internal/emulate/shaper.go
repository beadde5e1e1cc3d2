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
	// Locate says where a peer is, by its name or address; false if it is no node.
	Locate func(peer string) (Place, bool)
}

var _ rpc.Shaper = (*Shaper)(nil)

// Send waits as long as the bytes take on the slowest link of their way.
func (s *Shaper) Send(p rpc.Peer, n int) {
	if p.What == rpc.Control {
		return
	}
	to, ok := s.Locate(p.Name)
	if !ok || to.Node == s.Self.Node {
		return
	}
	now, wait := clock(), time.Duration(0)
	pass := func(link string, r topology.Rate) {
		if r <= 0 {
			return
		}
		if slot, err := s.Links.find(link); err == nil {
			wait = max(wait, slot.reserve(now, n, r))
		}
	}
	pass("out "+s.Self.Node, s.Rates.NIC)
	pass("in "+to.Node, s.Rates.NIC)
	if to.Rack != s.Self.Rack {
		pass("up "+s.Self.Rack, s.Rates.Rack(s.Self.Rack).Uplink)
		pass("down "+to.Rack, s.Rates.Rack(to.Rack).Down())
	}
	if wait > 0 {
		time.Sleep(wait)
	}
}

// Receive costs nothing: the sender has paid.
func (s *Shaper) Receive(rpc.Peer, int) {}
