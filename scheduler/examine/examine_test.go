package examine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fifo"
	"github.com/millrace/millrace/topology"
)

// bent is fifo with one thing wrong.
type bent struct {
	scheduler.Policy
	bend func(now time.Duration, d scheduler.Decision, n topology.NodeID, v *scheduler.View) scheduler.Decision
}

func newBent(bend func(time.Duration, scheduler.Decision, topology.NodeID, *scheduler.View) scheduler.Decision) bent {
	return bent{fifo.New(scheduler.DefaultReduceRule()), bend}
}

func (b bent) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	return b.bend(now, b.Policy.Assign(now, n, v), n, v)
}

// Policies that are wrong are caught: each bends one rule.
func TestPolicyCatches(t *testing.T) {
	calls := 0
	for _, tc := range []struct {
		name, want string
		promise    Promise
		promises   Promises
		bend       func(now time.Duration, d scheduler.Decision, n topology.NodeID, v *scheduler.View) scheduler.Decision
	}{
		{"never assigns", "has not ended", Ends, Promises{}, func(_ time.Duration, _ scheduler.Decision, _ topology.NodeID, _ *scheduler.View) scheduler.Decision {
			return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork, Say: "lazy"})
		}},
		{"idles now and then", "left idle although", Busy, Promises{WorkConserving: true}, func(_ time.Duration, d scheduler.Decision, n topology.NodeID, _ *scheduler.View) scheduler.Decision {
			if calls++; calls%3 == 0 {
				return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork, Say: "coffee"})
			}
			return d
		}},
		{"says nothing", "without a reason", Reasons, Promises{}, func(_ time.Duration, d scheduler.Decision, _ topology.NodeID, _ *scheduler.View) scheduler.Decision {
			d.Reason = scheduler.Reason{}
			return d
		}},
		{"runs twice", "policy error", Allowed, Promises{}, func(_ time.Duration, d scheduler.Decision, _ topology.NodeID, _ *scheduler.View) scheduler.Decision {
			d.OK = true
			return d
		}},
		{"exceeds its limit", "too many maps", Limited, Promises{Limits: func(v *scheduler.View) error {
			if v.ClusterUsed().Tasks[scheduler.Map] > 2 {
				return fmt.Errorf("too many maps")
			}
			return nil
		}}, func(_ time.Duration, d scheduler.Decision, _ topology.NodeID, _ *scheduler.View) scheduler.Decision {
			return d
		}},
	} {
		var said strings.Builder
		for _, f := range Policy(func() scheduler.Policy { return newBent(tc.bend) }, tc.promises, 40, nil) {
			said.WriteString(f.String())
		}
		if !strings.Contains(said.String(), tc.want) || !strings.Contains(said.String(), "broken: "+string(tc.promise)) {
			t.Errorf("%s: said %q, want %q of %q", tc.name, said.String(), tc.want, tc.promise)
		}
	}
}

// The shadow's books are not State's: it judges by itself.
func TestShadowCatches(t *testing.T) {
	p := Draw(1, false)
	p.Node = scheduler.Capacity{Containers: 1}
	s := newShadow(p, scheduler.DefaultConfig())
	s.specs[1] = &scheduler.JobSpec{ID: 1, Maps: 4}
	why := scheduler.Reason{Say: "test"}
	run := func(i int32, n topology.NodeID, second bool) error {
		d := scheduler.Run(scheduler.TaskID{Job: 1, Index: i}, scheduler.Remote, why)
		d.Second = second
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

// mistaken says so, as a script does.
type mistaken struct{ scheduler.Policy }

func (mistaken) Err() error { return errors.New("mine:2: in key") }

// What a policy does to itself is a finding, too.
func TestOwnMistakes(t *testing.T) {
	panics := func() scheduler.Policy {
		return newBent(func(time.Duration, scheduler.Decision, topology.NodeID, *scheduler.View) scheduler.Decision {
			panic("ouch")
		})
	}
	wrong := func() scheduler.Policy { return mistaken{fifo.New(scheduler.DefaultReduceRule())} }
	for want, make := range map[string]func() scheduler.Policy{"it panics: ouch": panics, "mine:2: in key": wrong} {
		found := Policy(make, Promises{}, 4, nil)
		if len(found) != 1 || found[0].Promise != Sound || found[0].Err.Error() != want {
			t.Errorf("found %v, want %q", found, want)
		}
	}
}

// A policy that decides by a coin is found, whatever it decides.
func TestCoin(t *testing.T) {
	coin := 0
	found := Policy(func() scheduler.Policy {
		return newBent(func(_ time.Duration, d scheduler.Decision, _ topology.NodeID, _ *scheduler.View) scheduler.Decision {
			if coin++; coin%5 == 0 {
				return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork, Say: "tails"})
			}
			return d
		})
	}, Promises{}, 40, nil)
	if len(found) != 1 || found[0].Promise != Same {
		t.Errorf("found %v, want %q", found, Same)
	}
}

// The smallest situation has nothing that the breach does not need: a policy that never starts a second map of one job
// while another waits is shown by two jobs at most, on one node, without faults.
func TestSmallest(t *testing.T) {
	lazy := func() scheduler.Policy {
		return newBent(func(_ time.Duration, d scheduler.Decision, n topology.NodeID, v *scheduler.View) scheduler.Decision {
			if d.OK && d.Task.Kind == scheduler.Map && d.Task.Index == 1 {
				return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork, Say: "one map of a job is enough"})
			}
			return d
		})
	}
	found := Policy(lazy, Promises{}, 60, nil)
	if len(found) != 1 || found[0].Promise != Ends {
		t.Fatalf("found %v, want %q", found, Ends)
	}
	s := found[0].Situation
	if len(s.Jobs) != 1 || s.Jobs[0].Maps != 2 || s.Jobs[0].Reduces != 0 || s.nodes() != 1 || s.Faults != (Faults{}) || s.Jobs[0].Submit != 0 || s.Jobs[0].User != "" {
		t.Errorf("the smallest situation is not small:\n%s", s.describe(""))
	}
	if got := found[0].String(); !strings.Contains(got, "1 node in 1 rack") || !strings.Contains(got, "at 0s: j0, 2 maps, 0 reduces\n") {
		t.Error(got)
	}
}

// A policy that keeps its promises is accused of nothing, however long one looks.
func TestNobodyIsAccused(t *testing.T) {
	looked := 0
	fine := func() scheduler.Policy { return fifo.New(scheduler.DefaultReduceRule()) }
	for _, f := range Policy(fine, Promises{WorkConserving: true}, 1000, func(int) { looked++ }) {
		t.Error(f)
	}
	if looked != 1000 {
		t.Errorf("%d situations", looked)
	}
}
