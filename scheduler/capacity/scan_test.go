package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/examine"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// scanned checks each decision against assign, pick, allowed and obtain of spec/capacity 3.5 as they are written: counted anew, from plain
// lists of what has happened.
type scanned struct {
	*Policy
	t      *testing.T
	got    map[topology.NodeID]*heartbeat
	shared bool
	lag    []lagging
	missed map[scheduler.JobID]int32
}

// heartbeat is what a node has received since it last reported.
type heartbeat struct{ tasks, reduces, remote, after int }

// lagging is a map that counts for a while after its end.
type lagging struct {
	until time.Duration
	leaf  *queue
	user  *scheduler.Group
	slots int32
}

func newScanned(p *Policy, t *testing.T) *scanned {
	return &scanned{Policy: p, t: t, got: map[topology.NodeID]*heartbeat{}, missed: map[scheduler.JobID]int32{}}
}

func (s *scanned) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	s.Policy.Observe(now, e, v)
	switch e.Kind {
	case scheduler.EvHeartbeat:
		s.got[e.Node] = &heartbeat{}
	case scheduler.EvNodeUp:
		s.shared = e.Capacity.MapSlots == 0 && e.Capacity.ReduceSlots == 0
	case scheduler.EvLaunched:
		h := s.since(e.Node)
		switch {
		case e.Task.Kind == scheduler.Reduce:
			h.reduces++
		case e.Task.Kind == scheduler.Driver:
			return
		case e.Locality == scheduler.Remote:
			h.remote++
		case h.remote > 0:
			h.after++
		}
		h.tasks++
	case scheduler.EvTaskFinished:
		if j := v.Job(e.Job); j != nil && e.Task.Kind == scheduler.Map && s.cfg.UsageLag > 0 {
			s.lag = append(s.lag, lagging{now + s.cfg.UsageLag, s.leafOf(j), j.User(), s.slotsOf(j, scheduler.Map)})
		}
	}
}

func (s *scanned) since(n topology.NodeID) *heartbeat {
	if s.got[n] == nil {
		s.got[n] = &heartbeat{}
	}
	return s.got[n]
}

func (s *scanned) leafOf(j *job) *queue {
	if i := slices.IndexFunc(s.leaves, func(q *queue) bool { return q.Name == j.Queue().Name() }); i >= 0 {
		return s.leaves[i]
	}
	if i := slices.IndexFunc(s.leaves, func(q *queue) bool { return q.Name == "default" }); i >= 0 {
		return s.leaves[i]
	}
	return s.leaves[0]
}

func under(q, top *queue) bool {
	for ; q != nil; q = q.parent {
		if q == top {
			return true
		}
	}
	return false
}

// holds is the slots that count for kind k of q, or of one user in it.
func (s *scanned) holds(now time.Duration, q *queue, who *scheduler.Group, k scheduler.Kind, v *scheduler.View) (slots int32) {
	counts := func(leaf *queue, user *scheduler.Group, of scheduler.Kind) bool {
		return under(leaf, q) && (who == nil || user == who) && (of == k || s.shared)
	}
	for j := range v.Jobs().All() {
		for of := range scheduler.Driver {
			if !counts(s.leafOf(j), j.User(), of) {
				continue
			}
			slots += s.slotsOf(j, of) * j.Usage().Tasks[of]
			for n := range s.kept {
				if r := s.kept[n][of]; r.job == j {
					slots += r.slots
				}
			}
		}
	}
	for _, l := range s.lag {
		if l.until > now && counts(l.leaf, l.user, scheduler.Map) {
			slots += l.slots
		}
	}
	return slots
}

func (s *scanned) line(q *queue, k scheduler.Kind, v *scheduler.View) (out []*job) {
	for j := range v.Jobs().All() {
		if under(s.leafOf(j), q) && s.cfg.Reduces.Eligible(j, k) {
			out = append(out, j)
		}
	}
	if q.leaf != nil && q.Priority {
		slices.SortStableFunc(out, func(a, b *job) int { return cmp.Compare(b.Priority(), a.Priority()) })
	}
	return out
}

// users counts those who compete in a leaf.
func (s *scanned) users(q *queue, k scheduler.Kind, v *scheduler.View) int32 {
	all := map[*scheduler.Group]bool{}
	for j := range v.Jobs().All() {
		active := s.cfg.Reduces.Eligible(j, k) || s.shared && s.cfg.Reduces.Eligible(j, 1-k)
		if s.cfg.UsersByJobs {
			active = j.Phase() == scheduler.Ready
		}
		if active && s.leafOf(j) == q {
			all[j.User()] = true
		}
	}
	return int32(len(all))
}

