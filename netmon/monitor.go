package netmon

import (
	"errors"
	"time"

	"github.com/millrace/millrace/topology"
)

// A Link is one direction pair: a rack's link to the core, or a node's card.
type Link struct {
	Up, Down           float64 // smoothed utilisation, 1 is full; 0 if the rate is not modelled
	UpBytes, DownBytes int64   // since the start
}

// Utilisation returns the busier direction: NetState of spec/nas 3.3.
func (l Link) Utilisation() float64 { return max(l.Up, l.Down) }

// A Rack is a rack's link to the core with its history of congestion.
type Rack struct {
	Link
	Congested bool
	Episodes  int           // times it became congested (rising edges)
	Since     time.Duration // start of the present episode; meaningful if Congested
	Total     time.Duration // time spent congested, the present episode included
}

// meter gathers the bytes of one interval.
type meter struct{ up, down int64 }

// A Monitor watches one cluster. One goroutine uses it.
type Monitor struct {
	topo  *topology.Topology
	cfg   Config
	last  time.Duration
	begun bool

	racks     []Rack
	nodes     []Link
	rackMeter []meter
	nodeMeter []meter
	warm      []topology.NodeID // nodes with bytes to sample, or a utilisation that is not yet 0
	isWarm    []bool            // by node
	matrix    []int64           // rack to rack, row by sender
	side      int               // racks in matrix
}

// New returns a monitor of a cluster in which nothing was sent yet.
func New(topo *topology.Topology, cfg Config) (*Monitor, error) {
	if topo == nil {
		return nil, errors.New("network monitor needs a topology")
	}
	if cfg.Clear == 0 {
		cfg.Clear = cfg.Threshold
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	m := &Monitor{topo: topo, cfg: cfg}
	m.grow()
	return m, nil
}

// grow makes room for racks and nodes added to the topology.
func (m *Monitor) grow() {
	for len(m.nodes) < m.topo.NumNodes() {
		m.nodes = append(m.nodes, Link{})
		m.nodeMeter = append(m.nodeMeter, meter{})
		m.isWarm = append(m.isWarm, false)
	}
	racks := m.topo.NumRacks()
	if len(m.racks) == racks {
		return
	}
	for len(m.racks) < racks {
		m.racks = append(m.racks, Rack{})
		m.rackMeter = append(m.rackMeter, meter{})
	}
	matrix := make([]int64, racks*racks)
	for r := range m.side {
		copy(matrix[r*racks:], m.matrix[r*m.side:(r+1)*m.side])
	}
	m.matrix, m.side = matrix, racks
}

// Count adds bytes sent from src to dst. Traffic inside a node costs nothing;
// inside a rack it uses the two cards; between racks also both racks' links.
// Unknown nodes and bytes below 1 are ignored: a report may come from a node
// that has just left.
func (m *Monitor) Count(src, dst topology.NodeID, bytes int64) {
	if bytes <= 0 || !m.topo.Has(src) || !m.topo.Has(dst) {
		return
	}
	m.grow()
	from, to := m.topo.RackOf(src), m.topo.RackOf(dst)
	m.matrix[int(from)*m.side+int(to)] += bytes
	if src == dst {
		return
	}
	m.nodeMeter[src].up += bytes
	m.nodeMeter[dst].down += bytes
	m.warmUp(src)
	m.warmUp(dst)
	if from != to {
		m.rackMeter[from].up += bytes
		m.rackMeter[to].down += bytes
	}
}

// Circuit adds bytes that went from src to dst by an optical circuit between their racks, bypassing cards and racks'
// links.
func (m *Monitor) Circuit(src, dst topology.NodeID, bytes int64) {
	if bytes <= 0 || !m.topo.Has(src) || !m.topo.Has(dst) {
		return
	}
	m.grow()
	m.matrix[int(m.topo.RackOf(src))*m.side+int(m.topo.RackOf(dst))] += bytes
}

// Background adds traffic on rack r's link that is not between our nodes.
func (m *Monitor) Background(r topology.RackID, up, down int64) {
	if !m.topo.HasRack(r) {
		return
	}
	m.grow()
	m.rackMeter[r].up += max(up, 0)
	m.rackMeter[r].down += max(down, 0)
}

// Sample closes the interval that ends at now and returns how many racks became
// congested or ceased to be. The first call only starts the clock, and keeps
// what was counted before it for the next; a call that is not later than the
// last does nothing.
func (m *Monitor) Sample(now time.Duration) (changed int) {
	m.grow()
	if !m.begun {
		m.begun, m.last = true, now
		return 0
	}
	span := now - m.last
	if span <= 0 {
		return 0
	}
	m.last = now
	m.sampleNodes(span)
	for r := range m.racks {
		rack := m.topo.Rack(topology.RackID(r))
		m.racks[r].update(&m.rackMeter[r], rack.Uplink, rack.Downlink, span, m.cfg.Weight)
		if m.racks[r].judge(now, span, &m.cfg) {
			changed++
		}
	}
	return changed
}

// warmUp includes a node in the next samples.
func (m *Monitor) warmUp(n topology.NodeID) {
	if !m.isWarm[n] {
		m.isWarm[n] = true
		m.warm = append(m.warm, n)
	}
}

// sampleNodes closes the interval of the cards. It skips idle cards that sent nothing: a simulation counts by racks
// alone, and has thousands of cards.
func (m *Monitor) sampleNodes(span time.Duration) {
	kept := m.warm[:0]
	for _, n := range m.warm {
		l, nic := &m.nodes[n], m.topo.Node(n).NIC
		l.update(&m.nodeMeter[n], nic, nic, span, m.cfg.Weight)
		if m.isWarm[n] = l.Up != 0 || l.Down != 0; m.isWarm[n] {
			kept = append(kept, n)
		}
	}
	m.warm = kept
}

func (l *Link) update(m *meter, up, down topology.Rate, span time.Duration, weight float64) {
	l.UpBytes += m.up
	l.DownBytes += m.down
	l.Up += weight * (share(m.up, up, span) - l.Up)
	l.Down += weight * (share(m.down, down, span) - l.Down)
	*m = meter{}
}

func share(bytes int64, rate topology.Rate, span time.Duration) float64 {
	if rate <= 0 {
		return 0
	}
	return float64(bytes) / (float64(rate) * span.Seconds())
}

// judge updates congestion and reports whether it changed. The interval counts
// as congested if the rack is so at its end.
func (r *Rack) judge(now, span time.Duration, cfg *Config) bool {
	busy := r.Utilisation() >= cfg.Threshold || r.Congested && r.Utilisation() >= cfg.Clear
	changed := busy != r.Congested
	if busy {
		r.Total += span
		if changed {
			r.Episodes++
			r.Since = now
		}
	}
	r.Congested = busy
	return changed
}
