package capacity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// spec/capacity 6, item 10: the table of user limits.
func TestUserLimitTable(t *testing.T) {
	for _, tc := range []struct {
		capSlots, occupied, active int32
		percent, factor            float64
		want                       int32
	}{
		{60, 0, 1, 100, 1, 60},
		{60, 60, 1, 100, 2, 61}, // cur = occupied + 1
		{60, 0, 1, 25, 1, 60},
		{60, 0, 2, 25, 1, 30},
		{60, 0, 3, 25, 1, 20},
		{60, 0, 4, 25, 1, 15},
		{60, 0, 50, 25, 1, 15},
		{1, 0, 1, 100, 1, 1},
		{1, 1, 1, 100, 2, 2},
		{0, 0, 1, 100, 1, 1}, // a queue without a whole slot still gets one
		{60, 0, 1, 100, 0.5, 30},
	} {
		if got := UserLimit(tc.capSlots, tc.occupied, tc.active, 1, tc.percent, tc.factor); got != tc.want {
			t.Errorf("%+v: limit %d", tc, got)
		}
	}
	if got := UserLimit(0, 0, 1, 3, 100, 1); got != 3 {
		t.Errorf("a queue without slots allows %d slots to a task of 3", got)
	}
}

// spec/capacity 6, item 11, last line, and 3.3: derived limits.
func TestDerivedLimits(t *testing.T) {
	if got := LimitsOf(3000, 0.5, 25, 10); got != (JobLimits{1500, 375, 15000, 3750}) {
		t.Errorf("50 %%, 25 %%, 3000 jobs: %+v", got)
	}
	for msj, want := range map[int]int{2: 1, 4: 2, 1: 1} {
		if got := LimitsOf(msj, 0.5, 100, 10).Init; got != want {
			t.Errorf("%d system jobs in halves: %d per queue, want %d", msj, got, want)
		}
	}
	for _, tc := range []struct {
		part    float64
		cluster int32
		want    int32
	}{{0.33, 10, 3}, {0.34, 10, 3}, {0.7, 120, 84}, {0.1, 10, 1}, {0.29, 100, 29}, {0.57, 100, 57}, {0.05, 10, 0}} {
		if got := CapSlots(tc.part, tc.cluster); got != tc.want {
			t.Errorf("%g of %d is %d slots, want %d", tc.part, tc.cluster, got, tc.want)
		}
	}
	if MaxSlots(0.01, 10) != 1 {
		t.Error("3.5: a cap that rounds to no slot must be one slot")
	}
	if SlotsPerTask(1024, 1024) != 1 || SlotsPerTask(1025, 1024) != 2 || SlotsPerTask(0, 1024) != 1 {
		t.Error("3.6: slots per task")
	}
}

// held returns the map slots of each user, named u1, u2 and so on.
func held(r *rig, users int) []int32 {
	out := make([]int32, users)
	for i := range out {
		if g := r.View().Group(scheduler.UserGroup, fmt.Sprintf("u%d", i+1)); g != nil {
			out[i] = g.Usage().Slots[scheduler.Map]
		}
	}
	return out
}

// spec/capacity 6, item 3, and 3.5: 10 slots, queues 33-33-34 %, two users each:
// the tenth slot is nobody's and goes to a second user; with maximum-capacity =
// capacity it stays idle.
func TestUnownedSlot(t *testing.T) {
	for capped, want := range map[bool][]int32{false: {3, 1, 3, 0, 3, 0}, true: {3, 0, 3, 0, 3, 0}} {
		p := policy(t, func(c *Config) {
			c.Queues = queues(func(q *Queue) {
				if capped {
					q.MaxCapacity = q.Capacity
				}
			}, 33, 33, 34)
		})
		r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 10})
		for i := range scheduler.JobID(6) {
			r.Submit(&scheduler.JobSpec{ID: i, Maps: 20, Queue: string(rune('a' + i/2)), User: fmt.Sprintf("u%d", i+1)})
		}
		r.Serve(0)
		if got := held(r, 6); !slices.Equal(got, want) {
			t.Errorf("capped %v: users hold %v, want %v", capped, got, want)
		}
	}
}

