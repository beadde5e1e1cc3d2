package local

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/task"
)

// Phase is a part of a stage's life. Later phases compare greater.
type Phase int32

// Waiting is the phase of a job on a cluster whose master does not answer, so that its progress is unknown.
const Waiting Phase = -1

// The phases in their order.
const (
	Queued Phase = iota // on a cluster: waiting for admission, or for room
	Planning
	Mapping
	Reducing
	Committing
	Finished
)

var phaseNames = [...]string{"queued", "plan", "map", "reduce", "commit", "done"}

// String returns a name such as "map".
func (p Phase) String() string {
	if p == Waiting {
		return "waits for the master"
	}
	return phaseNames[p]
}

// Progress is a snapshot of a run.
type Progress struct {
	Job           string
	Stage, Stages int // of a chain; Stage counts from 1
	Phase         Phase
	// Done and Total count the tasks of the phase.
	Done, Total int
	// Bytes have been read of TotalBytes in this phase.
	Bytes, TotalBytes int64
	// Retries counts attempts that failed and were or will be run again.
	Retries int
	Elapsed time.Duration
}

// Fraction returns how much of the phase is done, 0..1.
func (p Progress) Fraction() float64 {
	switch {
	case p.Phase == Finished:
		return 1
	case p.TotalBytes > 0:
		return min(1, float64(p.Bytes)/float64(p.TotalBytes))
	case p.Total > 0:
		return float64(p.Done) / float64(p.Total)
	}
	return 0
}

// gauge is the state behind Progress, which the run writes and anyone reads.
type gauge struct {
	start         time.Time
	job           atomic.Pointer[string]
	stage, stages atomic.Int32
	phase         atomic.Int32
	done, total   atomic.Int32
	totalBytes    atomic.Int64
	retries       atomic.Int32

	mu    sync.Mutex // guards the rest
	bytes int64      // read by successful attempts of the phase
	runs  map[*task.Meter]bool
}

func (g *gauge) enter(p Phase, tasks int, bytes int64) {
	g.mu.Lock()
	g.bytes, g.runs = 0, map[*task.Meter]bool{}
	g.mu.Unlock()
	g.done.Store(0)
	g.total.Store(int32(tasks))
	g.totalBytes.Store(bytes)
	g.phase.Store(int32(p))
}

// begins returns the meter for an attempt of the phase.
func (g *gauge) begins() *task.Meter {
	m := &task.Meter{}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs[m] = true
	return m
}

// ended notes that an attempt has ended. What a failed one has read will be read again.
func (g *gauge) ended(m *task.Meter, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.runs, m)
	if err == nil {
		g.bytes += m.Bytes.Load()
	}
}

// read returns how much of the phase's input has been read.
func (g *gauge) read() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.bytes
	for m := range g.runs {
		n += m.Bytes.Load()
	}
	return n
}

// Progress may be called from any goroutine while Run runs.
func (r *Runner) Progress() Progress {
	g := &r.gauge
	p := Progress{
		Stage: int(g.stage.Load()), Stages: int(g.stages.Load()),
		Phase: Phase(g.phase.Load()),
		Done:  int(g.done.Load()), Total: int(g.total.Load()),
		TotalBytes: g.totalBytes.Load(), Retries: int(g.retries.Load()),
		Elapsed: time.Since(g.start),
	}
	if name := g.job.Load(); name != nil {
		p.Job = *name
	}
	p.Bytes = g.read()
	return p
}
