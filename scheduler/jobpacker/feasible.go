package jobpacker

import (
	"math"
	"time"
)

// nearBest is how much longer than the best of all pairs a job may take when no
// pair allows a single wave (spec/jobpacker 3.5, line 3).
const nearBest = 1.1

// Feasible returns the widths on which p keeps full parallelism and its shuffle
// uses circuits, by map racks and then reduce racks: the green zone of Figure
// 4.6. None means that p is to be planned as a job that is not shuffle-heavy
// (spec/jobpacker 3.5).
func (m *Model) Feasible(p *Profile) []Pair {
	if p.Reduces == 0 || p.Maps == 0 || p.Shuffle < m.Threshold {
		return nil
	}
	if f := m.optical(p, ceilDiv(p.Maps, m.MapSlots), ceilDiv(p.Reduces, m.ReduceSlots), math.MaxInt64); len(f) > 0 {
		return f
	}
	best := m.best(p)
	return m.optical(p, 1, 1, time.Duration(nearBest*float64(best)))
}

// optical returns the pairs from (x, y) on that use circuits and take no longer
// than limit.
func (m *Model) optical(p *Profile, x, y int, limit time.Duration) []Pair {
	var out []Pair
	for a := max(x, 1); a <= m.Racks; a++ {
		for b := max(y, 1); b <= m.Racks; b++ {
			w := Pair{a, b}
			if !m.OCS(p, w) {
				break // more reduce racks only make the pairs smaller
			}
			if limit == math.MaxInt64 || m.Latency(p, w) <= limit {
				out = append(out, w)
			}
		}
	}
	return out
}

// best is the least latency over all pairs.
func (m *Model) best(p *Profile) time.Duration {
	least := time.Duration(math.MaxInt64)
	for x := 1; x <= m.Racks; x++ {
		for y := 1; y <= m.Racks; y++ {
			least = min(least, m.Latency(p, Pair{x, y}))
		}
	}
	return least
}

// Width is what jobs are sorted by: the most racks a heavy job can use, or how
// many racks' worth of tasks another one has (spec/jobpacker 3.6).
func (m *Model) Width(p *Profile, feasible []Pair) float64 {
	if len(feasible) == 0 {
		return float64(p.Maps)/float64(max(m.MapSlots, 1)) + float64(p.Reduces)/float64(max(m.ReduceSlots, 1))
	}
	widest := 0
	for _, w := range feasible {
		widest = max(widest, w.Maps+w.Reduces)
	}
	return float64(widest)
}

// length is the latency that breaks ties of width: at the best feasible pair,
// or on just enough racks for one wave.
func (m *Model) length(p *Profile, feasible []Pair) time.Duration {
	if len(feasible) == 0 {
		one := func(tasks, slots int) int { return min(max(ceilDiv(tasks, slots), 1), m.Racks) }
		return m.Latency(p, Pair{one(p.Maps, m.MapSlots), one(p.Reduces, m.ReduceSlots)})
	}
	least := time.Duration(math.MaxInt64)
	for _, w := range feasible {
		least = min(least, m.Latency(p, w))
	}
	return least
}
