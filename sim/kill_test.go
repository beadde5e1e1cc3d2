package sim

import (
	"errors"
	"strings"
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

// restless stops the map that it has started, whenever it is asked.
type restless struct{ scheduler.Policy }

func (restless) Kill(_ time.Duration, v *scheduler.View) (scheduler.Victim, bool) {
	for a := range v.RunningOn(0) {
		return scheduler.Victim{Task: a.Task, Node: a.Node, Reason: scheduler.Reason{Say: "{job} must go", Job: a.Task.Job}}, true
	}
	return scheduler.Victim{}, false
}

// eager has something to do at the very moment at which an attempt starts, as links have with transfers of no bytes.
type eager struct {
	Model
	at time.Duration
}

func (e *eager) Start(now time.Duration, a Attempt, j *Job) {
	e.at = now
	e.Model.Start(now, a, j)
}

func (e *eager) Next() time.Duration { return min(e.at, e.Model.Next()) }

// A policy that stops for ever what it starts ends the run with what it does, and does not hang it.
func TestPolicyThatStopsForEver(t *testing.T) {
	_, err := Run(Config{
		Topology: cluster(t, 1, 1), Capacity: scheduler.Capacity{Containers: 2}, Policy: restless{policy(t, "fifo", nil)}, State: scheduler.DefaultConfig(), Model: &eager{Model: NewFixed()},
	}, []*Job{{Spec: &scheduler.JobSpec{ID: 1, Maps: 1}, Maps: []time.Duration{time.Second}}})
	if want := "stopped 1021 attempts without any time passing, the last j1/map/0: j1 must go"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it ends with %v, want %s", err, want)
	}
}

// rash stops, after three seconds, what does not run.
type rash struct{ scheduler.Policy }

func (rash) Kill(now time.Duration, _ *scheduler.View) (scheduler.Victim, bool) {
	return scheduler.Victim{Task: scheduler.TaskID{Job: 9}, Node: 0}, now >= 3*time.Second
}

// TestPolicyThatBreaksARule: it ends the run, which says when and what it did.
func TestPolicyThatBreaksARule(t *testing.T) {
	_, err := Run(Config{
		Topology: cluster(t, 1, 1), Capacity: scheduler.Capacity{Containers: 1}, Policy: rash{policy(t, "fifo", nil)}, State: scheduler.DefaultConfig(), Model: NewFixed(),
	}, []*Job{{Spec: &scheduler.JobSpec{ID: 1, Maps: 5}, Maps: []time.Duration{time.Second}}})
	if !errors.Is(err, scheduler.ErrPolicy) || !strings.Contains(err.Error(), "at 3s: ") {
		t.Errorf("it ends with %v", err)
	}
}
