package capacity

import (
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// Every waiting job has a reason at any time, and asking changes nothing that
// the suite could see.
func TestExplain(t *testing.T) {
	for _, name := range []string{"caps", "nested", "rack wait"} {
		inner := schedulertest.Factory(t, &Info, variants[name])
		schedulertest.Suite(t, func() scheduler.Policy { return schedulertest.Explained(t, inner()) }, schedulertest.Promises{PerTask: time.Minute, Quick: true})
	}
}

// TestNotesNameUnknownQueues: a job of a queue that nobody has configured runs in another, and it is said in which, once.
func TestNotesNameUnknownQueues(t *testing.T) {
	made, err := Info.Make(map[string]string{"queues": "prod=70,dev=30"})
	if err != nil {
		t.Fatal(err)
	}
	topo, err := topology.Uniform(1, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.NewState(topo, scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	g := scheduler.NewEngine(s, made.(scheduler.Policy), nil)
	for i, queue := range []string{"prod", "nosuch", "nosuch", ""} {
		if err := g.Feed(0, scheduler.JobSubmitted(&scheduler.JobSpec{ID: scheduler.JobID(i + 1), Queue: queue, Maps: 1})); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := g.Notes(), []string{"there is no queue nosuch: its jobs run in queue dev"}; !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q", got, want)
	}
}
