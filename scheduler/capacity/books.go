package capacity

import (
	"cmp"
	"time"

	"github.com/millrace/millrace/scheduler"
)

const anyKind = kinds // index of counts over both kinds

// A leaf is the part of a queue that only queues with jobs have.
type leaf struct {
	users []user // by slot of the user
	// active counts users with pending tasks: maps, reduces, either.
	active [kinds + 1]int32
	busy   int32 // users with a ready job
	// lines has the jobs with an eligible task, in the order of the queue.
	lines [kinds]*scheduler.Order[*job, scheduler.Priority]
}

// A user is what one user has in one queue.
type user struct {
	used    [kinds]int32
	pending [kinds + 1]int32 // jobs with an eligible task: of a kind, of either
	jobs    int32            // ready jobs
}

func newLeaf() *leaf {
	l := new(leaf)
	for k := range l.lines {
		l.lines[k] = scheduler.NewOrder[*job](func(a, b scheduler.Priority) int { return cmp.Compare(b, a) })
	}
	return l
}

func (l *leaf) user(j *job) *user {
	for len(l.users) <= j.User().Slot() {
		l.users = append(l.users, user{})
	}
	return &l.users[j.User().Slot()]
}

// seat is what the policy knows about one job; the table is indexed by job slot.
type seat struct {
	leaf     *queue
	ready    bool
	listed   [kinds + 1]bool
	pending  int64        // maps, as counted in backlogs
	missed   int32        // scheduling opportunities since the last local map
	reserved [kinds]int32 // nodes
}

func (p *Policy) seat(j *job) *seat {
	for len(p.seats) <= j.Slot() {
		p.seats = append(p.seats, seat{})
	}
	return &p.seats[j.Slot()]
}

// occupied returns what counts against q's share of kind k. Where kinds share containers, both count.
func (p *Policy) occupied(q *queue, k scheduler.Kind) int32 {
	if p.shared {
		return q.used[scheduler.Map] + q.used[scheduler.Reduce]
	}
	return q.used[k]
}

func (p *Policy) heldBy(u *user, k scheduler.Kind) int32 {
	if p.shared {
		return u.used[scheduler.Map] + u.used[scheduler.Reduce]
	}
	return u.used[k]
}

// activeUsers is n of spec/capacity 3.5, allowed, line 4.
func (p *Policy) activeUsers(l *leaf, k scheduler.Kind) int32 {
	switch {
	case p.cfg.UsersByJobs:
		return l.busy
	case p.shared:
		return l.active[anyKind]
	}
	return l.active[k]
}

// slotsOf is s: how many slots one task of kind k of j takes.
func (p *Policy) slotsOf(j *job, k scheduler.Kind) int32 {
	d := j.Demand(k)
	if p.cfg.Memory.on() {
		return max(d.Slots, SlotsPerTask(d.MemoryMB, p.cfg.Memory.SlotMB[k]))
	}
	return d.Slots
}

// charge adds by slots of kind k to the books of q, of its ancestors, and of the user with this slot.
func charge(q *queue, userSlot int, k scheduler.Kind, by int32) {
	q.leaf.users[userSlot].used[k] += by
	for ; q != nil; q = q.parent {
		q.used[k] += by
	}
}

// A release is a finished map that is still on the books.
type release struct {
	at       time.Duration
	leaf     *queue
	userSlot int
	slots    int32
}

// ended removes an attempt from the books, a finished map after the usage lag (spec/capacity 4.2).
func (p *Policy) ended(now time.Duration, j *job, e scheduler.Event) {
	q, s := p.seat(j).leaf, p.slotsOf(j, e.Task.Kind)
	if p.cfg.UsageLag > 0 && e.Kind == scheduler.EvTaskFinished && e.Task.Kind == scheduler.Map {
		p.lagging = append(p.lagging, release{now + p.cfg.UsageLag, q, j.User().Slot(), s})
		return
	}
	charge(q, j.User().Slot(), e.Task.Kind, -s)
}

// settle removes maps whose usage lag is over.
func (p *Policy) settle(now time.Duration) {
	n := 0
	for n < len(p.lagging) && p.lagging[n].at <= now {
		r := p.lagging[n]
		charge(r.leaf, r.userSlot, scheduler.Map, -r.slots)
		n++
	}
	if n > 0 {
		p.lagging = append(p.lagging[:0], p.lagging[n:]...)
	}
}

// list updates the books of who has work, for j.
func (p *Policy) list(j *job) {
	s := p.seat(j)
	if s.leaf == nil {
		return
	}
	l, u := s.leaf.leaf, s.leaf.leaf.user(j)
	ready := j.Phase() == scheduler.Ready
	if ready != s.ready {
		s.ready = ready
		count(&u.jobs, &l.busy, ready)
	}
	either := false
	for k := range kinds {
		listed := p.cfg.Reduces.Eligible(j, scheduler.Kind(k))
		either = either || listed
		p.enlist(j, s, k, listed)
	}
	if either != s.listed[anyKind] {
		s.listed[anyKind] = either
		count(&u.pending[anyKind], &l.active[anyKind], either)
	}
	pending := int64(0)
	if ready {
		pending = int64(j.Pending(scheduler.Map))
	}
	for q, by := s.leaf, pending-s.pending; by != 0 && q != nil; q = q.parent {
		q.backlog += by
	}
	s.pending = pending
}

func (p *Policy) enlist(j *job, s *seat, k int, listed bool) {
	if listed == s.listed[k] {
		return
	}
	s.listed[k] = listed
	l := s.leaf.leaf
	count(&l.user(j).pending[k], &l.active[k], listed)
	by := int32(-1)
	if listed {
		by = 1
		l.lines[k].Set(j, p.turn(j, s.leaf))
	} else {
		l.lines[k].Remove(j)
	}
	for q := s.leaf; q != nil; q = q.parent {
		q.listed[k] += by
	}
}

// turn returns what a queue orders its jobs by, before the time of submission (spec/capacity 3.4).
func (p *Policy) turn(j *job, q *queue) scheduler.Priority {
	if q.Priority {
		return j.Priority()
	}
	return scheduler.Normal
}

// count adds or removes one job of a user, and the user if it is the first or was the last.
func count(jobs, users *int32, add bool) {
	if add {
		if *jobs++; *jobs == 1 {
			*users++
		}
		return
	}
	if *jobs--; *jobs == 0 {
		*users--
	}
}
