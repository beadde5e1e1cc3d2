// Package machines runs the real state machines of master and workers in a simulated world: network, disks, clock and
// user code are made of numbers from a seed. Messages are lost, doubled and late; machines die, pause and come back;
// the master loses what it had not synced. A failing seed fails again.
package machines

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler"
)

// Config describes one world. Chances are per message, or per second and machine.
type Config struct {
	Seed           uint64
	Workers        int
	Racks          int
	Jobs           int
	Loss, Double   float64
	WorkerDeath    float64
	DiskLoss       float64 // a worker that dies also loses its disk
	MasterDeath    float64
	Cut            float64 // a worker is cut off for a while
	TaskFails      float64
	TaskLost       float64
	Policy         func() scheduler.Policy
	FaultsUntil    time.Duration // after this nothing breaks
	Deadline       time.Duration // by when all jobs must have ended
	MaxTime        time.Duration
	PoisonedJobs   int // the first so many jobs fail whatever happens
	SecondAttempts bool
	Trace          func(format string, args ...any)
	MapsPerJob     int
	ReducesPerJob  int
	// KillAt, if not 0, is the record of the journal at which the master dies, once: with the record on disk but nobody
	// told or, with KillLoses, just before it is on disk.
	KillAt    int
	KillLoses bool
	// BounceAt, if not 0, is the record at which the worker that has done the last map dies, once. It is back with its
	// disk after Away.
	BounceAt int
	Away     time.Duration
	Return   time.Duration // of the master; 0 means its default
}

// A World is one run.
type World struct {
	cfg    Config
	rng    *rand.Rand
	now    time.Duration
	queue  events
	serial int

	master  *masterBox
	workers []*workerBox
	journal []tracker.Record // what is on the master's disk: a snapshot and what came after it
	all     []tracker.Record // what the journal would be without snapshots
	snaps   *rand.Rand       // when snapshots are taken
	epoch   uint64

	parts     map[partKey]part // what reduces have written
	committed map[wire.StageRef]string
	done      map[wire.AttemptID]int // how often each map attempt was accepted
	started   map[string]int         // how often each task was started
	bounced   map[string]int         // those of tasks that were done when the worker bounced
	stopped   []string               // attempts that were told to stop
	problems  []string
	ids       []wire.JobID

	// Counts of what happened, so that tests can check that something did.
	Deaths, MasterDeaths, Cuts, Reruns, Steps, Snapshots int
}

type partKey struct {
	wire.StageRef
	index int32
	try   uint64
}

// A part is a reduce's output: the attempts of the maps that it is made of.
type part []uint64

type event struct {
	at     time.Duration
	serial int
	do     func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// After calls fn later.
func (w *World) after(d time.Duration, fn func()) {
	w.serial++
	heap.Push(&w.queue, event{w.now + d, w.serial, fn})
}

func (w *World) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

func (w *World) between(a, b time.Duration) time.Duration {
	return a + time.Duration(w.rng.Int64N(int64(b-a)+1))
}

func (w *World) fail(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf("%8.3fs ", w.now.Seconds())+fmt.Sprintf(format, args...))
}

func (w *World) trace(format string, args ...any) {
	if w.cfg.Trace != nil {
		w.cfg.Trace("%8.3fs "+format, append([]any{w.now.Seconds()}, args...)...)
	}
}

// calm reports whether faults are over.
func (w *World) calm() bool { return w.now >= w.cfg.FaultsUntil }

// deliver carries a message, perhaps late, twice or never.
func (w *World) deliver(cut bool, fn func()) {
	if cut || !w.calm() && w.chance(w.cfg.Loss) {
		return
	}
	w.after(w.between(100*time.Microsecond, 5*time.Millisecond), fn)
	if !w.calm() && w.chance(w.cfg.Double) {
		w.after(w.between(time.Millisecond, 2*time.Second), fn)
	}
}

// New makes a world and submits its jobs.
func New(cfg Config) *World {
	w := &World{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 99)), snaps: rand.New(rand.NewPCG(cfg.Seed, 77)), parts: map[partKey]part{},
		committed: map[wire.StageRef]string{}, done: map[wire.AttemptID]int{}, started: map[string]int{},
	}
	for i := range cfg.Workers {
		b := &workerBox{w: w, name: wire.NodeName(fmt.Sprint("w", i)), rack: fmt.Sprint("r", i%cfg.Racks), disk: map[wire.AttemptID]bool{}}
		w.workers = append(w.workers, b)
		w.after(w.between(0, time.Second), b.start)
	}
	w.startMaster()
	for i := range cfg.Jobs {
		w.after(w.between(0, 5*time.Second), func() { w.submit(i) })
	}
	w.after(time.Second, w.mayhem)
	return w
}

