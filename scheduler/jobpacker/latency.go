package jobpacker

import (
	"time"

	"github.com/millrace/millrace/topology"
)

// A Profile is what the planner knows about a job.
type Profile struct {
	Maps, Reduces       int // N_map, N_red
	MapTime, ReduceTime time.Duration
	Shuffle             int64 // D_s, bytes
}

// A Model is the latency response function of a cluster (spec/jobpacker 2.4).
type Model struct {
	Racks       int // R
	MapSlots    int // k: places for maps in one rack
	ReduceSlots int // k again, where maps and reduces share containers
	Electrical  topology.Rate
	Optical     topology.Rate
	Threshold   int64 // E_thr: what a rack pair must exceed to use a circuit
	// Printed selects the shuffle formula as printed instead of the one that
	// reproduces Figure 4.6 (spec/jobpacker 6.1).
	Printed bool
}

// A Pair is the number of racks for a job's maps and for its reduces.
type Pair struct{ Maps, Reduces int }

// OCS reports whether the shuffle of p over the pair uses circuits.
func (m *Model) OCS(p *Profile, w Pair) bool {
	return float64(p.Shuffle) > float64(m.Threshold)*float64(w.Maps)*float64(w.Reduces)
}

// Latency is equation (4.1) of spec/jobpacker 2.4: the three stages one after the other.
func (m *Model) Latency(p *Profile, w Pair) time.Duration {
	return m.MapStage(p, w.Maps) + m.ShuffleStage(p, w) + m.ReduceStage(p, w.Reduces)
}

// MapStage is l_map: waves of maps, spread evenly over racks.
func (m *Model) MapStage(p *Profile, racks int) time.Duration {
	return time.Duration(waves(p.Maps, racks, m.MapSlots)) * p.MapTime
}

// ReduceStage is l_red.
func (m *Model) ReduceStage(p *Profile, racks int) time.Duration {
	return time.Duration(waves(p.Reduces, racks, m.ReduceSlots)) * p.ReduceTime
}

func waves(tasks, racks, slots int) int { return ceilDiv(ceilDiv(tasks, racks), slots) }

func ceilDiv(a, b int) int { return (a + b - 1) / max(b, 1) }

// ShuffleStage is l_shu.
func (m *Model) ShuffleStage(p *Profile, w Pair) time.Duration {
	if p.Reduces == 0 {
		return 0
	}
	if m.OCS(p, w) {
		return m.transfer(p, w, m.Optical, min(w.Maps, w.Reduces))
	}
	return m.transfer(p, w, m.Electrical, w.Maps)
}

// electricalShuffle is l_shu of a job that uses no circuits whatever its size.
func (m *Model) electricalShuffle(p *Profile, w Pair) time.Duration {
	if p.Reduces == 0 || w.Maps == 0 {
		return 0
	}
	return m.transfer(p, w, m.Electrical, w.Maps)
}

// transfer is D_s over as many links at once as links says; the printed model
// counts the bytes that leave one map rack instead.
func (m *Model) transfer(p *Profile, w Pair, rate topology.Rate, links int) time.Duration {
	bytes := float64(p.Shuffle) / float64(links)
	if m.Printed {
		bytes = float64(p.Shuffle) / float64(w.Maps*w.Reduces) * float64(w.Reduces-1)
	}
	return time.Duration(bytes / float64(rate) * float64(time.Second))
}

// Same is the latency of Corral, where maps and reduces share one set of racks
// and (r-1)/r of the data crosses between them (spec/jobpacker 3.13).
func (m *Model) Same(p *Profile, racks int) time.Duration {
	r := float64(racks)
	cross := float64(p.Shuffle) / r * ((r - 1) / r) / float64(m.Electrical)
	if p.Reduces == 0 {
		cross = 0
	}
	return m.MapStage(p, racks) + time.Duration(cross*float64(time.Second)) + m.ReduceStage(p, racks)
}
