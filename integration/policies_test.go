package integration

import (
	"fmt"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/master/core"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
)

// TestEveryPolicyDrivesACluster: each policy runs a mixed workload of sleeping jobs, and its
// decision log, replayed through the same engine that the simulator drives, says the same line by
// line.
func TestEveryPolicyDrivesACluster(t *testing.T) {
	for _, name := range policies.Names(scheduler.Assignment) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tryPolicy(t, name, "unlimited")
		})
	}
	for _, name := range policies.Names(scheduler.Admitting) {
		t.Run("admission "+name, func(t *testing.T) {
			t.Parallel()
			tryPolicy(t, "fifo", name)
		})
	}
}

func tryPolicy(t *testing.T, policy, admission string) {
	var mu sync.Mutex
	var log []scheduler.LogLine
	c := testcluster.Start(t, testcluster.Config{Workers: 3, Racks: 2, Master: func(m *master.Config) {
		m.Policy, m.Admission, m.AdmissionParams = policy, admission, admissionParams(admission)
		m.Core.Decisions = func(l scheduler.LogLine) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, l)
		}
	}})
	var ids []wire.JobID
	for i := range 5 {
		spec := wire.JobSpec{Queue: "default", Pool: fmt.Sprint("p", i%2), Priority: i%5 + 1, Deadline: int64(60_000 * (i % 2))}
		ids = append(ids, c.Submit(spec, "sleep", "--maps", fmt.Sprint(2+3*i), "--reduces", fmt.Sprint(1+i%2),
			"--map-time", "5ms", "--reduce-time", "5ms", "--output", fmt.Sprint("dfs:/out", i)))
	}
	for _, id := range ids {
		if s := c.Finish(id); s.State != "SUCCEEDED" {
			t.Errorf("%+v", s)
		}
	}
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
	replay(t, policy, admission, log)
}

// admissionParams let one job start whatever the limit: a tenth of nine containers is none.
func admissionParams(name string) map[string]string {
	if name == "unlimited" || name == "capacity-init" {
		return nil
	}
	return map[string]string{"always-admit-one": "true"}
}

func replay(t *testing.T, policy, admission string, log []scheduler.LogLine) {
	t.Helper()
	p, err := policies.Policy(policy, policies.LiveParams(policy, nil))
	if err != nil {
		t.Fatal(err)
	}
	a, err := policies.Admission(admission, policies.LiveParams(admission, admissionParams(admission)))
	if err != nil {
		t.Fatal(err)
	}
	launched := 0
	for _, l := range log {
		launched += len(l.Launched)
	}
	if launched < 40 {
		t.Errorf("only %d launches in %d lines", launched, len(log))
	}
	if err := scheduler.ReplayLog(core.DefaultConfig().Scheduler, p, a, log); err != nil {
		t.Errorf("%d lines: %v", len(log), err)
	}
}
