package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/topology"
)

func (s *State) submit(now time.Duration, spec *JobSpec) error {
	if spec == nil {
		return fmt.Errorf("job submitted without a spec: %w", ErrInvalid)
	}
	if err := spec.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if s.jobs[spec.ID] != nil {
		return fmt.Errorf("job %v is submitted already: %w", spec.ID, ErrStale)
	}
	j := s.newJob(now, spec)
	s.jobs[j.id] = j
	s.live.add(j)
	s.waiting.add(j)
	for _, g := range j.groups() {
		g.jobs.add(j)
	}
	return nil
}

func (s *State) newJob(now time.Duration, spec *JobSpec) *Job {
	j := &Job{
		id: spec.ID, slot: s.takeSlot(), seq: s.seq, spec: spec, submitted: now,
		priority: spec.Priority, weight: spec.Weight, firstStart: -1, mapsDoneAt: -1,
	}
	s.seq++
	if j.weight == 0 {
		j.weight = 1
	}
	j.demand = [NumKinds]Demand{
		Map:    spec.MapDemand.or(s.cfg.Unit),
		Reduce: spec.ReduceDemand.or(s.cfg.Unit),
		Driver: spec.DriverDemand.or(s.cfg.Unit),
	}
	for k := range j.tasks {
		j.tasks[k].head = -1
	}
	j.user = s.groups.get(UserGroup, nil, or(spec.User, "nobody"))
	j.user.limit = s.limits[j.user.name]
	j.queue = s.groups.get(QueueGroup, nil, or(spec.Queue, "default"))
	j.pool = s.groups.get(PoolGroup, nil, or(spec.Pool, "default"))
	j.member = s.groups.get(MemberGroup, j.queue, j.user.name)
	return j
}

