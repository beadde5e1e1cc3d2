package lab

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/topology"
)

// lanes gives the attempts of a node rows of their own, as few as keep them apart.
type lanes struct {
	busy [][]time.Duration // by node and lane: until when
	rows []laneID          // in order of first use
}

type laneID struct{ node, lane int }

func newLanes(nodes int) *lanes { return &lanes{busy: make([][]time.Duration, nodes)} }

// take returns a row, by order of first use. Spans must come by start.
func (l *lanes) take(n topology.NodeID, from, to time.Duration) int {
	mine := l.busy[n]
	for i, until := range mine {
		if until <= from {
			mine[i] = to
			return slices.Index(l.rows, laneID{int(n), i})
		}
	}
	l.busy[n] = append(mine, to)
	l.rows = append(l.rows, laneID{int(n), len(mine)})
	return len(l.rows) - 1
}

// number sorts the rows by node and names them.
func (l *lanes) number(g *chart.Gantt) {
	order := make([]int, len(l.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(l.rows[a].node, l.rows[b].node), cmp.Compare(l.rows[a].lane, l.rows[b].lane))
	})
	place := make([]int, len(order))
	for p, row := range order {
		place[row] = p
		name := ""
		if l.rows[row].lane == 0 {
			name = fmt.Sprintf("n%d", l.rows[row].node)
		}
		g.Rows = append(g.Rows, name)
	}
	for i := range g.Spans {
		g.Spans[i].Row = place[g.Spans[i].Row]
	}
}

// byStart returns the attempts in order of their start.
func (w *Watcher) byStart() []ran {
	out := slices.Clone(w.spans)
	slices.SortStableFunc(out, func(a, b ran) int {
		return cmp.Or(cmp.Compare(a.a.Start, b.a.Start), cmp.Compare(a.a.Try, b.a.Try))
	})
	return out
}