// part is a queue's part of the cluster's slots of kind k, and its cap; -1: none.
func (s *scanned) part(q *queue, k scheduler.Kind, v *scheduler.View) (slots, most int32) {
	part, cap := 1.0, 1.0
	for ; q.parent != nil; q = q.parent {
		part *= q.Capacity / 100
		if q.MaxCapacity > 0 {
			cap *= q.MaxCapacity / 100
		}
	}
	all := float64(v.Total().Slots[k])
	if slots, most = int32(math.Floor(part*all+1e-9)), -1; cap < 1 {
		most = max(1, int32(math.Floor(cap*all+1e-9)))
	}
	return slots, most
}

// limit is lines 2 to 5 of allowed.
func (s *scanned) limit(now time.Duration, j *job, k scheduler.Kind, v *scheduler.View) int32 {
	q, task := s.leafOf(j), s.slotsOf(j, k)
	slots, _ := s.part(q, k, v)
	return UserLimit(slots, s.holds(now, q, nil, k, v), s.users(q, k, v), task, q.UserLimit, q.UserLimitFactor)
}

func (s *scanned) mayRun(now time.Duration, j *job, k scheduler.Kind, v *scheduler.View) bool {
	if s.shared && k == scheduler.Map && j.Running(scheduler.Map) == 0 && j.Usage().Tasks[scheduler.Reduce] > 0 {
		return true // its own reduces may hold all that it may have
	}
	task := s.slotsOf(j, k)
	for q := s.leafOf(j); q != nil; q = q.parent {
		if _, most := s.part(q, k, v); most >= 0 && s.holds(now, q, nil, k, v)+task > max(most, task) {
			return false
		}
	}
	return s.holds(now, s.leafOf(j), j.User(), k, v)+task <= s.limit(now, j, k, v)
}

// obtain is obtain of spec/capacity 3.5, with the count of offers that a job has passed up.
func (s *scanned) obtain(j *job, n topology.NodeID, k scheduler.Kind, v *scheduler.View) (scheduler.TaskID, bool) {
	if k == scheduler.Reduce {
		t, _, ok := v.PickTask(j, n, k)
		return t, ok
	}
	if v.Fresh(n) {
		s.missed[j.ID()]++
	}
	nodes, missed, worst := float64(v.Total().Nodes), float64(s.missed[j.ID()]), scheduler.RackLocal
	if s.cfg.RackWait > 0 && missed <= s.cfg.RackWait*nodes {
		worst = scheduler.NodeLocal
	}
	if t, _, ok := v.PickMap(j, n, worst); ok {
		s.missed[j.ID()] = 0
		return t, true
	}
	left := float64(j.Total(scheduler.Map) - j.Done(scheduler.Map))
	if s.since(n).remote == 0 && missed > max(min(left, nodes)*s.cfg.LocalityWait, s.cfg.RackWait*nodes) {
		t, _, ok := v.PickMap(j, n, scheduler.Remote)
		return t, ok
	}
	return scheduler.TaskID{}, false
}

// serve is pick: the queues below q in order, and the jobs of each.
func (s *scanned) serve(now time.Duration, q *queue, n topology.NodeID, k scheduler.Kind, v *scheduler.View) (string, bool) {
	if q.leaf == nil {
		for _, c := range s.order(now, q, k, v) {
			if _, most := s.part(c, k, v); len(s.line(c, k, v)) == 0 || !s.shared && most >= 0 && s.holds(now, c, nil, k, v) >= most {
				continue
			}
			if got, done := s.serve(now, c, n, k, v); done {
				return got, true
			}
		}
		return "", false
	}
	for i, j := range s.line(q, k, v) {
		if !s.mayRun(now, j, k, v) || k == scheduler.Reduce && !s.mayReduce(v, n, j) || !v.Fits(n, j, k) {
			continue
		}
		if task, ok := s.obtain(j, n, k, v); ok {
			slots, _ := s.part(q, k, v)
			r := scheduler.Reason{Say: "{group} holds {a} of {b} guaranteed {kind} slots; {job} is first in it", Group: j.Queue(), Job: j.ID(), Kind: k, A: int64(s.holds(now, q, nil, k, v)), B: int64(slots), C: int64(i)}
			if i > 0 {
				r.Say = "{group} holds {a} of {b} guaranteed {kind} slots; {job} is next in it: {c} before it cannot run here now"
			}
			return fmt.Sprintf("%v: %s", task, r.Text(v)), true
		}
	}
	return "", false
}

