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

// Of jobs that wait for nothing but a slot, each says how many are before it, and the first that none is.
func TestExplainTheOrder(t *testing.T) {
	r := newRig(t, policy(t, func(c *Config) { c.Queues[0].UserLimit = 25 }), 1, scheduler.Capacity{MapSlots: 4})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 4, User: "u1"})
	r.Want(r.Serve(0), 1, 1, 1, 1)
	r.Submit(&scheduler.JobSpec{ID: 2, Maps: 1, User: "u2"}, &scheduler.JobSpec{ID: 3, Maps: 1, User: "u3"})
	for id, want := range map[scheduler.JobID]string{
		2: "j2 is first in queue default for map slots and waits for one",
		3: "j3 waits: 1 job is before it in queue default for map slots",
	} {
		if why := r.Explain(r.Now, id).Text(r.View()); why != want {
			t.Errorf("%q, want %q", why, want)
		}
	}
}
