package flow

import (
	"errors"
	"math"
	"time"

	"github.com/millrace/millrace/topology"
)

// Never is later than anything.
const Never = time.Duration(math.MaxInt64)

// Config says how the network is computed.
type Config struct {
	// Tick is the grid on which flows begin, end and get new rates. 0 computes at
	// every change, which is exact. Larger: cheaper, and every flow ends up to a
	// tick late (spec/nas 2.6: 0.1 s up to 100 nodes, 1 s for 600).
	Tick time.Duration
	// Plain makes the optical switch weigh a pair of racks by all bytes that wait,
	// the literal reading of spec/jobpacker 3.2; by default no more counts than can be
	// sent until the next matching.
	Plain bool
}

// An End is where a flow begins or ends: a node, or a rack as a whole.
type End struct {
	node topology.NodeID
	rack topology.RackID
}

// Node is the end at node n.
func Node(n topology.NodeID) End { return End{node: n, rack: topology.NoRack} }

// Rack is the end at all nodes of rack r together.
func Rack(r topology.RackID) End { return End{node: topology.NoNode, rack: r} }

// A Spec describes a flow.
type Spec struct {
	From, To End
	Bytes    float64
	// Optical flows wait for a circuit between their racks and use nothing else.
	// Inside a rack, or without an optical switch, the flag means nothing.
	Optical bool
	// Tag comes back when the flow ends.
	Tag int32
}

// An ID names a flow that has not ended.
type ID struct {
	slot int32
	gen  uint32
}

// flow is the state of one.
type flow struct {
	gen     uint32
	tag     int32
	class   int32 // index of classes; of optical pairs where optical
	optical bool
	live    bool
	begun   bool    // it is in its class
	bytes   float64 // all of it
	mark    float64 // value of the class's clock at its end
	from    int32   // racks
	to      int32
}

// A Network is the flows of one cluster. One goroutine uses it.
type Network struct {
	topo *topology.Topology
	cfg  Config

	links   links
	grid    grid
	classes []class
	stands  []standing
	counts  []int32   // by class: flows that have begun
	rates   []float64 // by class: of one flow, bytes a second
	clocks  []float64 // by class
	dues    []float64 // by class: its first mark; infinite without flows
	ends    []marks   // by class
	table   [][]int32 // class by first and last link, plus one; 0: none yet
	active  []int32   // classes with flows
	solver  solver
	optics  *optics

	flows   []flow
	free    []int32
	waiting []int32 // flows that have not begun yet
	live    int     // flows on the packet network that have begun

	now     time.Duration
	solveAt time.Duration // when rates must be computed; Never: they are up to date
	finish  time.Duration // when the first flow ends at the present rates
	ripe    []int32       // scratch: classes with flows that are over
	places  []int32       // scratch: the places of these classes
	slots   []int32       // scratch: their flows
	over    []int32       // tags of ended flows
	taken   int           // how many of them Done has returned
	atOnce  time.Duration // when a flow last ended as it was started

	totals Totals
	matrix []float64 // bytes of ended flows, rack to rack
}

// New returns a network without flows.
func New(topo *topology.Topology, cfg Config) (*Network, error) {
	if topo == nil || topo.NumNodes() == 0 {
		return nil, errors.New("the network has no nodes")
	}
	if cfg.Tick < 0 {
		return nil, errors.New("the network's tick is negative")
	}
	n := &Network{topo: topo, cfg: cfg, solveAt: Never, finish: Never}
	n.links = newLinks(topo)
	n.table = make([][]int32, len(n.links.capacity)+1)
	n.layGrid()
	n.matrix = make([]float64, topo.NumRacks()*topo.NumRacks())
	if topo.OCS().Present() {
		n.optics = newOptics(topo, cfg.Plain)
	}
	return n, nil
}

// Start begins a flow now, or on the next tick. A flow of no bytes, inside a node, or
// over links that are not modelled ends at once.
func (n *Network) Start(now time.Duration, s Spec) ID {
	id := n.slot()
	f := &n.flows[id.slot]
	f.tag, f.bytes, f.live = s.Tag, max(0, s.Bytes), true
	f.from, f.to = int32(n.rackOf(s.From)), int32(n.rackOf(s.To))
	f.optical = s.Optical && n.optics != nil && f.from != f.to
	switch {
	case f.bytes == 0 || n.inside(s):
		n.atOnce = now
		n.end(id.slot)
		return id
	case f.optical:
		n.optics.add(now, n, id.slot)
		return id
	}
	f.class = n.classOf(s)
	if n.classes[f.class].hops == 0 {
		n.atOnce = now
		n.end(id.slot)
		return id
	}
	n.waiting = append(n.waiting, id.slot)
	n.touch(now)
	return id
}

func (n *Network) inside(s Spec) bool { return s.From == s.To && s.From.node != topology.NoNode }

func (n *Network) rackOf(e End) topology.RackID {
	if e.node != topology.NoNode {
		return n.topo.RackOf(e.node)
	}
	return e.rack
}

func (n *Network) slot() ID {
	if k := len(n.free); k > 0 {
		i := n.free[k-1]
		n.free = n.free[:k-1]
		return ID{i, n.flows[i].gen}
	}
	n.flows = append(n.flows, flow{gen: 1})
	return ID{int32(len(n.flows) - 1), 1}
}

// touch requests new rates.
func (n *Network) touch(now time.Duration) {
	if n.solveAt == Never {
		n.solveAt = n.onGrid(now)
	}
}

// onGrid returns the first time from now on at which rates may change.
func (n *Network) onGrid(now time.Duration) time.Duration {
	if n.cfg.Tick == 0 {
		return now
	}
	return (now + n.cfg.Tick - 1) / n.cfg.Tick * n.cfg.Tick
}

// end removes a flow and queues its tag for Done.
func (n *Network) end(slot int32) {
	f := &n.flows[slot]
	n.count(f, f.bytes)
	n.over = append(n.over, f.tag)
	n.release(slot)
}

func (n *Network) release(slot int32) {
	f := &n.flows[slot]
	f.live, f.begun = false, false
	f.gen++
	n.free = append(n.free, slot)
}

// Extend gives a flow more bytes to send. A flow that has ended does not take them.
func (n *Network) Extend(now time.Duration, id ID, bytes float64) bool {
	f := &n.flows[id.slot]
	if f.gen != id.gen || !f.live || bytes < 0 {
		return false
	}
	f.bytes += bytes
	switch {
	case f.optical:
		n.optics.extend(now, n, id.slot, bytes)
	case f.begun:
		n.advance(now)
		f.mark += bytes
		n.ends[f.class].push(mark{f.mark, id.slot, f.gen}) // the old mark is now stale
		n.refresh(f.class)
		n.touch(now)
	}
	return true
}

// Stop ends a flow without returning its tag. It returns false for a flow that has ended by itself: its tag was, or
// will be, returned.
func (n *Network) Stop(now time.Duration, id ID) bool {
	f := &n.flows[id.slot]
	if f.gen != id.gen || !f.live {
		return false
	}
	switch {
	case f.optical:
		n.optics.drop(now, n, id.slot)
	case f.begun:
		n.advance(now)
		n.count(f, f.bytes-max(0, f.mark-n.clocks[f.class]))
		f.live = false
		n.leave(f.class)
		n.touch(now)
	}
	n.release(id.slot) // a waiting flow is skipped when its time comes
	return true
}