// spec/capacity 4.4 and 6, item 3: with the usage lag a slot is offered while the
// first user still counts as at the limit, and the next user takes it; without,
// or with ULF 2, or capped, the first user keeps it.
func TestDelayedMapExecution(t *testing.T) {
	for _, tc := range []struct {
		lag    time.Duration
		factor float64
		capped bool
		want   scheduler.JobID
	}{{0, 1, false, 1}, {300 * time.Millisecond, 1, false, 2}, {300 * time.Millisecond, 2, false, 1}, {0, 1, true, 1}} {
		p := policy(t, func(c *Config) {
			c.UsageLag = tc.lag
			c.Queues = queues(func(q *Queue) {
				q.UserLimitFactor = tc.factor
				if tc.capped {
					q.MaxCapacity = 50
				}
			}, 50, 50)
		})
		r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 4})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 9, Queue: "a", User: "u1"}, &scheduler.JobSpec{ID: 2, Maps: 9, Queue: "a", User: "u2"})
		r.Submit(&scheduler.JobSpec{ID: 3, Maps: 9, Queue: "b", User: "u3"}, &scheduler.JobSpec{ID: 4, Maps: 9, Queue: "b", User: "u4"})
		r.Serve(0)
		r.Now = 10 * second
		r.Finish(1, scheduler.Map, 0, 0)
		r.Want(r.Serve(0), tc.want)
		if tc.lag > 0 && tc.want == 2 {
			r.Now += tc.lag
			r.Send(scheduler.Heartbeat(0))
			if got := p.byName["a"].used[scheduler.Map]; got != 2 {
				t.Errorf("after the lag the queue holds %d on the books, want 2", got)
			}
		}
	}
}

// spec/capacity 3.5: with MULP 25 two users get half each, four and more a quarter;
// MULP 100 is first come first served.
func TestMinimumUserLimitPercent(t *testing.T) {
	for _, tc := range []struct {
		percent float64
		users   int
		want    []int32
	}{{25, 2, []int32{6, 6}}, {25, 4, []int32{3, 3, 3, 3}}, {25, 5, []int32{3, 3, 3, 3, 0}}, {100, 2, []int32{12, 0}}, {50, 3, []int32{6, 6, 0}}} {
		p := policy(t, func(c *Config) { c.Queues[0].UserLimit = tc.percent })
		r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 12})
		for i := range tc.users {
			r.Submit(&scheduler.JobSpec{ID: scheduler.JobID(i), Maps: 40, User: fmt.Sprintf("u%d", i+1)})
		}
		r.Serve(0)
		if got := held(r, tc.users); !slices.Equal(got, tc.want) {
			t.Errorf("MULP %g, %d users: %v, want %v", tc.percent, tc.users, got, tc.want)
		}
	}
}

// spec/capacity 3.5, line 4: a user whose maps are all assigned is not active, but
// is with UsersBy jobs.
func TestActiveUsers(t *testing.T) {
	for byJobs, want := range map[bool][]int32{false: {2, 10}, true: {2, 6}} {
		p := policy(t, func(c *Config) { c.Queues[0].UserLimit, c.UsersByJobs = 25, byJobs })
		r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 12})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 2, User: "u1"}, &scheduler.JobSpec{ID: 2, Maps: 40, User: "u2"})
		r.Serve(0)
		if got := held(r, 2); !slices.Equal(got, want) {
			t.Errorf("by jobs %v: %v, want %v", byJobs, got, want)
		}
	}
}

// spec/capacity 3.5: unused capacity flows to any queue with demand, up to its cap
// and its users' limits; a queue recovers its guarantee only as tasks finish.
func TestElasticity(t *testing.T) {
	p := policy(t, func(c *Config) {
		c.Queues = queues(func(q *Queue) { q.UserLimitFactor = 2 }, 50, 50)
	})
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 10})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 40, Queue: "a", User: "u1"})
	if got := len(r.Serve(0)); got != 10 {
		t.Fatalf("alone it holds %d of 10", got)
	}
	r.Submit(&scheduler.JobSpec{ID: 2, Maps: 40, Queue: "b", User: "u2"})
	r.Want(r.Serve(0))
	for i := range int32(6) {
		r.Finish(1, scheduler.Map, i, 0)
	}
	r.Want(r.Serve(0), 2, 2, 2, 2, 1, 2) // 4 of 5 against 0 of 5; at 4 against 4 queue a is first
}

// spec/capacity 7.1: the backlog order ignores capacities.
func TestBacklogOrder(t *testing.T) {
	for backlog, want := range map[bool]scheduler.JobID{false: 1, true: 2} {
		p := policy(t, func(c *Config) {
			c.Backlog, c.Queues = backlog, queues(func(q *Queue) { q.UserLimitFactor = 10 }, 90, 10)
		})
		r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 1})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 5, Queue: "a"}, &scheduler.JobSpec{ID: 2, Maps: 9, Queue: "b"})
		r.Want(r.Serve(0), want)
	}
}

