package flow

import (
	"math"
	"math/bits"

	"github.com/millrace/millrace/topology"
)

// grid is the classes of flows from racks to nodes. Their places are fixed, row by source and column by destination
// with the nodes of a rack side by side, so that rates can be found by walking rows and columns. If only such flows are
// under way, this is several times quicker than using lists. About half of the places are empty, in no order: sets say
// which are not, so that no walk has to test each of them.
type grid struct {
	rows, columns int
	start         []int32           // by rack: its first column; one more at the end
	node          []topology.NodeID // by column
	bit           []int32           // by column: its place in sets of columns
	others        int               // active classes that are not on the grid
	words         []int32           // by rack: its first word in sets of columns; one more at the end
	busy          set               // by row: columns with flows
	senders       []set             // by column: rows with flows
	cards, trunks []int32           // links with flows to settle

	// The unsettled parts of the solution in progress.
	columnsOpen set // by words: columns whose card is not settled
	poolsOpen   set // racks whose cards together are not settled
	upsOpen     set // racks where neither that nor the link up is settled
	downsOpen   set // racks whose link down is not settled
}

// maxGrid bounds the places of a grid.
const maxGrid = 1 << 18

// layGrid makes the places; there are none if the cluster is too large.
func (n *Network) layGrid() {
	g := &n.grid
	nodes, racks := n.topo.NumNodes(), n.topo.NumRacks()
	if nodes*racks > maxGrid {
		return
	}
	g.rows, g.columns = racks, nodes
	words := int32(0)
	for r := range topology.RackID(racks) {
		g.start, g.words = append(g.start, int32(len(g.node))), append(g.words, words)
		for node := range n.topo.NodesIn(r) {
			g.bit = append(g.bit, words*wordBits+int32(len(g.node))-g.start[r])
			g.node = append(g.node, node)
		}
		words += int32(wordsOf(n.topo.RackSize(r)))
	}
	g.start, g.words = append(g.start, int32(len(g.node))), append(g.words, words)
	g.busy, g.columnsOpen = make(set, racks*int(words)), make(set, words)
	g.poolsOpen, g.upsOpen, g.downsOpen = newSet(racks), newSet(racks), newSet(racks)
	for range nodes {
		g.senders = append(g.senders, newSet(racks))
	}
	for r := range topology.RackID(racks) {
		for _, node := range g.node {
			n.addClass(Spec{From: Rack(r), To: Node(node)})
		}
	}
}

// has reports whether a class is on the grid.
func (g *grid) has(id int32) bool { return int(id) < g.rows*g.columns }

// note records whether a class has flows.
func (g *grid) note(id int32, has bool) {
	if !g.has(id) {
		if has {
			g.others++
		} else {
			g.others--
		}
		return
	}
	row, column := id/int32(g.columns), id%int32(g.columns)
	at := row*g.words[g.rows]*wordBits + g.bit[column]
	if has {
		g.busy.add(at)
		g.senders[column].add(row)
	} else {
		g.busy.remove(at)
		g.senders[column].remove(row)
	}
}

// pays reports whether walking the grid is quicker with so many active classes: all of them are on it, and they fill
// enough of it.
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

