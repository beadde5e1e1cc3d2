package scheduler

import (
	"math"
	"slices"
	"time"

	"github.com/millrace/millrace/topology"
)

// A Job is one submitted, unfinished job as State knows it. Policies read it;
// only State writes it. A *Job stays valid until the event that ends the job
// has been observed; after that, forget it.
type Job struct {
	// What a decision asks of each waiting job, most of which get nothing, is kept together.
	id       JobID
	slot     int32
	seq      int64
	phase    Phase
	priority Priority
	stored   bool  // some node holds input of the job
	copies   int32 // replicas of each map's input, where all have the same number; else 0
	user     *Group
	banned   []topology.NodeID
	demand   [NumKinds]Demand

	spec     *JobSpec
	replicas []topology.NodeID // the replicas of its spec
	weight   float64

	submitted, admitted, ready time.Duration
	firstStart, mapsDoneAt     time.Duration
	lastMap                    time.Duration // when a map last started or finished

	queue, pool, member *Group

	tasks   [NumKinds]taskSet
	byNode  localIndex
	byRack  localIndex
	known   topology.NodeID // nodes below it were known when byNode was built
	startAt int32           // maps that must be done before reduces may start
	use     Usage

	// listed says in which lists of State and groups the job is.
	isPending, isRunnable [NumKinds]bool

	racks   []RackShare // by rack; nil before the first launch
	moved   []mapBytes  // by map; nil before the first one finished
	sum     mapBytes    // of finished maps
	percent float64
}

// mapBytes is what one finished map read and wrote.
type mapBytes struct{ in, out int64 }

// A RackShare is what one job has in one rack.
type RackShare struct {
	Running   [NumKinds]int32 // attempts
	Done      [NumKinds]int32 // finished tasks whose output counts
	MapOutput int64           // bytes of finished maps
}

// ID returns the job's id.
func (j *Job) ID() JobID { return j.id }

// Slot returns a small number that no other unfinished job has: an index for
// side tables. It is used again after the job has ended.
func (j *Job) Slot() int { return int(j.slot) }

// Seq returns the job's place in the order of submission, from 0.
func (j *Job) Seq() int64 { return j.seq }

// Spec returns what is known about the job; the caller must not change it.
func (j *Job) Spec() *JobSpec { return j.spec }

// Phase returns how far the job has come.
func (j *Job) Phase() Phase { return j.phase }

// User, Queue and Pool return the groups the job belongs to; Member is the
// group of its user inside its queue.
func (j *Job) User() *Group { return j.user }

// Queue returns the job's queue.
func (j *Job) Queue() *Group { return j.queue }

// Pool returns the job's pool.
func (j *Job) Pool() *Group { return j.pool }

// Member returns the group of the job's user inside the job's queue.
func (j *Job) Member() *Group { return j.member }

// Priority returns -2 (very low) to 2 (very high).
func (j *Job) Priority() Priority { return j.priority }

// Weight returns the job's weight, 1 unless the spec says otherwise.
func (j *Job) Weight() float64 { return j.weight }

// Submitted returns when the job was submitted.
func (j *Job) Submitted() time.Duration { return j.submitted }

// AdmittedAt returns when the job was admitted; meaningful from phase Admitted.
func (j *Job) AdmittedAt() time.Duration { return j.admitted }

// ReadyAt returns when its tasks became schedulable; meaningful from phase
// Ready.
func (j *Job) ReadyAt() time.Duration { return j.ready }

// Started returns when the first map or reduce was launched, and whether one
// was.
func (j *Job) Started() (time.Duration, bool) { return j.firstStart, j.firstStart >= 0 }

// MapsDoneAt returns when the last map finished, and whether all maps are done.
// A job without maps has them done when it becomes ready.
func (j *Job) MapsDoneAt() (time.Duration, bool) { return j.mapsDoneAt, j.mapsDoneAt >= 0 }

// Total returns how many tasks of kind k the job has.
func (j *Job) Total(k Kind) int32 { return j.tasks[k].total() }

// Pending returns how many tasks of kind k wait to be assigned.
func (j *Job) Pending(k Kind) int32 { return j.tasks[k].pending }

// Running returns how many tasks of kind k run.
func (j *Job) Running(k Kind) int32 { return j.tasks[k].running }

// Done returns how many tasks of kind k are done.
func (j *Job) Done(k Kind) int32 { return j.tasks[k].done }

// Usage returns what the job holds; the caller must not change it.
func (j *Job) Usage() *Usage { return &j.use }

// Held returns the slots or containers of its maps and reduces.
func (j *Job) Held() int32 { return j.use.Work() }

// Demand returns the room one task of kind k takes.
func (j *Job) Demand(k Kind) Demand { return j.demand[k] }

// MapProgress returns done maps / all maps; 1 for a job without maps.
func (j *Job) MapProgress() float64 {
	if n := j.tasks[Map].total(); n > 0 {
		return float64(j.tasks[Map].done) / float64(n)
	}
	return 1
}