// order is line 2 of pick: the queue farthest below its part comes first.
func (s *scanned) order(now time.Duration, q *queue, k scheduler.Kind, v *scheduler.View) []*queue {
	key := func(c *queue) float64 {
		if slots, _ := s.part(c, k, v); !s.cfg.Backlog && slots > 0 {
			return float64(s.holds(now, c, nil, k, v)) / float64(slots)
		}
		if !s.cfg.Backlog {
			return 1
		}
		waiting := 0.0
		for j := range v.Jobs().All() {
			if under(s.leafOf(j), c) && j.Phase() == scheduler.Ready {
				waiting -= float64(j.Pending(scheduler.Map))
			}
		}
		return waiting
	}
	all := slices.Clone(q.children)
	slices.SortFunc(all, func(a, b *queue) int { return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a.place, b.place)) })
	return all
}

func (s *scanned) decide(now time.Duration, n topology.NodeID, v *scheduler.View) string {
	h := s.since(n)
	if h.tasks >= s.cfg.TasksPerHeartbeat {
		return "idle"
	}
	for _, k := range s.cfg.Reduces.Kinds(v, n) {
		switch {
		case !v.HasRoom(n, k), k == scheduler.Reduce && h.reduces >= s.cfg.ReducesPerHeartbeat:
		case k == scheduler.Map && h.remote > 0 && h.remote+h.after > s.cfg.AfterOffSwitch:
		default:
			if got, done := s.serve(now, s.root, n, k, v); done {
				return got
			}
		}
	}
	return "idle"
}

// wide reports whether some task takes several slots: for those nodes are reserved, which other tests hold.
func (s *scanned) wide(v *scheduler.View) bool {
	for j := range v.Jobs().All() {
		if s.slotsOf(j, scheduler.Map) > 1 || s.slotsOf(j, scheduler.Reduce) > 1 {
			return true
		}
	}
	return false
}

func (s *scanned) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	if s.wide(v) {
		d := s.Policy.Assign(now, n, v)
		for j := range v.Jobs().All() {
			s.missed[j.ID()] = s.seat(j).missed
		}
		return d
	}
	s.told(now, v)
	want := s.decide(now, n, v)
	d := s.Policy.Assign(now, n, v)
	got := "idle"
	if d.OK {
		got = fmt.Sprintf("%v: %s", d.Task, d.Reason.Text(v))
	}
	if got != want {
		s.t.Fatalf("at %v node %d: %s; as it is written %s", now, n, got, want)
	}
	return d
}

// told checks what the jobs are told that wait.
func (s *scanned) told(now time.Duration, v *scheduler.View) {
	for _, q := range s.leaves {
		before := int64(0)
		for _, j := range s.line(q, scheduler.Map, v) {
			got := s.Explain(now, j.ID(), v)
			want := scheduler.Reason{Code: scheduler.NoRoom, Say: got.Say, Job: j.ID(), Kind: scheduler.Map, Group: j.Queue(), A: before}
			before++
			switch {
			case !s.mayRun(now, j, scheduler.Map, v):
				if want = got; got.Code != scheduler.AtLimit || got.A+int64(s.slotsOf(j, scheduler.Map)) <= got.B {
					s.t.Fatalf("at %v %v, which is at a limit, is told %s", now, j.ID(), got.Text(v))
				}
			case s.missed[j.ID()] > 0:
				left, nodes := float64(j.Total(scheduler.Map)-j.Done(scheduler.Map)), float64(v.Total().Nodes)
				want.Code, want.A, want.B = scheduler.ForLocality, int64(s.missed[j.ID()]), int64(max(min(left, nodes)*s.cfg.LocalityWait, s.cfg.RackWait*nodes))
			case want.A > 0:
				want.Code = scheduler.Behind
			}
			if got != want {
				s.t.Fatalf("at %v %v is told %+v, want %+v", now, j.ID(), got, want)
			}
		}
	}
}

// TestDecisionsAgainstScan: every decision is that of spec/capacity 3.5 as it is written, with the same numbers in its reason.
func TestDecisionsAgainstScan(t *testing.T) {
	for name, params := range variants {
		if name == "memory" {
			continue // slots by memory: wide tasks
		}
		inner := schedulertest.Factory(t, &Info, params)
		for seed := range uint64(10) {
			made := func() scheduler.Policy { return newScanned(inner().(*Policy), t) }
			if _, err := examine.Run(examine.Draw(seed, seed%2 == 1), made, nil, examine.Promises{Quick: true}); err != nil {
				t.Fatalf("%s, situation %d: %v", name, seed, err)
			}
		}
	}
}

// recounted checks the books of the poller before each poll, and what the poll lets in against spec/capacity 3.4 as it is written.
type recounted struct {
	*Init
	t *testing.T
}

