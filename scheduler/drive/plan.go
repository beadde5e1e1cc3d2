package drive

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Plan tells a planning policy which jobs will come and returns where it plans them; nil if the policy does not plan.
func (d *Loop) Plan(now time.Duration, expected []*scheduler.JobSpec) []scheduler.Placement {
	p, ok := d.engine.Policy().(scheduler.Planner)
	if !ok {
		return nil
	}
	plans := p.Plan(now, expected, d.View())
	d.log(&Line{Kind: LinePlan, At: now, Expected: expected, Plans: plans})
	return plans
}

// Plans reports whether the policy plans.
func (d *Loop) Plans() bool {
	_, ok := d.engine.Policy().(scheduler.Planner)
	return ok
}

// Follows returns the plan that a job follows, and whether it follows one.
func (d *Loop) Follows(j scheduler.JobID) (scheduler.Placement, bool) {
	p, ok := d.engine.Policy().(scheduler.Follower)
	if !ok {
		return scheduler.Placement{}, false
	}
	return p.Follows(j, d.View())
}

// Gated reports whether the policy holds shuffles back.
func (d *Loop) Gated() bool {
	_, ok := d.engine.Policy().(scheduler.ShuffleGate)
	return ok
}

// Release asks whether map output of a job may now go from one rack to another, as scheduler.ShuffleGate says. A policy
// that holds nothing back lets all go.
func (d *Loop) Release(now time.Duration, j scheduler.JobID, src, dst topology.RackID, avail int64) bool {
	g, ok := d.engine.Policy().(scheduler.ShuffleGate)
	if !ok {
		return true
	}
	open := g.Release(now, j, src, dst, avail, d.View())
	d.log(&Line{Kind: LineGate, At: now, Gate: Gate{Job: j, From: src, To: dst, Avail: avail, Open: open}})
	return open
}

// samePlans compares plans.
func samePlans(got, want []scheduler.Placement) error {
	if len(got) != len(want) {
		return fmt.Errorf("plans %d jobs, the log says %d", len(got), len(want))
	}
	for i := range got {
		g, w := &got[i], &want[i]
		if g.Name != w.Name || !slices.Equal(g.MapRacks, w.MapRacks) || !slices.Equal(g.ReduceRacks, w.ReduceRacks) {
			return fmt.Errorf("plans %s for racks %v and %v, the log says %s for %v and %v", g.Name, g.MapRacks, g.ReduceRacks, w.Name, w.MapRacks, w.ReduceRacks)
		}
	}
	return nil
}
