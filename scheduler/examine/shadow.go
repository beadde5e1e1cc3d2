package examine

import (
	"slices"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// shadow keeps its own books of what runs where, with none of State's code, and
// judges every decision by them.
type shadow struct {
	specs    map[scheduler.JobID]*scheduler.JobSpec
	capacity scheduler.Capacity
	alive    map[topology.NodeID]bool
	draining map[topology.NodeID]bool
	running  map[scheduler.TaskID][]topology.NodeID
	done     map[scheduler.TaskID]bool
	doneMaps map[scheduler.JobID]int32
	unit     scheduler.Demand
	limit    int32
}

func newShadow(p *Situation, cfg scheduler.Config) *shadow {
	s := &shadow{
		specs: make(map[scheduler.JobID]*scheduler.JobSpec), capacity: p.Node,
		alive: make(map[topology.NodeID]bool), draining: make(map[topology.NodeID]bool),
		running: make(map[scheduler.TaskID][]topology.NodeID), done: make(map[scheduler.TaskID]bool),
		doneMaps: make(map[scheduler.JobID]int32), unit: cfg.Unit, limit: p.Limit,
	}
	for n := range topology.NodeID(p.nodes()) {
		s.alive[n] = true
	}
	return s
}

func (s *shadow) demand(t scheduler.TaskID) scheduler.Demand {
	spec := s.specs[t.Job]
	d := [...]scheduler.Demand{spec.MapDemand, spec.ReduceDemand, spec.DriverDemand}[t.Kind]
	if d.Slots == 0 {
		d.Slots = 1
	}
	if d.VCores == 0 {
		d.VCores = s.unit.VCores
	}
	if d.MemoryMB == 0 {
		d.MemoryMB = s.unit.MemoryMB
	}
	return d
}

// limited are the users whose containers a plan may limit.
var limited = []string{"alice", "bob"}

// overLimit reports whether a task would take its user beyond their limit. The only map, or the only task, of a user may.
func (s *shadow) overLimit(t scheduler.TaskID) bool {
	user := s.specs[t.Job].User
	if s.limit == 0 || !slices.Contains(limited, user) {
		return false
	}
	held, others := s.demand(t).Slots, [scheduler.NumKinds]int{}
	for o, on := range s.running {
		if s.specs[o.Job].User == user {
			held += s.demand(o).Slots * int32(len(on))
			others[o.Kind] += len(on)
		}
	}
	alone := t.Kind != scheduler.Driver && others[scheduler.Map] == 0 && (t.Kind == scheduler.Map || others[scheduler.Reduce] == 0)
	return held > s.limit && !alone
}

// launch records a decision in the books, or returns which rule it breaks.
func (s *shadow) launch(d scheduler.Decision, n topology.NodeID) error {
	t := d.Task
	switch {
	case s.specs[t.Job] == nil:
		return broken(Allowed, "%v launched, but the job is gone", t)
	case !s.alive[n]:
		return broken(Standing, "%v launched on dead node %d", t, n)
	case s.overLimit(t):
		return broken(Limited, "%v launched, but user %s holds %d containers already", t, s.specs[t.Job].User, s.limit)
	case s.draining[n]:
		return broken(Standing, "%v launched on draining node %d", t, n)
	case s.done[t]:
		return broken(Once, "%v launched after it was done", t)
	case len(s.running[t]) > 0 && !d.Second:
		return broken(Once, "%v launched on node %d while it runs on %v", t, n, s.running[t])
	case d.Second && len(s.running[t]) == 0:
		return broken(Allowed, "%v launched as a second attempt without a first", t)
	case d.Reason.Code == scheduler.Unspecified || d.Reason.Say == "":
		return broken(Reasons, "%v launched without a reason", t)
	}
	s.running[t] = append(s.running[t], n)
	return s.room(n)
}

// room checks that node n holds no more than it has.
func (s *shadow) room(n topology.NodeID) error {
	var slots [scheduler.NumKinds]int32
	var cores int32
	var memory int64
	for t, nodes := range s.running {
		for _, on := range nodes {
			if on == n {
				d := s.demand(t)
				slots[t.Kind] += d.Slots
				cores += d.VCores
				memory += d.MemoryMB
			}
		}
	}
	c := s.capacity
	if c.MapSlots > 0 && slots[scheduler.Map] > c.MapSlots || c.MapSlots > 0 && slots[scheduler.Reduce] > c.ReduceSlots ||
		c.Containers > 0 && slots[0]+slots[1]+slots[2] > c.Containers || c.VCores > 0 && cores > c.VCores || c.MemoryMB > 0 && memory > c.MemoryMB {
		return broken(Places, "node %d holds slots %v, %d vcores, %d MB, but has %+v", n, slots, cores, memory, c)
	}
	return nil
}

// stop removes an attempt from the books.
func (s *shadow) stop(t scheduler.TaskID, n topology.NodeID) {
	on := s.running[t]
	for i := range on {
		if on[i] != n {
			continue
		}
		if len(on) == 1 {
			delete(s.running, t)
		} else {
			s.running[t] = append(on[:i:i], on[i+1:]...)
		}
		return
	}
}

func (s *shadow) finish(t scheduler.TaskID) {
	if s.done[t] {
		return
	}
	s.done[t] = true
	if t.Kind == scheduler.Map {
		s.doneMaps[t.Job]++
	}
}

func (s *shadow) lose(t scheduler.TaskID) {
	if !s.done[t] {
		return
	}
	delete(s.done, t)
	if t.Kind == scheduler.Map {
		s.doneMaps[t.Job]--
	}
}

func (s *shadow) forget(j scheduler.JobID) {
	delete(s.specs, j)
	for t := range s.running {
		if t.Job == j {
			delete(s.running, t)
		}
	}
}
