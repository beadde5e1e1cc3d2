package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/sim/compare"
)

// How many attempts and rows a chart draws.
const (
	maxSpans  = 5000
	maxEvents = 3 * maxSpans
	maxLanes  = 400
)

// The colours of the chart.
const (
	mapHere = iota
	mapElsewhere
	reduceBar
	driverBar
	lostBar
)

var barNames = []string{"map beside its input", "map elsewhere", "reduce", "driver", "failed, lost or stopped"}

// An attempt is built from its events.
type attempt struct {
	wire.PastAttempt
	name string
}

// gantt draws what ran where and when. It returns true if there was too much to draw.
func (s *site) gantt(ctx context.Context, d *jobData, now int64) (chart.Chart, bool, error) {
	g := chart.Gantt{Frame: chart.Frame{Title: "What ran where", Width: 1100, X: chart.Axis{Label: "seconds since the submission"}}, Groups: barNames}
	if d.To > d.From {
		g.X.Min, g.X.Max = d.From, d.To
	}
	list, cut, err := s.attempts(ctx, d.Job)
	if err != nil {
		return nil, false, err
	}
	end := cmp.Or(d.Past.Ended, now*1e6)
	rows, at, tall := lanesOf(list, end)
	g.Rows = rows
	for i, a := range list {
		from, to := float64(a.Begin-d.Past.Submitted)/1e9, float64(cmp.Or(a.End, end)-d.Past.Submitted)/1e9
		if at[i] >= len(rows) || d.To > d.From && (to < d.From || from > d.To) {
			continue
		}
		g.Spans = append(g.Spans, chart.Span{Row: at[i], From: from, To: to, Group: colour(a.PastAttempt), Title: a.title(from, to)})
	}
	return g, cut || tall, nil
}

// attempts gets the job's events and builds its attempts. It returns true if there are more.
func (s *site) attempts(ctx context.Context, job wire.JobID) ([]attempt, bool, error) {
	by := map[uint64]*attempt{}
	var order []*attempt
	var from []byte
	for seen := 0; ; {
		page, err := ask(ctx, s, api.HistoryEvents, wire.PastEventsRequest{Job: job, From: from, Limit: 5000, Brief: true})
		if err != nil {
			return nil, false, err
		}
		for i := range page.Events {
			if a := apply(by, &page.Events[i]); a != nil {
				order = append(order, a)
			}
		}
		seen += len(page.Events)
		if from = page.Next; from == nil || seen >= maxEvents || len(order) >= maxSpans {
			break
		}
	}
	out := make([]attempt, 0, len(order))
	for _, a := range order {
		out = append(out, *a)
	}
	return out, from != nil, nil
}

// apply adds an event and returns its attempt if that is new. Of attempts before a restart of the master only the end
// may be known, with their length.
func apply(by map[uint64]*attempt, e *wire.PastEvent) *attempt {
	if e.Task == "" || e.Try == 0 {
		return nil
	}
	a := by[e.Try]
	fresh := a == nil
	if fresh {
		a = &attempt{PastAttempt: wire.PastAttempt{Stage: e.Stage, Task: e.Task, Index: e.Index, Try: e.Try, Node: e.Node, Begin: e.At}}
		a.name = fmt.Sprintf("%s %d", e.Task, e.Index)
		by[e.Try] = a
	}
	switch e.Kind {
	case wire.PastLaunched:
		// A restarted master reports running attempts again: the earlier begin is the true one.
		a.Begin, a.Node, a.Locality, a.Second, a.Number = min(a.Begin, e.At), e.Node, e.Locality, e.Second, e.Number
	case wire.PastDone, wire.PastFailed, wire.PastLost, wire.PastStopped:
		a.End, a.How, a.Text = e.At, e.Kind, e.Text
		if fresh {
			a.Begin = e.At - e.Millis*1e6
		}
	}
	if fresh {
		return a
	}
	return nil
}

func (a *attempt) title(from, to float64) string {
	s := fmt.Sprintf("%s on %s, %.2f s to %.2f s (%.2f s)", a.name, a.Node, from, to, to-from)
	if a.Number > 0 {
		s += fmt.Sprintf(", try %d", a.Number+1)
	}
	if a.Second {
		s += ", a second attempt beside a slow one"
	}
	switch {
	case a.How == "":
		s += ", runs"
	case a.How != wire.PastDone:
		s += ", " + string(a.How) + " " + short(a.Text)
	}
	return s
}

func colour(a wire.PastAttempt) int {
	switch {
	case a.How != "" && a.How != wire.PastDone:
		return lostBar
	case a.Task == wire.ReduceTask:
		return reduceBar
	case a.Task == wire.DriverTask:
		return driverBar
	case a.Locality == "rack" || a.Locality == "remote":
		return mapElsewhere
	}
	return mapHere
}

// lanesOf sorts attempts by node and start, and gives each a row. A node has as many rows as it ran attempts at the
// same time; rows beyond maxLanes are cut off.
func lanesOf(list []attempt, end int64) (names []string, at []int, cut bool) {
	slices.SortStableFunc(list, func(a, b attempt) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Begin, b.Begin))
	})
	stays := make([]compare.Stay[wire.NodeName], len(list))
	for i, a := range list {
		stays[i] = compare.Stay[wire.NodeName]{Node: a.Node, From: time.Duration(a.Begin), To: time.Duration(cmp.Or(a.End, end))}
	}
	rows, at := compare.Lanes(stays)
	cut = len(rows) > maxLanes
	for _, r := range rows[:min(len(rows), maxLanes)] {
		name := string(r.Node)
		if r.Index > 0 {
			name = fmt.Sprintf("%s · %d", r.Node, r.Index+1)
		}
		names = append(names, name)
	}
	return names, at, cut
}
