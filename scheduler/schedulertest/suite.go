package schedulertest

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/examine"
)

// Promises are what a policy claims beyond what every policy must keep.
type Promises = examine.Promises

// Suite checks that the policy made by newPolicy keeps the rules of its seam, in
// random situations: no place given twice, no task run twice at once unless as a
// declared second attempt, nothing to dead or draining nodes, nothing for jobs
// that are gone, no user beyond their limit, a reason for every answer, every job ends, same seed same
// decisions, with and without faults, in the smallest and in a big cluster.
func Suite(t *testing.T, newPolicy func() scheduler.Policy, promises Promises) {
	t.Helper()
	run := func(t testingT, s *examine.Situation) { t.Helper(); keeps(t, s, newPolicy, promises) }
	t.Run("calm", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { run(t, examine.Draw(rapid.Uint64().Draw(t, "seed"), false)) })
	})
	t.Run("faults", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { run(t, examine.Draw(rapid.Uint64().Draw(t, "seed"), true)) })
	})
	t.Run("same seed same decisions", func(t *testing.T) {
		for seed := range uint64(10) {
			if f := examine.Check(examine.Draw(seed, true), newPolicy, promises); f != nil {
				t.Fatal(examine.Smallest(f, newPolicy, promises))
			}
		}
	})
	t.Run("limited users", func(t *testing.T) {
		for seed := range uint64(60) {
			p := examine.Draw(seed, seed%2 == 1)
			p.Limit = 2 + int32(seed%3)
			run(t, p)
		}
	})
	t.Run("one node", func(t *testing.T) {
		for seed := range uint64(10) {
			p := examine.Draw(seed, true)
			p.Racks, p.PerRack = 1, 1
			run(t, p)
		}
	})
	t.Run("no jobs", func(t *testing.T) {
		run(t, &examine.Situation{Racks: 2, PerRack: 2, Node: scheduler.Capacity{MapSlots: 1, ReduceSlots: 1}})
	})
	if !promises.Quick {
		t.Run("ten thousand nodes", func(t *testing.T) { tenThousand(t, newPolicy) })
	}
}

// keeps fails the test with the smallest situation if a promise breaks.
func keeps(t testingT, s *examine.Situation, newPolicy func() scheduler.Policy, promises Promises) {
	t.Helper()
	if log, err := examine.Run(s, newPolicy, nil, promises); err != nil {
		t.Fatal(examine.Smallest(examine.NewFinding(s, log, err), newPolicy, promises))
	}
}

type testingT interface {
	Helper()
	Fatal(args ...any)
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

// Factory makes a policy as users make it, by its parameters, as often as asked.
func Factory(tb testing.TB, info *scheduler.Info, params map[string]string) func() scheduler.Policy {
	return func() scheduler.Policy {
		p, err := info.Make(params)
		if err != nil {
			tb.Fatal(err)
		}
		return p.(scheduler.Policy)
	}
}