func or(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

func (s *State) takeSlot() int32 {
	if n := len(s.freeSlots); n > 0 {
		slot := s.freeSlots[n-1]
		s.freeSlots = s.freeSlots[:n-1]
		return slot
	}
	s.slots++
	return s.slots - 1
}

func (s *State) applyJob(now time.Duration, e *Event) error {
	j := s.jobs[e.Job]
	if j == nil {
		return stale(e, "no such job")
	}
	switch e.Kind {
	case EvJobAdmitted:
		return s.admit(now, j, e)
	case EvJobReady:
		return s.makeReady(now, j, e)
	case EvJobFinished, EvJobFailed, EvJobVanished:
		s.end(now, j)
	case EvProgress:
		j.percent = min(max(e.Value, 0), 100)
	case EvBan:
		if !slices.Contains(j.banned, e.Node) {
			j.banned = append(j.banned, e.Node)
		}
	case EvUnban:
		j.banned = slices.DeleteFunc(j.banned, func(n topology.NodeID) bool { return n == e.Node })
	}
	return nil
}

func (s *State) admit(now time.Duration, j *Job, e *Event) error {
	if j.phase != Waiting {
		return stale(e, "the job is "+j.phase.String())
	}
	j.phase, j.admitted = Admitted, now
	s.waiting.remove(j)
	if !j.spec.HasDriver {
		return s.makeReady(now, j, e)
	}
	j.tasks[Driver] = newTaskSet(1)
	s.promised.add(Driver, j.demand[Driver])
	s.refresh(j)
	return nil
}

// makeReady turns the spec into schedulable tasks.
func (s *State) makeReady(now time.Duration, j *Job, e *Event) error {
	if j.phase != Admitted {
		return stale(e, "the job is "+j.phase.String())
	}
	if e.Spec != nil {
		if err := e.Spec.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		j.spec = e.Spec
	}
	j.phase, j.ready = Ready, now
	j.tasks[Map] = newTaskSet(j.spec.Maps)
	j.tasks[Reduce] = newTaskSet(j.spec.Reduces)
	fraction := j.spec.Slowstart
	if fraction == 0 {
		fraction = s.cfg.Slowstart
	}
	j.startAt = slowstartMaps(fraction, j.spec.Maps)
	if j.spec.Maps == 0 {
		j.mapsDoneAt = now
	}
	s.indexSplits(j)
	for _, g := range j.groups() {
		g.waiting[Map] += int64(j.spec.Maps)
		g.waiting[Reduce] += int64(j.spec.Reduces)
	}
	s.refresh(j)
	return nil
}

func (s *State) indexSplits(j *Job) {
	if len(j.spec.Splits.Replicas) == 0 {
		return
	}
	s.grow()
	j.stored, j.known = true, topology.NodeID(len(s.nodes))
	j.copies, j.replicas = j.spec.Splits.copies(), j.spec.Splits.Replicas
	if need := max(len(s.nodes), len(s.racks)); len(s.scratch) < need {
		s.scratch = make([]int32, need)
	}
	j.byNode.build(len(s.nodes), s.scratch, func(yield func(p, m int32)) {
		for m := range j.spec.Maps {
			s.eachNode(j, m, func(n int32) { yield(n, m) })
		}
	})
	s.nearAll(j, true)
	j.byRack.build(len(s.racks), s.scratch, func(yield func(p, m int32)) {
		for m := range j.spec.Maps {
			s.eachRack(j, m, func(r int32) { yield(r, m) })
		}
	})
}

// eachNode calls f once for every node that holds the input of map m and was
// known when the job was indexed.
func (s *State) eachNode(j *Job, m int32, f func(n int32)) {
	replicas := j.Replicas(m)
	for i, n := range replicas {
		if n >= 0 && n < j.known && !slices.Contains(replicas[:i], n) {
			f(int32(n))
		}
	}
}

// eachRack is eachNode for racks.
func (s *State) eachRack(j *Job, m int32, f func(r int32)) {
	replicas := j.Replicas(m)
next:
	for i, n := range replicas {
		if n < 0 || n >= j.known {
			continue
		}
		r := s.topo.RackOf(n)
		for _, o := range replicas[:i] {
			if o < j.known && s.topo.RackOf(o) == r {
				continue next
			}
		}
		f(int32(r))
	}
}

// end removes the job from all books. Its attempts are released: whoever ends a job also stops its tasks.
func (s *State) end(now time.Duration, j *Job) {
	for k := range j.tasks {
		for j.tasks[k].head >= 0 {
			s.release(now, j, j.tasks[k].head)
		}
	}
	if j.phase == Ready {
		for _, g := range j.groups() {
			g.waiting[Map] -= int64(j.tasks[Map].pending)
			g.waiting[Reduce] -= int64(j.tasks[Reduce].pending)
		}
	}
	if j.phase >= Admitted && j.spec.HasDriver {
		s.promised.sub(Driver, j.demand[Driver])
	}
	if j.tasks[Map].pending > 0 {
		s.nearAll(j, false)
	}
	j.phase = Ended
	s.refresh(j)
	s.live.remove(j)
	s.waiting.remove(j)
	for _, g := range j.groups() {
		g.jobs.remove(j)
	}
	s.ended = j
}

// refresh brings the lists and counts of jobs with work in line with j.
func (s *State) refresh(j *Job) {
	for k := Map; k <= Reduce; k++ {
		pending := j.phase == Ready && j.tasks[k].pending > 0
		if pending != j.isPending[k] {
			j.isPending[k] = pending
			list(&s.pending[k], j, pending)
			for _, g := range j.groups() {
				g.pending[k] += sign(pending)
			}
		}
		runnable := pending && (k == Map || j.ReduceReady())
		if runnable != j.isRunnable[k] {
			j.isRunnable[k] = runnable
			list(&s.runnable[k], j, runnable)
			s.countRunnable(j, k, sign(runnable))
		}
	}
	driver := (j.phase == Admitted || j.phase == Ready) && j.tasks[Driver].pending > 0
	if driver != j.isRunnable[Driver] {
		j.isRunnable[Driver] = driver
		list(&s.drivers, j, driver)
	}
}

func (s *State) countRunnable(j *Job, k Kind, by int32) {
	before := j.member.runnable[k]
	for _, g := range j.groups() {
		g.runnable[k] += by
	}
	if before == 0 || j.member.runnable[k] == 0 {
		j.queue.active[k] += by
	}
}

func list(l *jobList, j *Job, in bool) {
	if in {
		l.add(j)
	} else {
		l.remove(j)
	}
}

func sign(up bool) int32 {
	if up {
		return 1
	}
	return -1
}
