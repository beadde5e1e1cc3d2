package sizebased

import (
	"math"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// span is a range of queues, from and to (exclusive).
type span struct{ from, to int32 }

func (s span) has(q int32) bool { return q >= s.from && q < s.to }

// A partition says which queues a node serves. Nodes that are up are dealt in
// order of their number, so that a node's loss moves few others.
type partition struct {
	shares []float64
	spans  []span // by node
	stale  bool
}

// sizes returns how many of n nodes each share gets: round(share*n), at least
// one each, n in all (spec/slowdown 3.8). n is at least len(shares).
func sizes(shares []float64, n int) []int {
	out, sum := make([]int, len(shares)), 0
	for i, s := range shares {
		out[i] = max(1, int(math.Round(s*float64(n))))
		sum += out[i]
	}
	for ; sum > n; sum-- { // rounding gave too many or too few nodes: the largest evens it out
		out[largest(out)]--
	}
	for ; sum < n; sum++ {
		out[largest(out)]++
	}
	return out
}

func largest(all []int) int {
	best := 0
	for i := range all {
		if all[i] > all[best] {
			best = i
		}
	}
	return best
}

// refresh deals the nodes that are up anew. With fewer nodes than queues a node
// serves several.
func (p *partition) refresh(v *scheduler.View) {
	p.stale = false
	for len(p.spans) < v.Topology().NumNodes() {
		p.spans = append(p.spans, span{})
	}
	up, k := int(v.Total().Nodes), len(p.shares)
	var counts []int
	if up >= k {
		counts = sizes(p.shares, up)
	}
	queue, left, rank := -1, 0, 0
	for n := range p.spans {
		p.spans[n] = span{}
		if v.NodeState(topology.NodeID(n)) != scheduler.NodeIsReady {
			continue
		}
		if counts == nil {
			p.spans[n] = span{int32(rank * k / up), int32((rank + 1) * k / up)}
			rank++
			continue
		}
		if left == 0 {
			queue++
			left = counts[queue]
		}
		p.spans[n] = span{int32(queue), int32(queue + 1)}
		left--
	}
}

// of returns the queues that n serves.
func (p *partition) of(n topology.NodeID, v *scheduler.View) span {
	if p.stale {
		p.refresh(v)
	}
	if n < 0 || int(n) >= len(p.spans) {
		return span{}
	}
	return p.spans[n]
}
