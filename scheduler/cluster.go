package scheduler

import "github.com/millrace/millrace/topology"

// A NodeState says what may be done with a node.
type NodeState uint8

// The states of a node.
const (
	NodeIsDown  NodeState = iota // unknown, not joined yet, or dead
	NodeDrains                   // finishes what it runs
	NodeIsReady                  // takes tasks
)

// String returns "down", "draining" or "up".
func (s NodeState) String() string { return [...]string{"down", "draining", "up"}[min(s, NodeIsReady)] }

type node struct {
	state NodeState
	cap   Capacity
	use   Usage
	head  int32 // first running attempt, or -1
	idle  float64
	// offered says that a round of Assign calls has ended since the last heartbeat.
	offered bool
}

type rack struct {
	use Usage

	net  Net
	room Totals
}

// Net is the last sample of a rack's link to the core.
type Net struct {
	Up, Down  float64 // utilisation, 1 is full
	Congested bool    // as netmon judged
}

// Utilisation returns the busier direction.
func (n Net) Utilisation() float64 { return max(n.Up, n.Down) }

// Totals is the room of all nodes that are up.
type Totals struct {
	Nodes    int32
	Slots    [NumKinds]int32
	VCores   int32
	MemoryMB int64
}

// Places is how many attempts can run at once: containers where they are shared, else map and reduce slots.
func (t Totals) Places() int32 {
	if t.Slots[Driver] > 0 {
		return t.Slots[Driver]
	}
	return t.Slots[Map] + t.Slots[Reduce]
}

func (t *Totals) add(c *Capacity, unit Demand, sign int32) {
	t.Nodes += sign
	for k := range t.Slots {
		t.Slots[k] += sign * c.Slots(Kind(k), unit)
	}
	t.VCores += sign * c.VCores
	t.MemoryMB += int64(sign) * c.MemoryMB
}

func (s *State) applyNode(e *Event) error {
	switch e.Kind {
	case EvNetSample:
		return s.netSample(e)
	case EvCPUSample:
		return s.cpuSample(e)
	}
	if !s.topo.Has(e.Node) {
		return stale(e, "no such node in the topology")
	}
	s.grow()
	n := &s.nodes[e.Node]
	switch e.Kind {
	case EvHeartbeat:
		if n.state == NodeIsDown {
			return stale(e, "the node is down")
		}
		n.offered = false
	case EvNodeUp:
		s.setNode(e.Node, NodeIsReady, e.Capacity)
	case EvNodeUpdated:
		s.setNode(e.Node, n.state, e.Capacity)
	case EvNodeDraining:
		if n.state == NodeIsDown {
			return stale(e, "the node is down")
		}
		s.setNode(e.Node, NodeDrains, n.cap)
	case EvNodeDown:
		s.setNode(e.Node, NodeIsDown, n.cap)
	}
	return nil
}

func (s *State) setNode(id topology.NodeID, state NodeState, c Capacity) {
	n, r := &s.nodes[id], &s.racks[s.topo.RackOf(id)]
	if n.state == NodeIsReady {
		s.total.add(&n.cap, s.cfg.Unit, -1)
		r.room.add(&n.cap, s.cfg.Unit, -1)
	}
	n.state, n.cap = state, c
	if n.state == NodeIsReady {
		s.total.add(&n.cap, s.cfg.Unit, 1)
		r.room.add(&n.cap, s.cfg.Unit, 1)
	}
}

func (s *State) netSample(e *Event) error {
	if !s.topo.HasRack(e.Rack) {
		return stale(e, "no such rack in the topology")
	}
	s.grow()
	s.racks[e.Rack].net = Net{Up: e.Value, Down: e.Value2, Congested: e.Flag}
	return nil
}

func (s *State) cpuSample(e *Event) error {
	if e.Node == topology.NoNode {
		s.idle = e.Value
		return nil
	}
	if !s.topo.Has(e.Node) {
		return stale(e, "no such node in the topology")
	}
	s.grow()
	s.nodes[e.Node].idle = e.Value
	return nil
}
