package sim

import (
	"math"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// Never is later than anything.
const Never = time.Duration(math.MaxInt64)

// A Model says how long attempts take. The simulation tells it what starts and stops; the model says when the next
// attempt ends. One simulation drives it. It must be deterministic.
type Model interface {
	// Start begins an attempt of a map or reduce of job.
	Start(now time.Duration, a Attempt, job *Job)
	// MapsDone says that all maps of the job have ended: its reduces can go on.
	MapsDone(now time.Duration, job *Job)
	// MapsUndone says that output of the job's maps was lost after MapsDone.
	MapsUndone(now time.Duration, job *Job)
	// Stop ends an attempt without a result.
	Stop(now time.Duration, a Attempt)
	// Next returns when the next attempt ends, Never if none does by itself.
	Next() time.Duration
	// End removes and returns one attempt that ends at now; it returns false if there is none.
	End(now time.Duration) (Attempt, bool)
}

// A Gauge is a model that can say how busy the machines are and how far jobs have come.
// The simulation then reports both every [Config.ReportEvery].
type Gauge interface {
	IdlePercent(now time.Duration) float64
	Progress(now time.Duration, job *Job) float64
}

// Phases is a model in which jobs also take room while they start up and clean up.
type Phases interface {
	Starting(now time.Duration, job *Job, on bool)
	Cleaning(now time.Duration, job *Job, on bool)
}

// fixed holds containers for the times given with the jobs. A reduce's time counts from its launch or from the end of
// its job's last map, whichever is later (spec/slowdown 2.5): until then it waits in its slot.
type fixed struct {
	ends queue[Attempt]
	// stopped has the attempts in ends and waits that were stopped, by their try. Few are, so there is no map of
	// running attempts.
	stopped map[uint32][]key
	waits   map[scheduler.JobID][]Attempt     // reduces that wait for maps, by launch
	doneAt  map[scheduler.JobID]time.Duration // when all maps of a job had ended; jobs with maps to run are absent
}

type key struct {
	task scheduler.TaskID
	node int32
}

// NewFixed returns the model of fixed times.
func NewFixed() Model {
	return &fixed{
		stopped: map[uint32][]key{}, waits: map[scheduler.JobID][]Attempt{}, doneAt: map[scheduler.JobID]time.Duration{},
	}
}

// try is an attempt among those of its task on its node.
type try struct {
	key
	try uint32
}

func tryOf(a Attempt) try { return try{keyOf(a), a.Try} }

func keyOf(a Attempt) key { return key{a.Task, int32(a.Node)} }

func (f *fixed) Start(now time.Duration, a Attempt, job *Job) {
	id := a.Task.Job
	if a.Task.Kind == scheduler.Reduce && job.Spec.Maps > 0 {
		if _, done := f.doneAt[id]; !done {
			f.waits[id] = append(f.waits[id], a)
			return
		}
	}
	f.ends.after(now, job.length(a), a)
}

func (f *fixed) MapsDone(now time.Duration, job *Job) {
	id := job.Spec.ID
	f.doneAt[id] = now
	for _, a := range f.waits[id] {
		if !f.isStopped(&a) {
			f.ends.after(now, job.length(a), a)
		}
	}
	delete(f.waits, id)
}

func (f *fixed) MapsUndone(_ time.Duration, job *Job) { delete(f.doneAt, job.Spec.ID) }

func (f *fixed) Stop(_ time.Duration, a Attempt) {
	f.stopped[a.Try] = append(f.stopped[a.Try], keyOf(a))
}

// isStopped reports whether an attempt that leaves ends or waits was stopped, and removes it from stopped.
func (f *fixed) isStopped(a *Attempt) bool {
	keys, some := f.stopped[a.Try]
	if !some {
		return false
	}
	i := slices.Index(keys, keyOf(*a))
	if i < 0 {
		return false
	}
	if keys = slices.Delete(keys, i, i+1); len(keys) > 0 {
		f.stopped[a.Try] = keys
	} else {
		delete(f.stopped, a.Try)
	}
	return true
}

func (f *fixed) Next() time.Duration {
	for len(f.stopped) > 0 && f.ends.some() && f.isStopped(f.ends.first()) {
		f.ends.take() // stopped meanwhile
	}
	if !f.ends.some() {
		return Never
	}
	return f.ends.next()
}

func (f *fixed) End(now time.Duration) (Attempt, bool) {
	if f.Next() > now {
		return Attempt{}, false
	}
	_, a := f.ends.take()
	return a, true
}
