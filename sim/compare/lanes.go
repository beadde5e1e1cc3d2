package compare

import (
	"cmp"
	"slices"
	"time"
)

// A Stay is a time that something spent on a node.
type Stay[N cmp.Ordered] struct {
	Node     N
	From, To time.Duration
}

// A Lane is a row of a Gantt chart: the stays on one node that do not overlap.
type Lane[N cmp.Ordered] struct {
	Node  N
	Index int // from 0, in the order in which the node needed them
}

// Lanes gives each stay a row of its node, with as few rows as keep stays apart. The stays must be sorted by their
// start. It returns the rows by node, and for each stay the index of its row.
func Lanes[N cmp.Ordered](stays []Stay[N]) (rows []Lane[N], at []int) {
	busy := map[N][]time.Duration{} // by lane: until when
	of := make([]Lane[N], len(stays))
	for i, s := range stays {
		mine := busy[s.Node]
		k := slices.IndexFunc(mine, func(until time.Duration) bool { return until <= s.From })
		if k < 0 {
			k, mine = len(mine), append(mine, 0)
			rows = append(rows, Lane[N]{s.Node, k})
		}
		mine[k] = s.To
		busy[s.Node], of[i] = mine, Lane[N]{s.Node, k}
	}
	slices.SortFunc(rows, Lane[N].compare)
	for _, l := range of {
		place, _ := slices.BinarySearchFunc(rows, l, Lane[N].compare)
		at = append(at, place)
	}
	return rows, at
}

func (l Lane[N]) compare(other Lane[N]) int {
	return cmp.Or(cmp.Compare(l.Node, other.Node), cmp.Compare(l.Index, other.Index))
}