// spec/capacity 6, item 8: where maximum-capacity = capacity, ULF is inert: the
// same offers give the same decisions.
func TestInertFactor(t *testing.T) {
	play := func(factor float64) (log []string) {
		p := policy(t, func(c *Config) {
			c.Queues = queues(func(q *Queue) { q.MaxCapacity, q.UserLimitFactor = q.Capacity, factor }, 70, 30)
		})
		r := newRig(t, p, 5, scheduler.Capacity{MapSlots: 4, ReduceSlots: 4})
		for i := range scheduler.JobID(20) {
			r.Submit(&scheduler.JobSpec{ID: i, Maps: int32(1 + i*3), Reduces: int32(i % 3), Queue: string(rune('a' + i%2)), User: fmt.Sprint(i % 5)})
		}
		draw := rand.New(rand.NewPCG(1, 1))
		for step := range 3000 {
			n := topology.NodeID(draw.IntN(5))
			if _, err := r.Offer(r.Now, n, func(d scheduler.Decision) { log = append(log, fmt.Sprint(step, d.Task)) }); err != nil {
				t.Fatal(err)
			}
			for a := range r.View().RunningOn(n) {
				if _, done := r.View().Job(a.Task.Job).MapsDoneAt(); a.Task.Kind == scheduler.Map || done {
					r.Send(scheduler.TaskFinished(a.Task, n, second, 0, 0))
					break
				}
			}
		}
		return log
	}
	one, two := play(1), play(2)
	if len(one) < 500 || !slices.Equal(one, two) {
		t.Errorf("%d and %d decisions differ", len(one), len(two))
	}
}

// spec/capacity 6, item 13: with supports-priority the order of priority, without
// that of submission; nothing running is stopped.
func TestPriorities(t *testing.T) {
	for on, want := range map[bool][]scheduler.JobID{true: {3, 2, 1}, false: {1, 2, 3}} {
		p := policy(t, func(c *Config) { c.Queues[0].Priority = on })
		r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 3})
		r.Submit(
			&scheduler.JobSpec{ID: 1, Name: "sort", Maps: 1, Priority: scheduler.VeryLow},
			&scheduler.JobSpec{ID: 2, Name: "terasort", Maps: 1},
			&scheduler.JobSpec{ID: 3, Name: "wordcount", Maps: 1, Priority: scheduler.VeryHigh},
		)
		r.Want(r.Serve(0), want...)
	}
}

// spec/capacity 2.3: several maps but at most one reduce per heartbeat.
func TestOneReducePerHeartbeat(t *testing.T) {
	r := newRig(t, policy(t, nil), 1, scheduler.Capacity{MapSlots: 2, ReduceSlots: 2})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 2, Reduces: 4, Slowstart: -1})
	r.Want(r.Serve(0), 1, 1, 1)
	if got := r.View().Job(1).Running(scheduler.Reduce); got != 1 {
		t.Errorf("%d reduces after one heartbeat", got)
	}
	r.Want(r.Serve(0), 1)
}

// A live cluster offers a node whenever something has ended. What a heartbeat may receive, and how many heartbeats a
// job waits for its data, does not grow by that; nor by the heartbeats of other nodes.
func TestOffersBetweenHeartbeats(t *testing.T) {
	r := newRig(t, policy(t, nil), 2, scheduler.Capacity{MapSlots: 2, ReduceSlots: 4})
	give := func() (n int) {
		t.Helper()
		if _, err := r.Give(r.Now, 0, 0, func(scheduler.Decision) { n++ }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	far := &scheduler.JobSpec{ID: 1, Maps: 2, Reduces: 4, Slowstart: -1}
	for range 2 {
		far.Splits.Add(1, 7) // on a node that is not there
	}
	r.Submit(far)
	r.Want(r.Serve(0), 1) // the reduce; opportunities for a remote map are missed
	r.Send(scheduler.Heartbeat(1))
	for range 5 {
		if n := give(); n != 0 {
			t.Fatalf("%d tasks between two heartbeats of the node", n)
		}
	}
	r.Serve(0)
	if got := r.View().Job(1).Running(scheduler.Map); got != 1 {
		t.Errorf("%d maps run after the next heartbeat", got)
	}
}
