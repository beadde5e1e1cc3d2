package flow

import (
	"math"

	"github.com/millrace/millrace/topology"
)

// grid is the classes of flows from racks to nodes. They have their places in advance, row
// by source and column by destination with the nodes of a rack side by side, so that rates
// can be found by walking rows and columns. Where only such flows are under way, this is
// several times quicker than going by lists.
type grid struct {
	rows, columns int
	start         []int32           // by rack: its first column; one more at the end
	node          []topology.NodeID // by column
	others        int               // active classes that are not on the grid
	done          []bool            // by link: it is settled
	cards, trunks []int32           // links with flows to settle
}

// maxGrid bounds the places of a grid.
const maxGrid = 1 << 18

// layGrid makes the places; a cluster that is too large has none.
func (n *Network) layGrid() {
	g := &n.grid
	nodes, racks := n.topo.NumNodes(), n.topo.NumRacks()
	if nodes*racks > maxGrid {
		return
	}
	g.rows, g.columns = racks, nodes
	for r := range topology.RackID(racks) {
		g.start = append(g.start, int32(len(g.node)))
		for node := range n.topo.NodesIn(r) {
			g.node = append(g.node, node)
		}
	}
	g.start = append(g.start, int32(len(g.node)))
	g.done = make([]bool, len(n.links.capacity))
	for r := range topology.RackID(racks) {
		for _, node := range g.node {
			n.addClass(Spec{From: Rack(r), To: Node(node)})
		}
	}
}

// has reports whether a class is on the grid.
func (g *grid) has(id int32) bool { return int(id) < g.rows*g.columns }

// pays reports whether walking the grid is the quicker way with so many active classes:
// all of them are on it, and they fill a part of it.
func (g *grid) pays(active int) bool {
	return g.rows > 0 && g.others == 0 && 16*active >= g.rows*g.columns
}

// gridClass returns the class of a flow from a rack to a node.
func (n *Network) gridClass(s Spec) (int32, bool) {
	g := &n.grid
	if g.rows == 0 || s.From.node != topology.NoNode || s.To.node == topology.NoNode {
		return 0, false
	}
	return int32(s.From.rack)*int32(g.columns) + n.links.column[s.To.node], true
}

// solveGrid goes round by round: cards that offer less than every rack's links settle
// their flows together, as no flow crosses two of them; then the least of the racks'
// links does. Offers only grow, so cards are looked at again only when the racks' least
// offer has come up to the cards' least.
func (n *Network) solveGrid() {
	g, s := &n.grid, &n.solver
	clear(g.done)
	g.cards, g.trunks = g.cards[:0], g.trunks[:0]
	for l, flows := range n.links.weight { // in this order, so that walks go the way of memory
		switch {
		case flows == 0:
		case l < 2*n.links.nodes:
			g.cards = append(g.cards, int32(l))
		default:
			g.trunks = append(g.trunks, int32(l))
		}
	}
	least := 0.0 // no card offers less
	for s.settled < n.live {
		trunk, rate := g.leastTrunk(s.rest)
		if least > rate {
			n.settleTrunk(trunk, rate)
			continue
		}
		if least = n.settleCards(rate); math.IsInf(least, 1) && trunk < 0 {
			return
		}
	}
}

// leastTrunk returns the rack's link that offers least, -1 if none has flows to settle.
func (g *grid) leastTrunk(rests []rest) (link int32, rate float64) {
	link, rate = -1, math.Inf(1)
	open := g.trunks[:0]
	for _, l := range g.trunks {
		r := &rests[l]
		if r.open == 0 {
			continue
		}
		open = append(open, l)
		if r.left < rate*float64(r.open) {
			link, rate = l, max(0, r.left)/float64(r.open)
		}
	}
	g.trunks = open
	return link, rate
}

// settleCards settles the cards that offer no more than a rate, and returns the least
// offer of the others.
func (n *Network) settleCards(most float64) float64 {
	g, rests := &n.grid, n.solver.rest
	least := math.Inf(1)
	open := g.cards[:0]
	for _, l := range g.cards {
		r := &rests[l]
		if r.open == 0 {
			continue
		}
		offer := max(0, r.left) / float64(r.open)
		if offer <= most {
			column := l - int32(n.links.nodes)
			n.settleColumn(column, n.topo.RackOf(g.node[column]), offer)
			g.done[l] = true
			continue
		}
		open = append(open, l)
		least = min(least, offer)
	}
	g.cards = open
	return least
}

// settleTrunk gives every class on a rack's link that has no rate yet its rate.
func (n *Network) settleTrunk(link int32, rate float64) {
	l := &n.links
	at := int(link) - 2*l.nodes
	rack := topology.RackID(at % l.racks)
	for other := range topology.RackID(l.racks) {
		switch at / l.racks {
		case 0: // the cards of a rack together, out: its row
			n.settleBlock(rack, other, rate)
		case 2: // its link up: the row, but not into itself
			if other != rack {
				n.settleBlock(rack, other, rate)
			}
		case 3: // its link down: its columns, but not from itself
			if other != rack {
				n.settleBlock(other, rack, rate)
			}
		}
	}
	n.grid.done[link] = true
}

// blockOpen reports whether classes from one rack to another may still lack a rate.
func (n *Network) blockOpen(row, to topology.RackID) bool {
	done := n.grid.done
	if done[n.links.poolOut(row)] {
		return false
	}
	return row == to || !done[n.links.up(row)] && !done[n.links.down(to)]
}

// settleBlock gives a rate to the classes from one rack to the nodes of another.
func (n *Network) settleBlock(row, to topology.RackID, rate float64) {
	if !n.blockOpen(row, to) {
		return
	}
	g, rest := &n.grid, n.solver.rest
	first, last := g.start[to], g.start[to+1]
	base := int32(row) * int32(g.columns)
	counts := n.counts[base+first : base+last]
	rates := n.rates[base+first : base+last][:len(counts)]
	cards := rest[int32(n.links.nodes)+first : int32(n.links.nodes)+last][:len(counts)]
	done := g.done[int32(n.links.nodes)+first : int32(n.links.nodes)+last][:len(counts)]
	total := int32(0)
	for k, count := range counts {
		if count == 0 || done[k] {
			continue
		}
		rates[k] = rate
		total += count
		cards[k].left -= rate * float64(count)
		cards[k].open -= count
	}
	n.take(row, to, rate, total)
}

// settleColumn gives a rate to the classes from all racks to one node.
func (n *Network) settleColumn(column int32, to topology.RackID, rate float64) {
	g := &n.grid
	in := n.links.in(g.node[column])
	for row := range topology.RackID(g.rows) {
		id := int32(row)*int32(g.columns) + column
		count := n.counts[id]
		if count == 0 || !n.blockOpen(row, to) {
			continue
		}
		n.rates[id] = rate
		n.solver.rest[in].left -= rate * float64(count)
		n.solver.rest[in].open -= count
		n.take(row, to, rate, count)
	}
}

// take counts flows with a rate on the links between two racks.
func (n *Network) take(row, to topology.RackID, rate float64, count int32) {
	used := rate * float64(count)
	rest := n.solver.rest
	n.solver.settled += int(count)
	pool := &rest[n.links.poolOut(row)]
	pool.left -= used
	pool.open -= count
	if row == to {
		return
	}
	up, down := &rest[n.links.up(row)], &rest[n.links.down(to)]
	up.left -= used
	up.open -= count
	down.left -= used
	down.open -= count
}
