package compare

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// A Watcher records what ran when, for charts over time. Attach it to one run.
type Watcher struct {
	// Keys names the layers; Of says which one an attempt belongs to, -1 for none.
	Keys []string
	Of   func(sim.Attempt) int
	// KeepSpans keeps every attempt for a Gantt chart.
	KeepSpans bool

	// Ran has every attempt that has ended, if KeepSpans is set.
	Ran []Ran

	changes []change
}

// change is a start or an end.
type change struct {
	at  time.Duration
	key int32
	by  int32
}

// Ran is an attempt that has ended.
type Ran struct {
	sim.Attempt
	End time.Duration
}

// Attach makes a run call the watcher, in addition to a Watch function already set.
func (w *Watcher) Attach(cfg *sim.Config) {
	before := cfg.Watch
	cfg.Watch = func(now time.Duration, a sim.Attempt, started bool) {
		if before != nil {
			before(now, a, started)
		}
		w.see(now, a, started)
	}
}

func (w *Watcher) see(now time.Duration, a sim.Attempt, started bool) {
	by := int32(-1)
	if started {
		by = 1
	} else if w.KeepSpans {
		w.Ran = append(w.Ran, Ran{a, now})
	}
	if k := w.Of(a); k >= 0 {
		w.changes = append(w.changes, change{now, int32(k), by})
	}
}

// periods is how many periods charts over time have.
const periods = 300

// Area draws how many attempts of each key ran, as means over short periods.
func (w *Watcher) Area(title string, end time.Duration, marks ...chart.Mark) chart.Area {
	at, layers := w.series(end)
	return chart.Area{
		Frame: chart.Frame{Title: title, X: chart.Axis{Label: "time, s"}, Y: chart.Axis{Label: "running tasks"}},
		At:    at, Series: layers, Marks: marks,
	}
}

// Lines draws what Area draws as one line for each key.
func (w *Watcher) Lines(title string, end time.Duration, marks ...chart.Mark) chart.Lines {
	at, layers := w.series(end)
	l := chart.Lines{
		Frame: chart.Frame{Title: title, X: chart.Axis{Label: "time, s"}, Y: chart.Axis{Label: "running tasks"}},
		Steps: true, Marks: marks,
	}
	for _, s := range layers {
		l.Series = append(l.Series, chart.Series{Name: s.Name, X: at, Y: s.Values})
	}
	return l
}

func (w *Watcher) series(end time.Duration) (at []float64, layers []chart.Layer) {
	step := end.Seconds() / periods
	for i := range periods {
		at = append(at, step*float64(i))
	}
	for _, k := range w.Keys {
		layers = append(layers, chart.Layer{Name: k, Values: make([]float64, periods)})
	}
	if step <= 0 {
		return at, layers
	}
	running := make([]int32, len(w.Keys))
	last := make([]time.Duration, len(w.Keys))
	spread := func(k int, to time.Duration) {
		addOver(layers[k].Values, last[k].Seconds()/step, to.Seconds()/step, float64(running[k]))
		last[k] = to
	}
	for _, c := range w.changes {
		spread(int(c.key), c.at)
		running[c.key] += c.by
	}
	for k := range w.Keys {
		spread(k, end)
	}
	return at, layers
}

// addOver adds a level to the periods from one position to another, to each by how much of it they cover.
func addOver(values []float64, from, to, level float64) {
	if level == 0 {
		return
	}
	for i := int(from); i < len(values) && float64(i) < to; i++ {
		values[i] += level * (min(to, float64(i+1)) - max(from, float64(i)))
	}
}

// Gantt draws the attempts by node, in the colours of the keys, from one time to
// another.
func (w *Watcher) Gantt(title string, from, to time.Duration, marks ...chart.Mark) chart.Gantt {
	g := chart.Gantt{
		Frame: chart.Frame{Title: title, X: chart.Axis{Label: "time, s"}}, Groups: w.Keys, Marks: marks,
	}
	var stays []Stay[topology.NodeID]
	for _, s := range w.byStart() {
		k := w.Of(s.Attempt)
		if k < 0 || s.Start >= to || s.End <= from {
			continue
		}
		stays = append(stays, Stay[topology.NodeID]{s.Node, s.Start, s.End})
		g.Spans = append(g.Spans, chart.Span{From: max(s.Start, from).Seconds(), To: min(s.End, to).Seconds(), Group: k, Title: s.title()})
	}
	rows, at := Lanes(stays)
	for i := range g.Spans {
		g.Spans[i].Row = at[i]
	}
	for _, r := range rows {
		name := ""
		if r.Index == 0 {
			name = fmt.Sprintf("n%d", r.Node)
		}
		g.Rows = append(g.Rows, name)
	}
	return g
}

// byStart returns the attempts in order of their start.
func (w *Watcher) byStart() []Ran {
	out := slices.Clone(w.Ran)
	slices.SortStableFunc(out, func(a, b Ran) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Try, b.Try)) })
	return out
}

func (r Ran) title() string {
	return fmt.Sprintf("job %d, %s %d, %s to %s s", r.Task.Job, r.Task.Kind, r.Task.Index, stats.Text(r.Start.Seconds()), stats.Text(r.End.Seconds()))
}

// MapsOf keys maps by job.
func MapsOf(jobs int) func(sim.Attempt) int {
	of := TasksOf(jobs)
	return func(a sim.Attempt) int {
		if a.Task.Kind != scheduler.Map {
			return -1
		}
		return of(a)
	}
}

// TasksOf keys attempts by job.
func TasksOf(jobs int) func(sim.Attempt) int {
	return func(a sim.Attempt) int {
		if int(a.Task.Job) >= jobs {
			return -1
		}
		return int(a.Task.Job)
	}
}

// ByKind keys attempts by what they are: maps, then reduces.
func ByKind(a sim.Attempt) int {
	switch a.Task.Kind {
	case scheduler.Map:
		return 0
	case scheduler.Reduce:
		return 1
	}
	return -1
}

// WatchKinds returns a watcher that keeps every attempt, by kind of task.
func WatchKinds() *Watcher {
	return &Watcher{Keys: []string{"map", "reduce"}, Of: ByKind, KeepSpans: true}
}