// ReduceReady reports whether the job passed its slow start: enough maps are
// done for its reduces to start.
func (j *Job) ReduceReady() bool { return j.tasks[Map].done >= j.startAt }

// PastSlowstart is ReduceReady for a fraction other than the job's own.
func (j *Job) PastSlowstart(fraction float64) bool {
	return j.tasks[Map].done >= slowstartMaps(fraction, j.tasks[Map].total())
}

// slowstartMaps returns max(1, ceil(fraction*maps)); 0 without maps or for a
// negative fraction (spec/slowdown 3).
func slowstartMaps(fraction float64, maps int32) int32 {
	if maps == 0 || fraction < 0 {
		return 0
	}
	return min(maps, max(1, int32(math.Ceil(fraction*float64(maps)-1e-9))))
}

// Complete reports whether every map and reduce is done.
func (j *Job) Complete() bool {
	return j.phase == Ready && j.tasks[Map].done == j.tasks[Map].total() && j.tasks[Reduce].done == j.tasks[Reduce].total()
}

// Runnable reports whether a task of kind k could be assigned now: the job is
// ready, one is pending and, for a reduce, slow start has passed.
func (j *Job) Runnable(k Kind) bool { return j.isRunnable[k] }

// Samples returns how many tasks of kind k finished, the sum of their lengths
// and the longest.
func (j *Job) Samples(k Kind) (n int32, sum, longest time.Duration) {
	t := &j.tasks[k]
	return t.samples, t.sum, t.max
}

// WorkSum returns the sum of Samples without the time that reduces waited for the last map (spec/deadline 3.2,
// spec/slowdown 6.2).
func (j *Job) WorkSum(k Kind) time.Duration { return j.tasks[k].work }

// Elapsed returns how long the running attempts of kind k have run together.
func (j *Job) Elapsed(now time.Duration, k Kind) time.Duration {
	t := &j.tasks[k]
	return time.Duration(t.attempts)*now - t.startSum
}

// Service returns the slot time the job's maps and reduces have consumed, ended
// attempts of every outcome included.
func (j *Job) Service(now time.Duration) time.Duration {
	return j.tasks[Map].spent + j.tasks[Reduce].spent + j.Elapsed(now, Map) + j.Elapsed(now, Reduce)
}

// InRack returns what the job has in rack r.
func (j *Job) InRack(r topology.RackID) RackShare {
	if r < 0 || int(r) >= len(j.racks) {
		return RackShare{}
	}
	return j.racks[r]
}

// MapBytes returns input and output bytes of the finished maps.
func (j *Job) MapBytes() (in, out int64) { return j.sum.in, j.sum.out }

// SplitBytes returns the input bytes of map i; 0 if unknown.
func (j *Job) SplitBytes(i int32) int64 {
	if s := &j.spec.Splits; int(i) < len(s.Bytes) {
		return s.Bytes[i]
	}
	if n := j.tasks[Map].total(); n > 0 && j.spec.Input.Known {
		return j.spec.Input.Bytes / int64(n)
	}
	return 0
}

// Replicas returns the nodes that hold the input of map i; the caller must not
// change the slice.
func (j *Job) Replicas(i int32) []topology.NodeID {
	if end := int(i+1) * int(j.copies); j.copies > 0 && end <= len(j.replicas) {
		return j.replicas[end-int(j.copies) : end]
	}
	return j.spec.Splits.Of(i)
}

// Stored reports whether nodes hold input of the job, from phase Ready on. If none does, a map is as near to its input
// on one node as on another.
func (j *Job) Stored() bool { return j.stored }

// TaskState returns the state of task i of kind k.
func (j *Job) TaskState(k Kind, i int32) TaskState {
	if t := &j.tasks[k]; t.has(i) {
		return t.state[i]
	}
	return TaskPending
}

// OutputNode returns the node where the finished task i of kind k ran, or
// NoNode.
func (j *Job) OutputNode(k Kind, i int32) topology.NodeID {
	if t := &j.tasks[k]; t.has(i) && t.state[i] == TaskDone {
		return topology.NodeID(t.ref[i])
	}
	return topology.NoNode
}

// Progress returns the last reported percentage, or, before any report, done
// tasks with maps and reduces weighing half each (spec/marp 2.2).
func (j *Job) Progress() float64 {
	if j.percent > 0 || j.phase < Ready {
		return j.percent
	}
	maps, reduces := j.MapProgress(), 1.0
	n := j.tasks[Reduce].total()
	if n > 0 {
		reduces = float64(j.tasks[Reduce].done) / float64(n)
		return 50*maps + 50*reduces
	}
	return 100 * maps
}

// Banned reports whether the job takes nothing on n.
func (j *Job) Banned(n topology.NodeID) bool {
	return len(j.banned) > 0 && slices.Contains(j.banned, n)
}