// booked is the jobs of a leaf, or of one user in it, by plain count.
type booked struct{ jobs, active, tasks, held int }

func (r recounted) count(n int, who *scheduler.Group, v *scheduler.View) (b booked) {
	for j := range v.Jobs().All() {
		g := &r.guests[j.Slot()]
		if !g.in || r.leafOf(j) != r.leaves[n] || who != nil && j.User() != who {
			continue
		}
		b.jobs++
		if who == nil && g.held == byQueue || who != nil && g.held == byUser {
			b.held++
		}
		if g.active {
			b.active++
			b.tasks += g.tasks
		}
	}
	return b
}

func (r recounted) leafOf(j *job) *queue {
	q, _ := r.find(j.Queue().Name())
	return q
}

// lets is whom a poll lets in.
func (r recounted) lets(n int, v *scheduler.View) (in []scheduler.JobID) {
	q, limits := r.leaves[n], r.waitingQueues[n].limits
	all, full := r.count(n, nil, v), map[*scheduler.Group]bool{}
	more := map[*scheduler.Group]booked{}
	for _, j := range r.queue(n, v) {
		if _, never := v.TooLarge(j); never {
			continue
		}
		tasks := int(j.Spec().Maps) + int(j.Spec().Reduces)
		if all.held > 0 || all.active >= limits.Init || all.tasks+tasks > q.MaxTasks {
			return in
		}
		his := r.count(n, j.User(), v)
		m := more[j.User()]
		if full[j.User()] || his.held > 0 || his.active+m.active >= limits.InitPerUser || his.tasks+m.tasks+tasks > q.MaxTasksPerUser {
			full[j.User()] = true
			continue
		}
		all.active, all.tasks = all.active+1, all.tasks+tasks
		more[j.User()] = booked{active: m.active + 1, tasks: m.tasks + tasks}
		in = append(in, j.ID())
	}
	return in
}

// queue is who waits, in order.
func (r recounted) queue(n int, v *scheduler.View) (out []*job) {
	for j := range v.Jobs().All() {
		if g := &r.guests[j.Slot()]; g.in && !g.active && r.leafOf(j) == r.leaves[n] {
			out = append(out, j)
		}
	}
	if r.leaves[n].Priority {
		slices.SortStableFunc(out, func(a, b *job) int { return cmp.Compare(b.Priority(), a.Priority()) })
	}
	return out
}

func (r recounted) Tick(now time.Duration, v *scheduler.View) {
	var want, got []scheduler.JobID
	for n := range r.leaves {
		l := &r.waitingQueues[n]
		if got, want := (booked{l.jobs, l.active, l.tasks, l.held}), r.count(n, nil, v); got != want {
			r.t.Fatalf("at %v queue %s has %+v on its books, there are %+v", now, l.queue.Name, got, want)
		}
		for g := range v.Groups(scheduler.UserGroup) {
			if g.Slot() >= len(l.users) {
				continue
			}
			u := l.users[g.Slot()]
			if got, want := booked(u), r.count(n, g, v); got != want {
				r.t.Fatalf("at %v user %s has %+v on the books of queue %s, there are %+v", now, g.Name(), got, l.queue.Name, want)
			}
		}
		want = append(want, r.lets(n, v)...)
	}
	before, asleep := len(r.granted), !r.awake
	r.Init.Tick(now, v)
	for _, j := range r.granted[before:] {
		got = append(got, j.ID())
	}
	if v.Total().Nodes > 0 && !asleep && !slices.Equal(got, want) {
		r.t.Fatalf("at %v a poll lets in %v, as it is written %v", now, got, want)
	}
}

// TestPollsAgainstRecount: the poller's books are those of who is there, and it lets in whom spec/capacity 3.4 names.
func TestPollsAgainstRecount(t *testing.T) {
	for _, params := range []map[string]string{
		{"queues": "default=60,a=40", "max-system-jobs": "4", "max-tasks": "*=30", "max-tasks-per-user": "*=25", "priority": "a=1", "poll": "3s", "user-limit": "*=40"},
		{"queues": "default=100", "max-tasks": "*=40", "max-tasks-per-user": "*=20", "poll": "1s"},
	} {
		for seed := range uint64(24) {
			made, err := InitInfo.Make(params)
			if err != nil {
				t.Fatal(err)
			}
			_, err = examine.Run(examine.Draw(seed, seed%2 == 1), func() scheduler.Policy { return policy(t, nil) }, recounted{made.(*Init), t}, examine.Promises{Quick: true, Patience: time.Hour, PerTask: 10 * time.Second})
			if err != nil {
				t.Fatalf("situation %d: %v", seed, err)
			}
		}
	}
}
