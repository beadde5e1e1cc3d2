package sim

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// gauged is fixed for machines whose tasks each compute on a processor of their own. It knows how idle those are, as
// emulated machines of a cluster do, and how far jobs have come. Reduces that wait for maps do not compute.
type gauged struct {
	*fixed
	processors int
	computing  map[try]span
	ended      map[scheduler.JobID][2]int // maps and reduces
	busy       time.Duration              // of all processors, since IdlePercent was last called
	noted      time.Duration              // the time up to which busy counts
	asked      time.Duration
}

// span is when an attempt computes.
type span struct {
	task     scheduler.TaskID
	from, to time.Duration
}

var _ Gauge = (*gauged)(nil)

// NewGauged returns the model of fixed times for machines with that many processors, which says how idle they are.
func NewGauged(processors int) Model {
	return &gauged{fixed: NewFixed().(*fixed), processors: max(1, processors), computing: map[try]span{}, ended: map[scheduler.JobID][2]int{}}
}

func (g *gauged) Start(now time.Duration, a Attempt, job *Job) {
	waited := len(g.waits[a.Task.Job])
	if g.fixed.Start(now, a, job); len(g.waits[a.Task.Job]) == waited {
		g.begin(now, a, job)
	}
}

func (g *gauged) begin(now time.Duration, a Attempt, job *Job) {
	g.count(now)
	g.computing[tryOf(a)] = span{a.Task, now, now + job.length(a)}
}

func (g *gauged) MapsDone(now time.Duration, job *Job) {
	for _, a := range g.waits[job.Spec.ID] {
		if !slices.Contains(g.stopped[a.Try], keyOf(a)) {
			g.begin(now, a, job)
		}
	}
	g.fixed.MapsDone(now, job)
}

func (g *gauged) Stop(now time.Duration, a Attempt) {
	g.count(now)
	delete(g.computing, tryOf(a))
	g.fixed.Stop(now, a)
}

func (g *gauged) End(now time.Duration) (Attempt, bool) {
	a, ok := g.fixed.End(now)
	if ok {
		g.count(now)
		delete(g.computing, tryOf(a))
		n := g.ended[a.Task.Job]
		n[kindOf(a.Task)]++
		g.ended[a.Task.Job] = n
	}
	return a, ok
}

// count updates busy to now.
func (g *gauged) count(now time.Duration) {
	g.busy += time.Duration(min(len(g.computing), g.processors)) * (now - g.noted)
	g.noted = now
}

// IdlePercent covers the time since it was last called.
func (g *gauged) IdlePercent(now time.Duration) float64 {
	g.count(now)
	if now == g.asked {
		return 100
	}
	idle := 100 * (1 - float64(g.busy)/float64(time.Duration(g.processors)*(now-g.asked)))
	g.busy, g.asked = 0, now
	return idle
}

// Progress is YARN's, as the master has it: 5 for the plan, 45 each for maps and reduces.
func (g *gauged) Progress(now time.Duration, job *Job) float64 {
	share := [2]float64{float64(g.ended[job.Spec.ID][0]), float64(g.ended[job.Spec.ID][1])}
	for _, s := range g.computing {
		if s.task.Job == job.Spec.ID {
			share[kindOf(s.task)] += float64(now-s.from) / float64(max(1, s.to-s.from))
		}
	}
	maps, reduces := float64(job.Spec.Maps), float64(job.Spec.Reduces)
	if reduces == 0 {
		return 5 + 90*min(1, share[0]/max(1, maps))
	}
	return 5 + 45*min(1, share[0]/max(1, maps)) + 45*min(1, share[1]/reduces)
}

func kindOf(t scheduler.TaskID) int {
	if t.Kind == scheduler.Reduce {
		return 1
	}
	return 0
}
