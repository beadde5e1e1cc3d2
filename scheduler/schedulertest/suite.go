package schedulertest

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Promises are what a policy claims beyond what every policy must keep.
type Promises struct {
	// WorkConserving: no place stays free while a runnable task fits it. Where
	// maps and reduces share containers, reduces may be held while maps wait.
	WorkConserving bool
	// HoldsReduces limits WorkConserving to maps: the policy has its own rule
	// for when reduces may start.
	HoldsReduces bool
	// Speculates: the policy may launch second attempts.
	Speculates bool
	// Patience is how long a job may rest in all without being starved, beside
	// the time its tasks take. 0 means ten minutes.
	Patience time.Duration
	// PerTask is how long the policy may hold back each single task: delay
	// scheduling waits anew for every map.
	PerTask time.Duration
	// Quick leaves the ten thousand nodes out, for further variants of a policy
	// that has passed the whole suite.
	Quick bool
	// Limits, if not nil, is called after every step and reports a limit of the
	// policy's own that was exceeded.
	Limits func(v *scheduler.View) error
}

func (p *Promises) patience() time.Duration {
	if p.Patience > 0 {
		return p.Patience
	}
	return 10 * time.Minute
}

// Suite checks that the policy made by newPolicy keeps the rules of its seam, in
// random situations: no place given twice, no task run twice at once unless as a
// declared second attempt, nothing to dead or draining nodes, nothing for jobs
// that are gone, no user beyond their limit, a reason for every answer, every job ends, same seed same
// decisions, with and without faults, in the smallest and in a big cluster.
func Suite(t *testing.T, newPolicy func() scheduler.Policy, promises Promises) {
	t.Helper()
	run := func(t testingT, p *plan) []string { return runPlan(t, p, newPolicy, nil, promises) }
	t.Run("calm", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { run(t, newPlan(rapid.Uint64().Draw(t, "seed"), false)) })
	})
	t.Run("faults", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { run(t, newPlan(rapid.Uint64().Draw(t, "seed"), true)) })
	})
	t.Run("same seed same decisions", func(t *testing.T) {
		for seed := range uint64(10) {
			a, b := run(t, newPlan(seed, true)), run(t, newPlan(seed, true))
			if i := sameLog(a, b); i >= 0 {
				t.Fatalf("seed %d: decision %d differs:\n%s\n%s", seed, i, strings.Join(tail(a[:min(i+1, len(a))], 1), ""), strings.Join(tail(b[:min(i+1, len(b))], 1), ""))
			}
		}
	})
	t.Run("limited users", func(t *testing.T) {
		for seed := range uint64(60) {
			p := newPlan(seed, seed%2 == 1)
			p.limit = 2 + int32(seed%3)
			run(t, p)
		}
	})
	t.Run("one node", func(t *testing.T) {
		for seed := range uint64(10) {
			p := newPlan(seed, true)
			p.racks, p.perRack = 1, 1
			run(t, p)
		}
	})
	t.Run("no jobs", func(t *testing.T) { run(t, &plan{racks: 2, perRack: 2, capacity: fixed(capacities[0])}) })
	if !promises.Quick {
		t.Run("ten thousand nodes", func(t *testing.T) { tenThousand(t, newPolicy) })
	}
}

type testingT interface {
	Helper()
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

func runPlan(t testingT, p *plan, newPolicy func() scheduler.Policy, a scheduler.Admission, promises Promises) []string {
	t.Helper()
	w, err := newWorld(p, newPolicy, a, promises)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.run(); err != nil {
		t.Fatalf("seed %d, %d nodes, %+v, %d jobs: %v\nlast decisions:\n%s", p.seed, p.racks*p.perRack, p.capacity(0), len(p.jobs), err, strings.Join(tail(w.log, 8), "\n"))
	}
	return w.log
}

func fixed(c scheduler.Capacity) func(topology.NodeID) scheduler.Capacity {
	return func(topology.NodeID) scheduler.Capacity { return c }
}

// tenThousand fills a big cluster once and keeps it busy for a while.
func tenThousand(t *testing.T, newPolicy func() scheduler.Policy) {
	t.Helper()
	f := newBenchField(t, newPolicy(), Size{Nodes: 10_000, Jobs: 60, Tasks: 120_000})
	f.fill()
	for range 3_000 {
		f.round()
	}
}