// solveGrid works in rounds. Cards that offer less than every rack's links settle their flows together, as no flow
// crosses two of them; then the rack's link that offers least does. Offers only grow, so cards are examined again only
// when the least offer of the racks' links has reached the least offer of the cards.
func (n *Network) solveGrid() {
	g, s := &n.grid, &n.solver
	g.columnsOpen.fill(len(g.columnsOpen) * wordBits)
	g.poolsOpen.fill(g.rows)
	g.upsOpen.fill(g.rows)
	g.downsOpen.fill(g.rows)
	g.cards, g.trunks = g.cards[:0], g.trunks[:0]
	for l, flows := range n.links.weight { // in this order, so that walks follow memory
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
	trunks, kept := g.trunks, 0
	for _, l := range trunks {
		r := &rests[l]
		if r.open == 0 {
			continue
		}
		trunks[kept] = l
		kept++
		if r.left < rate*r.open {
			link, rate = l, max(0, r.left)/r.open
		}
	}
	g.trunks = trunks[:kept]
	return link, rate
}

// surely is above one by more than the rounding error of a product and a quotient.
const surely = 1 + 1e-15

// settleCards settles the cards that offer no more than a rate, and returns the least offer of the others. Most offer
// more than the least so far, which a comparison shows without a division.
func (n *Network) settleCards(most float64) float64 {
	g, rests := &n.grid, n.solver.rest
	least, above := math.Inf(1), math.Inf(1)
	cards, kept := g.cards, 0
	for _, l := range cards {
		r := &rests[l]
		if r.open == 0 {
			continue
		}
		if r.left <= above*r.open {
			offer := max(0, r.left) / r.open
			if offer <= most {
				n.settleColumn(l-int32(n.links.nodes), offer)
				continue
			}
			if offer < least {
				least, above = offer, offer*surely
			}
		}
		cards[kept] = l
		kept++
	}
	g.cards = cards[:kept]
	return least
}

// settleTrunk gives the rate to every class on a rack's link that has none yet.
func (n *Network) settleTrunk(link int32, rate float64) {
	g, l := &n.grid, &n.links
	at := link - int32(2*l.nodes)
	rack := at % int32(l.racks)
	switch at / int32(l.racks) {
	case 0: // the cards of a rack together, out: its row
		n.settleRow(rack, rate, true)
		g.poolsOpen.remove(rack)
		g.upsOpen.remove(rack)
	case 2: // its link up: the row, but not into itself
		n.settleRow(rack, rate, false)
		g.upsOpen.remove(rack)
	case 3: // its link down: its columns, but not from itself
		for row := range g.upsOpen.all {
			if row != rack {
				n.settleBlock(topology.RackID(row), topology.RackID(rack), rate)
			}
		}
		g.downsOpen.remove(rack)
	}
}

// settleRow gives a rate to the classes from a rack to others, and to itself if itself is set, in the order of racks.
func (n *Network) settleRow(row int32, rate float64, itself bool) {
	g := &n.grid
	across := g.upsOpen.has(row)
	for to := range int32(g.rows) {
		if to == row && itself || to != row && across && g.downsOpen.has(to) {
			n.settleBlock(topology.RackID(row), topology.RackID(to), rate)
		}
	}
}

// settleBlock gives a rate to the classes from one rack to the nodes of another.
func (n *Network) settleBlock(row, to topology.RackID, rate float64) {
	g := &n.grid
	total, column := int32(0), g.start[to]
	open := g.columnsOpen[g.words[to]:g.words[to+1]]
	busy := g.busy[int32(row)*g.words[g.rows]+g.words[to]:][:len(open)]
	for w, left := range open {
		total += n.settleWord(int32(row)*int32(g.columns), column, busy[w]&left, rate)
		column += wordBits
	}
	n.take(row, to, rate, total)
}

// settleWord gives a rate to the classes of a row in one word of the set, starting at a column, and returns how many
// flows they have.
func (n *Network) settleWord(base, column int32, word uint64, rate float64) (total int32) {
	counts, rates := n.counts[base+column:], n.rates[base+column:]
	cards := n.solver.rest[int32(n.links.nodes)+column:]
	for ; word != 0; word &= word - 1 {
		k := bits.TrailingZeros64(word)
		count, card := float64(counts[k]), &cards[k]
		rates[k] = rate
		total += counts[k]
		card.left -= rate * count
		card.open -= count
	}
	return total
}

// settleColumn gives a rate to the classes from all racks to one node.
func (n *Network) settleColumn(column int32, rate float64) {
	g := &n.grid
	to := n.topo.RackOf(g.node[column])
	card := &n.solver.rest[int32(n.links.nodes)+column]
	across := g.downsOpen.has(int32(to))
	for row := range g.senders[column].all {
		if row == int32(to) && !g.poolsOpen.has(row) || row != int32(to) && !(across && g.upsOpen.has(row)) {
			continue
		}
		id := row*int32(g.columns) + column
		count := n.counts[id]
		n.rates[id] = rate
		card.left -= rate * float64(count)
		card.open -= float64(count)
		n.take(topology.RackID(row), to, rate, count)
	}
	g.columnsOpen.remove(g.bit[column])
}

// take counts flows with a rate on the links between two racks.
func (n *Network) take(row, to topology.RackID, rate float64, flows int32) {
	count := float64(flows)
	used := rate * count
	rest := n.solver.rest
	n.solver.settled += int(flows)
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
