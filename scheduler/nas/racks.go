package nas

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A home is the racks that ShuffleWatcher chose for a job's maps.
type home struct {
	chosen []bool // by rack; nil: every rack
	racks  int
	away   []int32 // maps without a replica in a chosen rack
	next   int     // no map of away before it is pending
}

func (h *home) has(r topology.RackID) bool {
	return h.chosen == nil || r >= 0 && int(r) < len(h.chosen) && h.chosen[r]
}

// stray returns a pending map of j that is local in none of its chosen racks. The plan reads it from afar, so there is
// nothing to wait for.
func (h *home) stray(j *job) (int32, bool) {
	for ; h.next < len(h.away); h.next++ {
		if i := h.away[h.next]; j.TaskState(scheduler.Map, i) == scheduler.TaskPending {
			return i, true
		}
	}
	return -1, false
}

// back makes map i, which is pending again, available to stray.
func (h *home) back(i int32) {
	at, _ := slices.BinarySearch(h.away, i)
	h.next = min(h.next, at)
}

// chooseRacks is submit(j) of spec/nas 3.12: among the first w racks with most distinct
// input blocks, for every w, those with the least cost; of equals the larger w.
func chooseRacks(s *scheduler.JobSpec, shuffle float64, topo *topology.Topology) home {
	if len(s.Splits.Replicas) == 0 || topo.NumRacks() == 0 {
		return home{}
	}
	order, place := racksByBlocks(s, topo)
	// covered[w] is what the w-th rack adds: bytes of blocks that no better rack
	// holds.
	covered, missing := make([]float64, len(order)), 0.0
	for i, b := range s.Splits.Bytes {
		at := len(order)
		for _, n := range s.Splits.Of(int32(i)) {
			if r := topo.RackOf(n); r >= 0 {
				at = min(at, place[r])
			}
		}
		if missing += float64(b); at < len(order) {
			covered[at] += float64(b)
		}
	}
	best, least := 0, 0.0
	for w := range order {
		missing -= covered[w]
		cost := missing + shuffle*(1-1/float64(w+1))
		if w == 0 || cost <= least*(1+slack) {
			best, least = w+1, cost
		}
	}
	h := home{chosen: make([]bool, topo.NumRacks()), racks: best}
	for _, r := range order[:best] {
		h.chosen[r] = true
	}
	for i := range int32(len(s.Splits.Bytes)) {
		if !slices.ContainsFunc(s.Splits.Of(i), func(n topology.NodeID) bool { return h.has(topo.RackOf(n)) }) {
			h.away = append(h.away, i)
		}
	}
	return h
}

// racksByBlocks returns all racks, most distinct blocks first, and the place of
// each in that order.
func racksByBlocks(s *scheduler.JobSpec, topo *topology.Topology) (order []topology.RackID, place []int) {
	blocks := make([]int, topo.NumRacks())
	seen := make([]int32, topo.NumRacks()) // last block counted, plus one
	for i := range s.Splits.Bytes {
		for _, n := range s.Splits.Of(int32(i)) {
			if r := topo.RackOf(n); r >= 0 && seen[r] != int32(i)+1 {
				seen[r] = int32(i) + 1
				blocks[r]++
			}
		}
	}
	order = make([]topology.RackID, len(blocks))
	for r := range order {
		order[r] = topology.RackID(r)
	}
	slices.SortFunc(order, func(a, b topology.RackID) int {
		return cmp.Or(cmp.Compare(blocks[b], blocks[a]), cmp.Compare(a, b))
	})
	place = make([]int, len(blocks))
	for at, r := range order {
		place[r] = at
	}
	return order, place
}
