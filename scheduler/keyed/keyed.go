package keyed

import (
	"cmp"
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Key orders jobs that could have a place on a node: the smallest is served.
type Key[K cmp.Ordered] func(now time.Duration, j *scheduler.Job, n topology.NodeID, v *scheduler.View) K

// A Policy serves the job with the smallest key.
type Policy[K cmp.Ordered] struct {
	Line
	key Key[K]
}

// New returns the policy of a key.
func New[K cmp.Ordered](rule scheduler.ReduceRule, key Key[K]) *Policy[K] {
	return &Policy[K]{Line{Rule: rule}, key}
}

// Info describes the policy of a key, for policies.Register. Its parameters are those of the reduce rule.
func Info[K cmp.Ordered](name, summary string, key Key[K]) *scheduler.Info {
	return &scheduler.Info{
		Name: name, Seam: scheduler.Assignment, Summary: summary, Source: "your own",
		Usual: scheduler.Ramped, UsualUnless: scheduler.RampedUnless,
		Setup: scheduler.Bind(scheduler.DefaultReduceRule, (*scheduler.ReduceRule).RampParams,
			func(r scheduler.ReduceRule) (*Policy[K], error) { return New(r, key), nil }),
	}
}

// Observe implements scheduler.Policy.
func (*Policy[K]) Observe(time.Duration, scheduler.Event, *scheduler.View) {}

// Assign implements scheduler.Policy.
func (p *Policy[K]) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	d, _ := p.Serve(n, v, func(k scheduler.Kind) (best *scheduler.Job, least string, _ error) {
		var smallest K
		for j := range p.Candidates(n, k, v) {
			if key := p.key(now, j, n, v); best == nil || cmp.Less(key, smallest) {
				best, smallest = j, key
			}
		}
		return best, fmt.Sprint(smallest), nil
	})
	return d
}
