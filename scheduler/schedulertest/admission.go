package schedulertest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/examine"
	"github.com/millrace/millrace/topology"
)

// AdmissionSuite checks that the admission policy made by newAdmission keeps
// the rules of its seam: it judges waiting jobs only, every job that it does not
// reject ends, and the same seed gives the same decisions, with and without
// faults. Tasks are placed oldest job first. prepare, if not nil, may change the
// random jobs, for policies that need drivers of a certain size.
func AdmissionSuite(t *testing.T, newAdmission func() scheduler.Admission, prepare func(*scheduler.JobSpec), promises Promises) {
	t.Helper()
	draw := func(seed uint64, troubled bool) *examine.Situation {
		p := examine.Draw(seed, troubled)
		p.Replace = false
		for _, s := range p.Jobs {
			if prepare != nil {
				prepare(s)
			}
		}
		return p
	}
	run := func(t testingT, s *examine.Situation) []string {
		t.Helper()
		log, err := examine.Run(s, oldestFirst, newAdmission(), promises)
		if err != nil {
			t.Fatal(examine.NewFinding(s, log, err))
		}
		return log
	}
	for name, troubled := range map[string]bool{"calm": false, "faults": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { run(t, draw(rapid.Uint64().Draw(t, "seed"), troubled)) })
		})
	}
	t.Run("same seed same decisions", func(t *testing.T) {
		for seed := range uint64(10) {
			a, b := run(t, draw(seed, true)), run(t, draw(seed, true))
			if i := examine.Differ(a, b); i >= 0 {
				t.Fatalf("seed %d: decision %d differs", seed, i)
			}
		}
	})
}

// oldest gives places to tasks of the oldest job that has any: the simplest possible policy.
type oldest struct{}

func oldestFirst() scheduler.Policy { return oldest{} }

func (oldest) Observe(time.Duration, scheduler.Event, *scheduler.View) {}

func (oldest) Assign(_ time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	for _, k := range v.KindOrder(n, 0.5) {
		for j := range v.Runnable(k).All() {
			if !v.Fits(n, j, k) {
				continue
			}
			if t, near, ok := v.PickTask(j, n, k); ok {
				return scheduler.Run(t, near, scheduler.Reason{Say: "{job} is oldest", Job: j.ID()})
			}
		}
	}
	return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork, Say: "nothing fits {node}", Node: n})
}
