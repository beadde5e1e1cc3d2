package schedulertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

func TestOldestPassesTheSuite(t *testing.T) { Suite(t, oldestFirst, Promises{WorkConserving: true}) }

// unlimited admits the oldest waiting job.
type unlimited struct{}

func (unlimited) Observe(time.Duration, scheduler.Event, *scheduler.View) {}

func (unlimited) Admit(_ time.Duration, v *scheduler.View) scheduler.AdmitDecision {
	if v.Waiting().Len() == 0 {
		return scheduler.AdmitDecision{Reason: scheduler.Reason{Code: scheduler.NoWork, Say: "nobody waits"}}
	}
	return scheduler.AdmitDecision{Verdict: scheduler.Admit, Job: v.Waiting().At(0).ID(), Reason: scheduler.Reason{Code: scheduler.Chosen, Say: "no limit"}}
}

func TestUnlimitedPassesTheSuite(t *testing.T) {
	AdmissionSuite(t, func() scheduler.Admission { return unlimited{} }, nil, Promises{})
}

// bent is oldest with one thing wrong.
type bent struct {
	oldest
	bend func(now time.Duration, d scheduler.Decision, n topology.NodeID, v *scheduler.View) scheduler.Decision
}

func (b bent) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	return b.bend(now, b.oldest.Assign(now, n, v), n, v)
}

// catcher is a testing.T that remembers the first failure and stops the run.
type catcher struct{ said string }

func (c *catcher) Helper()                      {}
func (c *catcher) Fatal(args ...any)            { c.Fatalf("%s", fmt.Sprint(args...)) }
func (c *catcher) Fatalf(f string, args ...any) { c.said = fmt.Sprintf(f, args...) }

// The suite must catch policies that are wrong: each bends one rule.
func TestSuiteCatches(t *testing.T) {
	calls := 0
	for _, tc := range []struct {
		name, want string
		promises   Promises
		bend       func(now time.Duration, d scheduler.Decision, n topology.NodeID, v *scheduler.View) scheduler.Decision
	}{
		{"never assigns", "has not ended", Promises{}, func(_ time.Duration, _ scheduler.Decision, _ topology.NodeID, _ *scheduler.View) scheduler.Decision {
			return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork, Say: "lazy"})
		}},
		{"idles now and then", "left idle although", Promises{WorkConserving: true}, func(_ time.Duration, d scheduler.Decision, n topology.NodeID, _ *scheduler.View) scheduler.Decision {
			if calls++; calls%3 == 0 {
				return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork, Say: "coffee"})
			}
			return d
		}},
		{"says nothing", "without a reason", Promises{}, func(_ time.Duration, d scheduler.Decision, _ topology.NodeID, _ *scheduler.View) scheduler.Decision {
			d.Reason = scheduler.Reason{}
			return d
		}},
		{"runs twice", "policy error", Promises{}, func(_ time.Duration, d scheduler.Decision, _ topology.NodeID, _ *scheduler.View) scheduler.Decision {
			d.OK = true
			return d
		}},
		{"exceeds its limit", "too many maps", Promises{Limits: func(v *scheduler.View) error {
			if v.ClusterUsed().Tasks[scheduler.Map] > 2 {
				return fmt.Errorf("too many maps")
			}
			return nil
		}}, func(_ time.Duration, d scheduler.Decision, _ topology.NodeID, _ *scheduler.View) scheduler.Decision {
			return d
		}},
	} {
		caught := &catcher{}
		for seed := uint64(0); seed < 40 && caught.said == ""; seed++ {
			runPlan(caught, newPlan(seed, true), func() scheduler.Policy { return bent{bend: tc.bend} }, nil, tc.promises)
		}
		if !strings.Contains(caught.said, tc.want) {
			t.Errorf("%s: the suite said %q, want %q", tc.name, caught.said, tc.want)
		}
	}
}

// The shadow's books are not State's: it judges by itself.
func TestShadowCatches(t *testing.T) {
	p := newPlan(1, false)
	p.capacity = fixed(scheduler.Capacity{Containers: 1})
	s := newShadow(p, scheduler.DefaultConfig())
	s.specs[1] = &scheduler.JobSpec{ID: 1, Maps: 4}
	why := scheduler.Reason{Say: "test"}
	run := func(i int32, n topology.NodeID, second bool) error {
		d := scheduler.Run(scheduler.TaskID{Job: 1, Index: i}, scheduler.Remote, why)
		d.Speculative = second
		return s.launch(d, n)
	}
	if err := run(0, 0, false); err != nil {
		t.Fatal(err)
	}
	s.alive[1] = true
	for want, err := range map[string]error{
		"while it runs":   run(0, 1, false),
		"without a first": run(2, 1, true),
		"node 0 holds":    run(1, 0, false),
		"dead node":       run(3, 99, false),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	s.finish(scheduler.TaskID{Job: 1})
	if err := run(0, 1, false); err == nil || !strings.Contains(err.Error(), "after it was done") {
		t.Errorf("a done task was launched: %v", err)
	}
}
