package flow

import (
	"math"
	"slices"

	"github.com/millrace/millrace/topology"
)

// A Switch chooses the circuits of an optical switch, both in the simulator and where links are emulated.
type Switch struct {
	topology.OCS
	Plain bool // as in [Config]
}

// Choose returns which racks are joined in the next interval (spec/jobpacker 3.2): for each rack where its circuit
// leads, or -1. waits are the bytes that wait from rack to rack, and circuit is the present setting. If the two
// settings differ, the switch is dark for Reconfig. If nothing waits at all there is nothing to choose, and the caller
// leaves the switch as it is.
func (s Switch) Choose(waits [][]int64, circuit []int) []int {
	if !s.Plain {
		most := max(1, int64(float64(s.Rate)*(s.Interval-s.Reconfig).Seconds()))
		for _, row := range waits {
			for j := range row {
				row[j] = min(row[j], most)
			}
		}
	}
	next := match(waits, circuit)
	for i, j := range next {
		if j < 0 && circuit[i] >= 0 && !slices.Contains(next, circuit[i]) {
			next[i] = circuit[i] // an idle circuit that blocks nobody stays
		}
	}
	return next
}

// match finds the one-to-one assignment of rows to columns of a square matrix that has
// the largest sum of weights, none of which is negative; pairs of weight 0 are left out.
// It returns the column of each row, -1 for none. This is the Hungarian method with
// potentials: a row at a time, the cheapest augmenting path, O(n^3).
//
// Of two best assignments the one that keeps more of the pairs in keep wins; keep may be
// nil.
func match(weights [][]int64, keep []int) []int {
	n := len(weights)
	cost := func(i, j int) int64 {
		w := weights[i][j] * int64(n+1)
		if keep != nil && keep[i] == j && w > 0 {
			w++
		}
		return -w
	}
	h := hungarian{n: n, cost: cost, u: make([]int64, n+1), v: make([]int64, n+1), row: make([]int, n+1), way: make([]int, n+1)}
	for i := 1; i <= n; i++ {
		h.augment(i)
	}
	out := make([]int, n)
	for j := 1; j <= n; j++ {
		out[h.row[j]-1] = j - 1
	}
	for i, j := range out {
		if weights[i][j] == 0 {
			out[i] = -1
		}
	}
	return out
}

// hungarian counts rows and columns from 1; column 0 holds the row that is being added.
type hungarian struct {
	n    int
	cost func(i, j int) int64
	u, v []int64 // potentials
	row  []int   // of each column
	way  []int   // column before it on the path
}

// augment gives row i a column.
func (h *hungarian) augment(i int) {
	h.row[0] = i
	least := make([]int64, h.n+1)
	for j := range least {
		least[j] = math.MaxInt64
	}
	used := make([]bool, h.n+1)
	at := 0
	for h.row[at] != 0 {
		used[at] = true
		at = h.extend(at, least, used)
	}
	for at != 0 {
		before := h.way[at]
		h.row[at] = h.row[before]
		at = before
	}
}

// extend moves the path to the cheapest column not used, and the potentials with it.
func (h *hungarian) extend(at int, least []int64, used []bool) (next int) {
	row, delta := h.row[at], int64(math.MaxInt64)
	for j := 1; j <= h.n; j++ {
		if used[j] {
			continue
		}
		if c := h.cost(row-1, j-1) - h.u[row] - h.v[j]; c < least[j] {
			least[j], h.way[j] = c, at
		}
		if least[j] < delta {
			delta, next = least[j], j
		}
	}
	for j := range used {
		if used[j] {
			h.u[h.row[j]] += delta
			h.v[j] -= delta
		} else {
			least[j] -= delta
		}
	}
	return next
}
