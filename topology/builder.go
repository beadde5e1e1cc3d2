package topology

import (
	"fmt"
	"slices"
)

// A Builder makes and grows a Topology. The zero value is not ready; use
// NewBuilder.
type Builder struct{ t *Topology }

// NewBuilder returns a builder with an empty topology.
func NewBuilder() *Builder {
	return &Builder{t: &Topology{
		classes:    []string{""},
		nodeByName: make(map[string]NodeID),
		rackByName: make(map[string]RackID),
	}}
}

// Topology returns the read-only view. It stays valid and shows what is added later.
func (b *Builder) Topology() *Topology { return b.t }

// AddRack adds a rack. A name that exists and a negative rate are errors. An empty name becomes "r<id>".
func (b *Builder) AddRack(r Rack) (RackID, error) {
	t := b.t
	r.ID = RackID(len(t.racks))
	if r.Name == "" {
		r.Name = fmt.Sprintf("r%d", r.ID)
	}
	if _, dup := t.rackByName[r.Name]; dup {
		return NoRack, fmt.Errorf("rack %s exists already", r.Name)
	}
	if r.Uplink < 0 || r.Downlink < 0 {
		return NoRack, fmt.Errorf("rack %s: negative link rate", r.Name)
	}
	if r.Downlink == 0 {
		r.Downlink = r.Uplink
	}
	t.racks = append(t.racks, r)
	t.members = append(t.members, nil)
	t.rackByName[r.Name] = r.ID
	return r.ID, nil
}

// AddNode adds a node to an existing rack. A name that exists, an unknown rack and a negative rate are errors. An
// empty name becomes "n<id>".
func (b *Builder) AddNode(n Node) (NodeID, error) {
	t := b.t
	n.ID = NodeID(len(t.nodes))
	if n.Name == "" {
		n.Name = fmt.Sprintf("n%d", n.ID)
	}
	if _, dup := t.nodeByName[n.Name]; dup {
		return NoNode, fmt.Errorf("node %s exists already", n.Name)
	}
	if !t.HasRack(n.Rack) {
		return NoNode, fmt.Errorf("node %s: no rack %d", n.Name, n.Rack)
	}
	if n.NIC < 0 {
		return NoNode, fmt.Errorf("node %s: negative NIC rate", n.Name)
	}
	t.nodes = append(t.nodes, n)
	t.rackOf = append(t.rackOf, n.Rack)
	t.classOf = append(t.classOf, b.intern(n.Class))
	t.members[n.Rack] = append(t.members[n.Rack], n.ID)
	t.nodeByName[n.Name] = n.ID
	return n.ID, nil
}

// SetClass sets the machine class of a node, which may be unknown when the node is added.
func (b *Builder) SetClass(n NodeID, class string) error {
	if !b.t.Has(n) {
		return fmt.Errorf("class %s of node %d: there is none", class, n)
	}
	b.t.nodes[n].Class, b.t.classOf[n] = class, b.intern(class)
	return nil
}

// SetRack moves a node to another rack. Counts by rack that others keep must not include the node then.
func (b *Builder) SetRack(n NodeID, r RackID) error {
	t := b.t
	if !t.Has(n) || !t.HasRack(r) {
		return fmt.Errorf("rack %d of node %d: there is none", r, n)
	}
	if old := t.rackOf[n]; old != r {
		t.members[old] = slices.DeleteFunc(t.members[old], func(m NodeID) bool { return m == n })
		at, _ := slices.BinarySearch(t.members[r], n)
		t.members[r] = slices.Insert(t.members[r], at, n)
		t.nodes[n].Rack, t.rackOf[n] = r, r
	}
	return nil
}

// SetOCS sets the optical circuit switch.
func (b *Builder) SetOCS(o OCS) error {
	if err := o.Validate(); err != nil {
		return err
	}
	b.t.ocs = o
	return nil
}

func (b *Builder) intern(class string) ClassID {
	if id, ok := b.t.Class(class); ok {
		return id
	}
	b.t.classes = append(b.t.classes, class)
	return ClassID(len(b.t.classes) - 1)
}

// Uniform builds racks of equal size with default names r0, r1, ... and n0, n1, ..., as most experiments need. Nodes
// of one rack have consecutive ids.
func Uniform(racks, nodesPerRack int, nic, uplink Rate) (*Topology, error) {
	if racks < 1 || nodesPerRack < 1 {
		return nil, fmt.Errorf("cluster of %d racks of %d nodes: both must be at least 1", racks, nodesPerRack)
	}
	b := NewBuilder()
	for range racks {
		r, err := b.AddRack(Rack{Uplink: uplink})
		if err != nil {
			return nil, err
		}
		for range nodesPerRack {
			if _, err := b.AddNode(Node{Rack: r, NIC: nic}); err != nil {
				return nil, err
			}
		}
	}
	return b.Topology(), nil
}
