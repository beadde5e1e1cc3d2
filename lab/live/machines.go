package live

import (
	"fmt"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Machines is the cluster of a laboratory, in the words of a file of cluster up.
type Machines struct {
	Racks   int
	Classes []Class
	// Links are emulated where they have rates.
	Links     topology.Links
	Placement string // of blocks; "" is the default
	Copies    int    // of a block of input
}

// A Class is machines that are alike, in the racks in turn.
type Class struct {
	Name              string
	Count, Containers int
	Speed             float64 // a part of this machine's; 0: not emulated
}

// uniform is machines of one kind in racks.
func uniform(racks, machines, containers int) Machines {
	return Machines{Racks: racks, Classes: []Class{{Count: machines, Containers: containers}}}
}

// Topology builds what a policy sees of the machines, which are numbered in the order in which they are started.
func (m *Machines) Topology() (*topology.Topology, []scheduler.Capacity, error) {
	b := topology.NewBuilder()
	if err := b.SetOCS(m.Links.Optical); err != nil {
		return nil, nil, err
	}
	for r := range m.Racks {
		if _, err := b.AddRack(m.Links.Rack(fmt.Sprintf("r%d", r+1))); err != nil {
			return nil, nil, err
		}
	}
	var room []scheduler.Capacity
	for _, c := range m.Classes {
		for range c.Count {
			n := topology.Node{Name: fmt.Sprintf("w%d", len(room)+1), Rack: topology.RackID(len(room) % m.Racks), Class: c.Name, NIC: m.Links.NIC}
			if _, err := b.AddNode(n); err != nil {
				return nil, nil, err
			}
			room = append(room, scheduler.Capacity{Containers: int32(c.Containers)})
		}
	}
	return b.Topology(), room, nil
}

// Class is the class of machine i.
func (m *Machines) Class(i int) *Class {
	for k := range m.Classes {
		c := &m.Classes[k]
		if i < c.Count {
			return c
		}
		i -= c.Count
	}
	return &m.Classes[len(m.Classes)-1]
}

// Alike reports whether it makes no difference to a task where it runs.
func (m *Machines) Alike() bool {
	for _, c := range m.Classes {
		if c.Speed != 0 {
			return false
		}
	}
	return m.Links.NIC == 0 && m.Links.Uplink == 0
}

// Slower is how much longer a task takes on machine i.
func (m *Machines) Slower(i int) float64 {
	if s := m.Class(i).Speed; s > 0 {
		return 1 / s
	}
	return 1
}
