package flow

import (
	"math"

	"github.com/millrace/millrace/topology"
)

// links are all links by number: cards out, cards in, racks' cards together out and in,
// racks' links up and down.
type links struct {
	nodes, racks int
	column       []int32   // by node: its place when racks are side by side
	capacity     []float64 // bytes a second; 0: not modelled, never crossed
	weight       []int32   // flows that cross it
	load         []float64 // bytes a second at the present rates
	moved        []float64 // bytes since the start
	members      [][]member
	used         []int32 // links that are crossed
	place        []int32 // of each in used
}

// member is a class that crosses a link, and which of its hops that is.
type member struct {
	class int32
	hop   int32
}

func newLinks(t *topology.Topology) links {
	l := links{nodes: t.NumNodes(), racks: t.NumRacks()}
	l.column = make([]int32, l.nodes)
	next := int32(0)
	for r := range topology.RackID(l.racks) {
		for n := range t.NodesIn(r) {
			l.column[n] = next
			next++
		}
	}
	total := 2*l.nodes + 4*l.racks
	l.capacity = make([]float64, total)
	l.weight = make([]int32, total)
	l.load = make([]float64, total)
	l.moved = make([]float64, total)
	l.members = make([][]member, total)
	l.place = make([]int32, total)
	for i := range l.nodes {
		node := t.Node(topology.NodeID(i))
		l.capacity[l.out(node.ID)] = float64(node.NIC)
		l.capacity[l.in(node.ID)] = float64(node.NIC)
		l.capacity[l.poolOut(node.Rack)] += float64(node.NIC)
		l.capacity[l.poolIn(node.Rack)] += float64(node.NIC)
	}
	for i := range l.racks {
		rack := t.Rack(topology.RackID(i))
		l.capacity[l.up(rack.ID)] = float64(rack.Uplink)
		l.capacity[l.down(rack.ID)] = float64(rack.Downlink)
	}
	return l
}

func (l *links) out(n topology.NodeID) int32     { return int32(n) }
func (l *links) in(n topology.NodeID) int32      { return int32(l.nodes) + l.column[n] }
func (l *links) poolOut(r topology.RackID) int32 { return int32(2*l.nodes) + int32(r) }
func (l *links) poolIn(r topology.RackID) int32  { return int32(2*l.nodes+l.racks) + int32(r) }
func (l *links) up(r topology.RackID) int32      { return int32(2*l.nodes+2*l.racks) + int32(r) }
func (l *links) down(r topology.RackID) int32    { return int32(2*l.nodes+3*l.racks) + int32(r) }

// add and remove count a flow in and out.
func (l *links) add(link int32) {
	if l.weight[link] == 0 {
		l.place[link] = int32(len(l.used))
		l.used = append(l.used, link)
	}
	l.weight[link]++
}

func (l *links) remove(link int32) {
	l.weight[link]--
	if l.weight[link] > 0 {
		return
	}
	l.load[link] = 0
	last := l.used[len(l.used)-1]
	l.used[l.place[link]] = last
	l.place[last] = l.place[link]
	l.used = l.used[:len(l.used)-1]
}

// first returns the link by which a flow leaves e, and last the one by which it enters e.
func (l *links) first(e End) int32 {
	if e.node != topology.NoNode {
		return l.out(e.node)
	}
	return l.poolOut(e.rack)
}

func (l *links) last(e End) int32 {
	if e.node != topology.NoNode {
		return l.in(e.node)
	}
	return l.poolIn(e.rack)
}

// path returns the modelled links that a flow crosses.
func (n *Network) path(s Spec) (hops [4]int32, count int8) {
	l := &n.links
	add := func(link int32) {
		if l.capacity[link] > 0 {
			hops[count] = link
			count++
		}
	}
	add(l.first(s.From))
	if from, to := n.rackOf(s.From), n.rackOf(s.To); from != to {
		add(l.up(from))
		add(l.down(to))
	}
	add(l.last(s.To))
	return hops, count
}

// classOf returns the class of a flow, and opens it if it is new.
func (n *Network) classOf(s Spec) int32 {
	if id, ok := n.gridClass(s); ok {
		return id
	}
	first, last := n.links.first(s.From), n.links.last(s.To)
	row := n.table[first]
	if row == nil {
		row = make([]int32, len(n.links.capacity))
		n.table[first] = row
	}
	if row[last] == 0 {
		n.addClass(s)
		row[last] = int32(len(n.classes))
	}
	return row[last] - 1
}

func (n *Network) addClass(s Spec) {
	hops, count := n.path(s)
	n.classes = append(n.classes, class{path: hops, hops: count})
	n.stands = append(n.stands, standing{})
	n.counts = append(n.counts, 0)
	n.rates, n.clocks = append(n.rates, 0), append(n.clocks, 0)
	n.dues = append(n.dues, math.Inf(1))
	n.ends = append(n.ends, nil)
}
