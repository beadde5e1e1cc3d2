package tracker

import (
	"testing"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler/policies"
)

// oneDriver is an admission policy that lets one job run at a time.
func oneDriver(t *testing.T, c *Tracker) {
	t.Helper()
	a, err := policies.Admission("marp", map[string]string{"marp": "0.5"})
	if err != nil {
		t.Fatal(err)
	}
	c.SetAdmission(0, a)
}

// TestChainKeepsItsDriver: between the stages of a chain nobody else gets the driver's container, though another job's
// driver has waited for longer; and after a restart of the master the job does not queue again.
func TestChainKeepsItsDriver(t *testing.T) {
	c := newCore(t)
	c.Resume(0)
	report(t, c, 0) // two containers: one driver and one task
	submit := func(stages int) wire.JobID {
		t.Helper()
		id, err := c.Submit(1, wire.JobSpec{Name: "j", User: "ann", Stages: stages, Program: wire.Program{Builtin: "sleep"}})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	chain, other := submit(3), submit(1)
	first := runningDriver(c, chain)
	if first.Job == "" || runningDriver(c, other).Job != "" {
		t.Fatal("the scene shows nothing: the chain's driver should run, and the other wait")
	}
	if _, err := c.Plan(1, first, &wire.StagePlan{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(1, first, ""); err != nil {
		t.Fatal(err)
	}
	next := runningDriver(c, chain)
	if next.Stage != 1 || next.Try == first.Try {
		t.Fatalf("the second stage has no driver: %v", next)
	}
	if got := runningDriver(c, other); got.Job != "" {
		t.Errorf("%v has the container of the chain's driver", got)
	}
	again := newCore(t)
	oneDriver(t, again)
	records := c.Take().Records
	for i := range records {
		again.Replay(&records[i])
	}
	again.Resume(2)
	if j := again.View().Job(again.jobs[chain].current().sid); j.Phase().String() != "admitted" {
		t.Errorf("after a restart the second stage is %v, want admitted", j.Phase())
	}
	if j := again.View().Job(again.jobs[other].current().sid); j.Phase().String() != "waiting" {
		t.Errorf("after a restart the other job is %v, want waiting", j.Phase())
	}
}
