package live

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Machines is the cluster of a laboratory, in the words of a file of cluster up.
type Machines struct {
	Racks   int
	Classes []Class
	// Links are emulated if they have rates.
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

// Topology returns what a policy sees of the machines, in the order in which the master came to know them and their
// racks, which decides who is asked first. If order is nil, it is the order in which they are started.
func (m *Machines) Topology(order []int) (*topology.Topology, []scheduler.Capacity, error) {
	b := topology.NewBuilder()
	if err := b.SetOCS(m.Links.Optical); err != nil {
		return nil, nil, err
	}
	var room []scheduler.Capacity
	racks := map[int]topology.RackID{}
	for n := range m.count() {
		i := machine(order, topology.NodeID(n))
		rack, known := racks[i%m.Racks]
		if !known {
			var err error
			if rack, err = b.AddRack(m.Links.Rack(fmt.Sprintf("r%d", i%m.Racks+1))); err != nil {
				return nil, nil, err
			}
			racks[i%m.Racks] = rack
		}
		c := m.Class(i)
		if _, err := b.AddNode(topology.Node{Name: fmt.Sprintf("w%d", i+1), Rack: rack, Class: c.Name, NIC: m.Links.NIC}); err != nil {
			return nil, nil, err
		}
		room = append(room, scheduler.Capacity{Containers: int32(c.Containers)})
	}
	return b.Topology(), room, nil
}

// machine returns the number of a node's machine, from 0 in the order in which they are started.
func machine(order []int, n topology.NodeID) int {
	if order == nil {
		return int(n)
	}
	return order[n]
}

// count returns how many machines there are.
func (m *Machines) count() (n int) {
	for _, c := range m.Classes {
		n += c.Count
	}
	return n
}

// Class returns the class of machine i.
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

// Alike reports whether all machines are the same for a task.
func (m *Machines) Alike() bool { return m.even() && !m.linked() }

// even reports whether all machines are as fast as this one.
func (m *Machines) even() bool {
	return !slices.ContainsFunc(m.Classes, func(c Class) bool { return c.Speed != 0 && c.Speed != 1 })
}

// linked reports whether links have rates.
func (m *Machines) linked() bool { return m.Links.NIC != 0 || m.Links.Uplink != 0 }

// emulated returns how many processors emulated machines have together, one for each container; 0 if none are emulated.
func (m *Machines) emulated() (processors int) {
	for _, c := range m.Classes {
		if c.Speed > 0 {
			processors += c.Count * c.Containers
		}
	}
	return processors
}

// Slower returns how much longer a task takes on machine i.
func (m *Machines) Slower(i int) float64 {
	if s := m.Class(i).Speed; s > 0 {
		return 1 / s
	}
	return 1
}
