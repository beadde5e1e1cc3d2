package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
)

// TestSlowStartAsShown: a job's own slow start changes when its reduces begin under the policies of which `scheduler show` says so, and under no other.
func TestSlowStartAsShown(t *testing.T) {
	first := func(name string, slowstart float64) (maps int) {
		topo := linked(t, 2, 2)
		res := mustRun(t, Config{
			Topology: topo, Capacity: scheduler.Capacity{Containers: 3}, Policy: policy(t, name, policies.LiveParams(name, nil)), State: scheduler.DefaultConfig(),
			Model: NewFixed(), Reports: Reports{AskAgain: 100 * time.Millisecond}, Views: Views{LogAttempts: true},
		}, &Job{Spec: &scheduler.JobSpec{ID: 1, Name: "j", Maps: 60, Reduces: 2, Slowstart: slowstart}, Maps: []time.Duration{time.Second, 1100 * time.Millisecond}, Reduces: []time.Duration{time.Second}})
		begin := Never
		for _, a := range res.Log {
			if a.Task.Kind == scheduler.Reduce {
				begin = min(begin, a.Start)
			}
		}
		for _, a := range res.Log {
			if a.Task.Kind == scheduler.Map && a.End <= begin {
				maps++
			}
		}
		return maps
	}
	for _, i := range policies.List() {
		if i.Seam != scheduler.Assignment {
			continue
		}
		shown := slices.ContainsFunc(policies.InputsOf(i.Name), func(i policies.Input) bool { return i.Flag == "slowstart" })
		if early, late := first(i.Name, 0.05), first(i.Name, 0.9); (early != late) != shown {
			t.Errorf("%s starts reduces after %d and %d of 60 maps with slow starts of 0.05 and 0.9; shown: %v", i.Name, early, late, shown)
		}
	}
}
