package sim

import (
	"time"

	"github.com/millrace/millrace/topology"
)

// Traffic is what went over the network in a run, in bytes of ended transfers.
type Traffic struct {
	// Input, Shuffle and Output crossed racks; Local stayed in its rack.
	Input, Shuffle, Output float64
	Local                  float64
	Optical                float64 // of Shuffle, over circuits
	// JobShare is the mean over jobs of the share of their shuffle that crossed
	// racks (spec/nas 5, item 7).
	JobShare float64
	// Matrix has the bytes from rack to rack, row by sender.
	Matrix [][]float64

	bytes [numMoves][2]float64 // inside racks, across racks
}

// Cross returns all that crossed racks.
func (t *Traffic) Cross() float64 { return t.Input + t.Shuffle + t.Output }

// OpticalShare returns the part of the shuffle between racks that used circuits.
func (t *Traffic) OpticalShare() float64 {
	if t.Shuffle == 0 {
		return 0
	}
	return t.Optical / t.Shuffle
}

// A Carrier is a model with a network. The simulation then watches it with a monitor
// every [Config.Monitor] interval and tells the policies.
type Carrier interface {
	RackBytes(now time.Duration, r topology.RackID) (up, down float64)
	Traffic() Traffic
}

var (
	_ Carrier = (*network)(nil)
	_ Gated   = (*network)(nil)
)

// RackBytes implements Carrier.
func (m *network) RackBytes(now time.Duration, r topology.RackID) (up, down float64) {
	return m.net.RackBytes(now, r)
}

// Traffic implements Carrier.
func (m *network) Traffic() Traffic {
	t := m.traffic
	t.Input, t.Shuffle, t.Output = t.bytes[moveInput][1], t.bytes[moveShuffle][1], t.bytes[moveOutput][1]
	t.Local = t.bytes[moveInput][0] + t.bytes[moveShuffle][0] + t.bytes[moveOutput][0]
	k := m.cfg.Topology.NumRacks()
	for a := range k {
		row := make([]float64, k)
		for b := range row {
			row[b] = m.net.Sent(topology.RackID(a), topology.RackID(b))
		}
		t.Matrix = append(t.Matrix, row)
	}
	jobs := 0
	for _, j := range m.order {
		if all := j.sent[0] + j.sent[1]; all > 0 {
			t.JobShare += j.sent[1] / all
			jobs++
		}
	}
	t.JobShare /= float64(max(1, jobs))
	return t
}
