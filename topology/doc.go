// Package topology describes where nodes are: racks, links, machine classes
// and distances. It is pure data: no sockets, no files, no clock.
//
// The three calls that matter:
//
//	b := topology.NewBuilder()
//	rack, err := b.AddRack(topology.Rack{Name: "r1", Uplink: topology.Gbps(1)})
//	node, err := b.AddNode(topology.Node{Name: "n1", Rack: rack, NIC: topology.Gbps(1)})
//
// The caller owns the Builder and gives its read-only view, b.Topology(), to everybody else. Ids are small, dense
// and never reused. A node that dies keeps its id and may come back under it, so tables may be slices indexed by
// NodeID or RackID. Racks and nodes can be added while others read, but only by the goroutine that also drives the
// readers, since nothing here locks.
package topology
