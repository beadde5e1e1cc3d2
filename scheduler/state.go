package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/topology"
)

// ErrStale marks an event about a job, task, attempt or node that is not, or is no longer, in the state that the event
// assumes. State is unchanged; the driver may count it and go on.
var ErrStale = errors.New("stale event")

// ErrInvalid marks an event that could never be right, such as a malformed job.
var ErrInvalid = errors.New("invalid event")

// Config holds what State fills in where specs are silent.
type Config struct {
	// Unit is the demand of a task whose spec gives none, and the unit in which
	// free room is counted on nodes without slots. Default 1 slot, 1 vcore,
	// 1024 MB (spec/marp 2.5, Table 1).
	Unit Demand
	// Slowstart is the fraction of done maps from which reduces may start.
	// Larger: reduces hold fewer containers idle, shuffles start later.
	// Default 0.05 (spec/capacity 2.2, spec/slowdown 2.1). Negative: at once.
	Slowstart float64
}

// DefaultConfig returns the published defaults.
func DefaultConfig() Config {
	return Config{Unit: Demand{Slots: 1, VCores: 1, MemoryMB: 1024}, Slowstart: 0.05}
}

func (c Config) validate() error {
	switch {
	case c.Unit.Slots < 1 || c.Unit.VCores < 1 || c.Unit.MemoryMB < 1:
		return fmt.Errorf("default demand %+v: each part must be at least 1", c.Unit)
	case c.Slowstart > 1:
		return fmt.Errorf("slow start %g is above 1", c.Slowstart)
	}
	return nil
}

// State is the one implementation of cluster, job and task state. The simulator
// and the master feed it Events; policies read it through its View. One
// goroutine drives it. It reads no clock and never panics on an event: what
// does not fit is returned as an error and leaves it unchanged.
type State struct {
	cfg  Config
	topo *topology.Topology
	view View

	jobs      map[JobID]*Job
	recent    recentJobs
	freeSlots []int32
	slots     int32
	seq       int64
	ended     *Job // dropped by the next Apply, so that observers can still see it

	live, waiting, drivers jobList
	apart                  bool // PlaceDrivers places drivers, Give none
	pending, runnable      [NumKinds]jobList
	groups                 groups
	limits                 map[string]int32 // containers, by user

	nodes   []node
	racks   []rack
	use     Usage
	total   Totals
	seconds int32 // second attempts that run

	attempts attemptTable
	near     near
	promised Usage // drivers of admitted, unfinished jobs
	scratch  []int32
	idle     float64 // percent; negative when never sampled
}

// NewState returns the state of an empty cluster: nodes of topo are down until
// their NodeUp.
func NewState(topo *topology.Topology, cfg Config) (*State, error) {
	if topo == nil {
		return nil, errors.New("scheduler state needs a topology")
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("scheduler state: %w", err)
	}
	s := &State{
		cfg: cfg, topo: topo, jobs: make(map[JobID]*Job), idle: -1,
		waiting: jobList{ranked: true}, drivers: jobList{ranked: true},
		groups:   groups{byName: make(map[groupKey]*Group)},
		limits:   make(map[string]int32),
		attempts: attemptTable{free: -1},
	}
	s.view.s = s
	s.grow()
	return s, nil
}

// View returns the read-only face. There is one; it always shows the present.
func (s *State) View() *View { return &s.view }

// grow makes room for nodes and racks added to the topology.
func (s *State) grow() {
	for len(s.nodes) < s.topo.NumNodes() {
		s.nodes = append(s.nodes, node{head: -1, idle: -1})
	}
	for len(s.racks) < s.topo.NumRacks() {
		s.racks = append(s.racks, rack{})
	}
}

// Apply changes the state by one event at time now. Times must not decrease.
// An error wraps ErrStale or ErrInvalid and means that nothing changed.
func (s *State) Apply(now time.Duration, e Event) error { return s.apply(now, &e) }

// apply is Apply by pointer: an event is large, and is copied only for policies.
func (s *State) apply(now time.Duration, e *Event) error {
	s.dropEnded()
	switch e.Kind {
	case EvHeartbeat, EvNodeUp, EvNodeUpdated, EvNodeDraining, EvNodeDown, EvCPUSample, EvNetSample:
		return s.applyNode(e)
	case EvJobSubmitted:
		if e.Flag && e.Spec != nil {
			now = min(now, e.Spec.Submit)
		}
		return s.submit(now, e.Spec)
	case EvJobAdmitted, EvJobReady, EvJobFinished, EvJobFailed, EvJobVanished, EvProgress, EvBan, EvUnban:
		return s.applyJob(now, e)
	case EvLaunched, EvTaskFinished, EvTaskFailed, EvTaskKilled, EvTaskLost, EvRestored:
		return s.applyTask(now, e)
	case EvLimit:
		s.setLimit(e.Text, int32(min(max(e.Value, 0), maxLimit)))
		return nil
	case EvConfig, EvTaught:
		return nil
	}
	return fmt.Errorf("%v: %w", e.Kind, ErrInvalid)
}

// recentJobs caches some jobs of State, each at the place that its id gives. Ids are given in turn, so jobs that live
// at the same time rarely share a place. Invariant: none has gone.
type recentJobs [256]*Job

func (r *recentJobs) place(id JobID) **Job { return &r[uint32(id)%uint32(len(r))] }

// forget removes a job that has gone.
func (r *recentJobs) forget(id JobID) {
	if at := r.place(id); *at != nil && (*at).id == id {
		*at = nil
	}
}

// find returns the unfinished job with this id, or nil, and caches it.
func (s *State) find(id JobID) *Job {
	j := s.jobs[id]
	if j != nil {
		*s.recent.place(id) = j
	}
	return j
}

func (s *State) dropEnded() {
	if j := s.ended; j != nil {
		delete(s.jobs, j.id)
		s.recent.forget(j.id)
		s.freeSlots = append(s.freeSlots, j.slot)
		s.ended = nil
	}
}

func stale(e *Event, why string) error { return fmt.Errorf("%v: %s: %w", *e, why, ErrStale) }
