package fair

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// checked compares, before every decision, the order that was kept up to date
// event by event with one that is computed from nothing.
type checked struct {
	*Policy
	t *testing.T
}

func (c checked) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	for k := range scheduler.Driver {
		c.compare(k, v)
	}
	return c.Policy.Assign(now, n, v)
}

func (c checked) compare(k scheduler.Kind, v *scheduler.View) {
	c.t.Helper()
	var jobs []*job
	var groups []*group
	for j := range v.Jobs().All() {
		if !c.cfg.Reduces.Eligible(j, k) {
			continue
		}
		jobs = append(jobs, j)
		if g := c.groupOf(j); g != nil && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	slices.SortStableFunc(jobs, func(a, b *job) int {
		return cmp.Or(scheduler.CompareFloatKeys(c.jobKey(a, k, v), c.jobKey(b, k, v)), cmp.Compare(a.Seq(), b.Seq()))
	})
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(scheduler.CompareFloatKeys(c.groupKey(a, k, v), c.groupKey(b, k, v)), cmp.Compare(a.Seq(), b.Seq()))
	})
	var kept []*job
	for i := range c.Len(k) {
		line := c.At(k, i)
		if line.Group != nil && line.Group != groups[i] {
			c.t.Fatalf("%v: line %d is %s, want %s", k, i, line.Group.Name(), groups[i].Name())
		}
		for at := range line.Len() {
			kept = append(kept, line.At(at))
		}
	}
	slices.SortStableFunc(jobs, func(a, b *job) int {
		return cmp.Compare(slices.Index(groups, c.groupOf(a)), slices.Index(groups, c.groupOf(b)))
	})
	if !slices.Equal(kept, jobs) {
		c.t.Fatalf("%v: kept order differs from the computed one", k)
	}
}

func TestOrderAgainstScan(t *testing.T) {
	for name, params := range map[string]map[string]string{
		"job":      {"ties": "served"},
		"user":     {"key": "user", "slowstart": "0.4"},
		"pool":     {"key": "pool", "inside": "fifo", "weights": "a=3", "min-maps": "a=2,b=1", "ties": "served"},
		"dominant": {"measure": "dominant", "key": "queue", "hold-reduces": "true"},
		"memory":   {"measure": "memory", "count": "kind"},
	} {
		t.Run(name, func(t *testing.T) {
			inner := schedulertest.Factory(t, &Info, params)
			wrap := func() scheduler.Policy { return checked{inner().(*Policy), t} }
			schedulertest.Suite(t, wrap, schedulertest.Promises{Quick: true})
		})
	}
}

// Only keeps the policy to some jobs; Touch tells it that the answer changed.
func TestOnlySomeJobs(t *testing.T) {
	mine := scheduler.JobID(1)
	p := policy(t, func(c *Config) { c.Only = func(j *scheduler.Job) bool { return j.ID() == mine } })
	r := newRig(t, p, scheduler.Capacity{MapSlots: 2})
	r.submit(&scheduler.JobSpec{ID: 1, Maps: 1})
	r.submit(&scheduler.JobSpec{ID: 2, Maps: 1})
	r.want(r.offer(), 1)
	mine = 2
	p.Touch(r.View().Job(2), r.View())
	r.want(r.offer(), 2)
}
