package integration

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
)

// TestEveryPolicyDrivesACluster: each policy runs a mixed workload of sleeping jobs, and its
// decision log, replayed through the same engine that the simulator drives, says the same line by
// line.
func TestEveryPolicyDrivesACluster(t *testing.T) {
	t.Parallel()
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

// lively makes second attempts of tasks that take a blink longer than others.
var lively = drive.LATE{After: 20 * time.Millisecond, Slower: 1.5, Share: 0.5}

func tryPolicy(t *testing.T, policy, admission string) {
	var log decisions
	c := testcluster.Start(t, testcluster.Config{Workers: 3, Racks: 2, Master: func(m *master.Config) {
		m.Policy, m.Admission, m.AdmissionParams = policy, admission, admissionParams(admission)
		m.Jobs.SecondAttempts.LATE = lively
		m.Jobs.Decisions = log.add
	}})
	var ids []wire.JobID
	for i := range 5 {
		spec := wire.JobSpec{Queue: "default", Pool: fmt.Sprint("p", i%2), Priority: scheduler.VeryLow + scheduler.Priority(i%5), Deadline: int64(60_000 * (i % 2))}
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
	replay(t, policy, nil, admission, lively, log.lines())
}

// decisions is the log of a master's driver.
type decisions struct {
	mu  sync.Mutex
	all []drive.Line // guarded by mu
}

func (d *decisions) add(l *drive.Line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, l.Clone())
}

func (d *decisions) lines() []drive.Line {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

// count is how many steps are as wanted.
func (d *decisions) count(wanted func(s drive.Step) bool) (n int) {
	for _, l := range d.lines() {
		for _, s := range l.Steps {
			if wanted(s) {
				n++
			}
		}
	}
	return n
}

// admissionParams let one job start whatever the limit: a tenth of nine containers is none.
func admissionParams(name string) map[string]string {
	if name == "unlimited" || name == "capacity-init" {
		return nil
	}
	return map[string]string{"always-admit-one": "true"}
}

// replay drives the same policies as the simulator does, with what the master was told, and expects what the master
// decided.
func replay(t *testing.T, policy string, params map[string]string, admission string, rule drive.Rule, log []drive.Line) {
	t.Helper()
	p, err := policies.Policy(policy, policies.LiveParams(policy, params))
	if err != nil {
		t.Fatal(err)
	}
	a, err := policies.Admission(admission, policies.LiveParams(admission, admissionParams(admission)))
	if err != nil {
		t.Fatal(err)
	}
	launched := 0
	for _, l := range log {
		for _, s := range l.Steps {
			if s.Do == drive.Launch {
				launched++
			}
		}
	}
	if launched < 40 {
		t.Errorf("only %d launches in %d lines", launched, len(log))
	}
	rules := drive.Config{Seconds: rule, Refill: true, Spread: true}
	if err := drive.Replay(tracker.DefaultConfig().Scheduler, rules, p, a, log); err != nil {
		t.Errorf("%d lines: %v", len(log), err)
	}
}