// submit sends a job until it is accepted.
func (w *World) submit(i int) {
	spec := wire.JobSpec{
		Name: fmt.Sprint("job", i), User: "ann", Stages: 1 + i%2, Program: wire.Program{Builtin: "none"}, Request: fmt.Sprint("request", i),
	}
	if i < w.cfg.PoisonedJobs {
		spec.Name = "poison"
	}
	if w.master != nil {
		m := w.master
		id, err := m.core.Submit(w.now, spec)
		if err != nil {
			w.fail("submit: %v", err)
			return
		}
		m.flush(func() {
			if slices.Contains(w.ids, id) {
				return
			}
			w.ids = append(w.ids, id)
			w.trace("%s is accepted", id)
		})
	}
	w.after(2*time.Second, func() {
		for _, known := range w.ids {
			if w.master != nil {
				if s, err := w.master.core.Status(known); err == nil && s.Name == spec.Name {
					return
				}
			}
		}
		if w.now < w.cfg.Deadline {
			w.submit(i)
		}
	})
}

// mayhem breaks things, once a second.
func (w *World) mayhem() {
	if w.calm() {
		return
	}
	for _, b := range w.workers {
		switch {
		case b.alive && w.chance(w.cfg.WorkerDeath):
			b.die(w.chance(w.cfg.DiskLoss))
			w.after(w.between(50*time.Millisecond, 15*time.Second), b.start)
		case b.alive && !b.cut && w.chance(w.cfg.Cut):
			w.Cuts++
			b.cut = true
			w.trace("%s is cut off", b.name)
			w.after(w.between(time.Second, 20*time.Second), func() { b.cut = false; w.trace("%s is back on the net", b.name) })
		}
	}
	if w.master != nil && w.chance(w.cfg.MasterDeath) {
		w.killMaster()
	}
	w.after(time.Second, w.mayhem)
}

// Run runs until every job has ended and nothing happens, or time is up, and returns what went wrong.
func (w *World) Run() []string {
	quiet := time.Duration(0)
	for len(w.queue) > 0 && len(w.problems) == 0 {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
		w.Steps++
		if w.now > w.cfg.MaxTime {
			w.fail("not at rest by %s: %s", w.cfg.MaxTime, w.unrest())
			break
		}
		if w.allEnded() {
			if quiet == 0 {
				quiet = w.now + 15*time.Second
			} else if w.now > max(quiet, w.cfg.FaultsUntil+30*time.Second) {
				break
			}
		} else {
			quiet = 0
		}
	}
	if len(w.problems) == 0 {
		w.verify()
	}
	return w.problems
}

func (w *World) allEnded() bool {
	if w.master == nil || len(w.ids) < w.cfg.Jobs {
		return false
	}
	for _, id := range w.ids {
		if s, err := w.master.core.Status(id); err != nil || !s.State.Ended() {
			return false
		}
	}
	return true
}

func (w *World) unrest() (out string) {
	if w.master == nil {
		return "no master"
	}
	for _, id := range w.ids {
		s, err := w.master.core.Status(id)
		why, _ := w.master.core.Why(w.now, id)
		out += fmt.Sprintf("\n  %s %s maps %+v reduces %+v committing %v driver %q err %v last %q: %s", id, s.State, s.Maps, s.Reduces, s.Committing, s.Driver, err, s.LastError, why)
	}
	return out
}

// verify checks the world at its end.
func (w *World) verify() {
	for _, id := range w.ids {
		s, err := w.master.core.Status(id)
		want := wire.Succeeded
		if s.Name == "poison" {
			want = wire.Failed
		}
		if err != nil || s.State != want {
			w.fail("%s ended %s: %s %v", id, s.State, s.Error, err)
			continue
		}
		for stage := range s.Stages {
			_, named := w.committed[wire.StageRef{Job: id, Stage: stage}]
			if named != (want == wire.Succeeded) {
				w.fail("%s stage %d: %s, output named: %v", id, stage, s.State, named)
			}
		}
		maps, reduces := s.Counts["g"]["maps"], s.Counts["g"]["reduces"]
		if s.State == wire.Succeeded && s.Stages == 1 && (maps != int64(s.Maps.Total) || reduces != int64(s.Reduces.Total)) {
			w.fail("%s counted %d maps and %d reduces of %d and %d", id, maps, reduces, s.Maps.Total, s.Reduces.Total)
		}
	}
	for _, b := range w.workers {
		if b.alive && (b.core.Busy() > 0 || len(b.disk) > 0) {
			w.fail("%s still runs %v and keeps %d outputs", b.name, b.core.Report().Running, len(b.disk))
		}
	}
}
