package topology

import "iter"

// A NodeID identifies a machine. Ids count up from 0 in order of AddNode.
type NodeID int32

// A RackID identifies a rack. Ids count up from 0 in order of AddRack.
type RackID int32

// A ClassID identifies a machine class, such as "scale-up". Class 0 is always the unnamed class.
type ClassID int32

// NoNode and NoRack are the ids of no node and no rack.
const (
	NoNode NodeID = -1
	NoRack RackID = -1
)

// A Node is one machine. ID is set by AddNode.
type Node struct {
	ID    NodeID
	Name  string
	Rack  RackID
	Class string // machine class; "" is the unnamed class
	NIC   Rate   // line rate in each direction; 0 means not modelled
}

// A Rack is a group of nodes behind one switch with full bisection inside and
// one link to the core. ID is set by AddRack.
type Rack struct {
	ID       RackID
	Name     string
	Uplink   Rate // rack to core; 0 means not modelled
	Downlink Rate // core to rack; 0 means the same as Uplink
}

// A Topology is the read-only view of a cluster's layout.
type Topology struct {
	nodes   []Node
	racks   []Rack
	members [][]NodeID // by rack, ascending
	rackOf  []RackID
	classOf []ClassID
	classes []string
	ocs     OCS

	nodeByName map[string]NodeID
	rackByName map[string]RackID
}

// NumNodes returns how many nodes have been added.
func (t *Topology) NumNodes() int { return len(t.nodes) }

// NumRacks returns how many racks have been added.
func (t *Topology) NumRacks() int { return len(t.racks) }

// Has reports whether n is a known node.
func (t *Topology) Has(n NodeID) bool { return n >= 0 && int(n) < len(t.nodes) }

// HasRack reports whether r is a known rack.
func (t *Topology) HasRack(r RackID) bool { return r >= 0 && int(r) < len(t.racks) }

// Node returns the node n, or a node with id NoNode if there is none.
func (t *Topology) Node(n NodeID) Node {
	if !t.Has(n) {
		return Node{ID: NoNode, Rack: NoRack}
	}
	return t.nodes[n]
}

// Rack returns the rack r, or a rack with id NoRack if there is none.
func (t *Topology) Rack(r RackID) Rack {
	if !t.HasRack(r) {
		return Rack{ID: NoRack}
	}
	return t.racks[r]
}

// RackOf returns the rack of n, or NoRack.
func (t *Topology) RackOf(n NodeID) RackID {
	if !t.Has(n) {
		return NoRack
	}
	return t.rackOf[n]
}

// RackSize returns how many nodes rack r has.
func (t *Topology) RackSize(r RackID) int {
	if !t.HasRack(r) {
		return 0
	}
	return len(t.members[r])
}

// NodesIn yields the nodes of rack r in ascending order.
func (t *Topology) NodesIn(r RackID) iter.Seq[NodeID] {
	return func(yield func(NodeID) bool) {
		if !t.HasRack(r) {
			return
		}
		for _, n := range t.members[r] {
			if !yield(n) {
				return
			}
		}
	}
}

// NodeAt returns the i-th node of rack r; i is below RackSize(r).
func (t *Topology) NodeAt(r RackID, i int) NodeID { return t.members[r][i] }

// NodeByName finds a node by its name.
func (t *Topology) NodeByName(name string) (NodeID, bool) {
	n, ok := t.nodeByName[name]
	return n, ok
}

// RackByName finds a rack by its name.
func (t *Topology) RackByName(name string) (RackID, bool) {
	r, ok := t.rackByName[name]
	return r, ok
}

// ClassOf returns the machine class of n (0, the unnamed class, if n is
// unknown).
func (t *Topology) ClassOf(n NodeID) ClassID {
	if !t.Has(n) {
		return 0
	}
	return t.classOf[n]
}

// Class finds a machine class by name. ok is false if no node has it.
func (t *Topology) Class(name string) (id ClassID, ok bool) {
	for i, c := range t.classes {
		if c == name {
			return ClassID(i), true
		}
	}
	return 0, false
}

// ClassName returns the name of class c.
func (t *Topology) ClassName(c ClassID) string {
	if c < 0 || int(c) >= len(t.classes) {
		return ""
	}
	return t.classes[c]
}

// NumClasses returns how many classes exist, including the unnamed one.
func (t *Topology) NumClasses() int { return len(t.classes) }

// OCS returns the optical circuit switch; its zero value means there is none.
func (t *Topology) OCS() OCS { return t.ocs }
