package capacity

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// audited checks, around every decision, the policy's books against State's own
// and every launch against allowed of spec/capacity 3.5 as it is written.
type audited struct {
	*Policy
	t *testing.T
}

func (a audited) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	a.audit(v)
	d := a.Policy.Assign(now, n, v)
	if d.OK {
		a.check(d, v)
	}
	return d
}

// reservedBy sums the slots kept for jobs for which mine is true.
func (a audited) reservedBy(k int, mine func(*job) bool) (slots int32) {
	for n := range a.kept {
		if r := a.kept[n][k]; r.job != nil && mine(r.job) {
			slots += r.slots
		}
	}
	return slots
}

func (a audited) audit(v *scheduler.View) {
	a.t.Helper()
	for g := range v.Groups(scheduler.QueueGroup) {
		q := a.byName[g.Name()]
		for k := range kinds {
			want := g.Usage().Slots[k] + a.reservedBy(k, func(j *job) bool { return j.Queue() == g })
			if q.used[k] != want {
				a.t.Fatalf("queue %s has %d %v slots on the books, holds %d", q.Name, q.used[k], scheduler.Kind(k), want)
			}
			if got, want := q.leaf.active[k], g.ActiveMembers(scheduler.Kind(k)); got != want {
				a.t.Fatalf("queue %s counts %d active users, there are %d", q.Name, got, want)
			}
		}
		if q.backlog != g.PendingTasks(scheduler.Map) {
			a.t.Fatalf("queue %s counts %d pending maps, there are %d", q.Name, q.backlog, g.PendingTasks(scheduler.Map))
		}
	}
}

// check is allowed, line by line, from State's numbers.
func (a audited) check(d scheduler.Decision, v *scheduler.View) {
	a.t.Helper()
	j, k := v.Job(d.Task.Job), d.Task.Kind
	if a.shared {
		return // the limits are on both kinds together, with an escape
	}
	q := a.byName[j.Queue().Name()]
	s := j.Demand(k).Slots
	occupied := j.Queue().Usage().Slots[k] + a.reservedBy(int(k), func(o *job) bool { return o.Queue() == j.Queue() })
	mine := j.Member().Usage().Slots[k] + a.reservedBy(int(k), func(o *job) bool { return o.Member() == j.Member() })
	total := v.Total().Slots[k]
	if q.MaxCapacity > 0 && q.MaxCapacity < 100 {
		most := max(1, int32(q.MaxCapacity*float64(total)/100+1e-9), s)
		if occupied+s > most {
			a.t.Fatalf("%v: queue %s holds %d of at most %d", d.Task, q.Name, occupied, most)
		}
	}
	qc := max(int32(q.Capacity*float64(total)/100+1e-9), s)
	cur := qc
	if occupied >= qc {
		cur = occupied + s
	}
	users := max(1, j.Queue().ActiveMembers(k))
	limit := cur / users
	if limit*users < cur {
		limit++
	}
	if share := q.UserLimit * float64(cur) / 100; float64(limit) < share {
		limit = int32(share + 0.999999)
	}
	limit = max(s, min(limit, int32(float64(qc)*q.UserLimitFactor+1e-9)))
	if mine+s > limit {
		a.t.Fatalf("%v: user %s of %s holds %d of a limit of %d", d.Task, j.User().Name(), q.Name, mine, limit)
	}
}

func TestBooksAndLimits(t *testing.T) {
	for _, params := range []map[string]string{
		{"queues": "default=20,a=50,b=30", "user-limit": "*=25,a=50", "user-limit-factor": "*=2"},
		{"queues": "default=20,a=50,b=30", "max-capacity": "default=20,a=50,b=60", "priority": "*=1"},
	} {
		inner := schedulertest.Factory(t, &Info, params)
		wrap := func() scheduler.Policy { return audited{inner().(*Policy), t} }
		schedulertest.Suite(t, wrap, schedulertest.Promises{PerTask: time.Minute, Quick: true})
	}
}
