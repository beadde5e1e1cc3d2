package scheduler

import (
	"cmp"
	"iter"
	"slices"
)

// A GroupKind says what a group collects jobs by.
type GroupKind uint8

// The kinds of group. A member is a user inside a queue.
const (
	UserGroup GroupKind = iota
	QueueGroup
	PoolGroup
	MemberGroup
	numGroupKinds
)

// String returns "user", "queue", "pool" or "member".
func (k GroupKind) String() string {
	return [...]string{"user", "queue", "pool", "member"}[min(k, MemberGroup)]
}

// A Group is a user, a queue, a pool, or a user inside a queue, with what its
// jobs hold and want. Groups live as long as State.
type Group struct {
	kind  GroupKind
	slot  int32
	limit int32 // a user's limit on containers; 0 means any number
	name  string
	queue *Group // of a member
	use   Usage

	jobs     jobList
	pending  [NumKinds]int32 // jobs with pending tasks
	runnable [NumKinds]int32 // jobs with runnable tasks
	waiting  [NumKinds]int64 // pending tasks of ready jobs
	active   [NumKinds]int32 // of a queue: members with runnable jobs
}

// Kind returns what the group collects jobs by.
func (g *Group) Kind() GroupKind { return g.kind }

// Name returns the group's name; a member's is its user's.
func (g *Group) Name() string { return g.name }

// Slot returns a small number that no other group of this kind has: an index
// for side tables.
func (g *Group) Slot() int { return int(g.slot) }

// Seq orders groups by first appearance.
func (g *Group) Seq() int64 { return int64(g.slot) }

// Queue returns the queue of a member, nil for other groups.
func (g *Group) Queue() *Group { return g.queue }

// Usage returns what the group holds; the caller must not change it.
func (g *Group) Usage() *Usage { return &g.use }

// Held returns the slots or containers of the group's maps and reduces.
func (g *Group) Held() int32 { return g.use.Work() }

// Jobs returns the group's unfinished jobs in order of submission.
func (g *Group) Jobs() Jobs { return Jobs{g.jobs.list} }

// PendingJobs returns how many ready jobs have pending tasks of kind k.
func (g *Group) PendingJobs(k Kind) int32 { return g.pending[k] }

// RunnableJobs returns how many jobs have runnable tasks of kind k.
func (g *Group) RunnableJobs(k Kind) int32 { return g.runnable[k] }

// PendingTasks returns how many tasks of kind k of ready jobs are pending.
func (g *Group) PendingTasks(k Kind) int64 { return g.waiting[k] }

// ActiveMembers returns, for a queue, how many of its users have runnable tasks
// of kind k (spec/capacity 3.5, line 4 of allowed).
func (g *Group) ActiveMembers(k Kind) int32 { return g.active[k] }

// Jobs is a read-only list of jobs in order of submission, unless the call says otherwise. It is valid until
// the next event.
type Jobs struct{ list []*Job }

// Len returns the number of jobs.
func (l Jobs) Len() int { return len(l.list) }

// At returns the i-th job.
func (l Jobs) At(i int) *Job { return l.list[i] }

// All yields the jobs in order.
func (l Jobs) All() iter.Seq[*Job] { return slices.Values(l.list) }

// jobList keeps jobs ascending by seq; if ranked, those of a higher priority first.
type jobList struct {
	list   []*Job
	ranked bool
}

func (l *jobList) compare(a, b *Job) int {
	if l.ranked && a.priority != b.priority {
		return cmp.Compare(b.priority, a.priority)
	}
	return cmp.Compare(a.seq, b.seq)
}

func (l *jobList) find(j *Job) (int, bool) {
	return slices.BinarySearchFunc(l.list, j, l.compare)
}

func (l *jobList) add(j *Job) {
	if n := len(l.list); n == 0 || l.compare(l.list[n-1], j) < 0 {
		l.list = append(l.list, j)
		return
	}
	if i, found := l.find(j); !found {
		l.list = slices.Insert(l.list, i, j)
	}
}

func (l *jobList) remove(j *Job) {
	if i, found := l.find(j); found {
		l.list = slices.Delete(l.list, i, i+1)
	}
}

type groupKey struct {
	kind  GroupKind
	queue int32 // of a member
	name  string
}

// groups interns groups by name.
type groups struct {
	byName map[groupKey]*Group
	all    [numGroupKinds][]*Group
}

func (gs *groups) get(kind GroupKind, queue *Group, name string) *Group {
	key := groupKey{kind: kind, name: name}
	if queue != nil {
		key.queue = queue.slot
	}
	if g := gs.byName[key]; g != nil {
		return g
	}
	g := &Group{kind: kind, slot: int32(len(gs.all[kind])), name: name, queue: queue}
	gs.byName[key] = g
	gs.all[kind] = append(gs.all[kind], g)
	return g
}

// groups returns the four groups of j.
func (j *Job) groups() [numGroupKinds]*Group {
	return [numGroupKinds]*Group{j.user, j.queue, j.pool, j.member}
}
