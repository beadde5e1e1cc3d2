package sim

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/topology"
)

// A policy that starts a job again has its attempts stopped and its results forgotten,
// and the job still ends.
func TestPolicyThatKills(t *testing.T) {
	topo, err := topology.Uniform(1, 2, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policies.Policy("tags", map[string]string{"limits": "15", "shares": "0.5,0.5", "restart": "true"})
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(Config{
		Topology: topo, Capacity: scheduler.Capacity{MapSlots: 1, ReduceSlots: 1}, Policy: p, State: scheduler.DefaultConfig(), Model: NewFixed(),
	}, []*Job{
		{Spec: &scheduler.JobSpec{ID: 0, Maps: 4}, Maps: []time.Duration{10 * time.Second}},
		{Spec: &scheduler.JobSpec{ID: 1, Maps: 1, Submit: 17 * time.Second}, Maps: []time.Duration{2 * time.Second}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Killed != 1 || res.Busy[scheduler.Map] <= 42*time.Second {
		t.Errorf("%d killed, maps took %v together; want 1 and more than the 42 s of the work itself", res.Killed, res.Busy[scheduler.Map])
	}
	if got := res.Jobs[0].Attempts; got != 6 {
		t.Errorf("the restarted job had %d attempts, want 2 before and 4 after", got)
	}
}
