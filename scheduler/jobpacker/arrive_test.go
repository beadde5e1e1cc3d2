package jobpacker

import (
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// After a restart a job that has arrived, and runs, goes back to the racks of its earlier plan; as a heavy one it counts where it runs,
// and one without racks, or whose racks are gone, stays as it is.
func TestJobsGoBackToTheirRacks(t *testing.T) {
	for _, tc := range []struct {
		name       string
		maps, reds []topology.RackID
		lost       bool // rack 1
		back       bool
	}{
		{"both known", []topology.RackID{1}, []topology.RackID{2}, false, true},
		{"no racks", nil, nil, false, false},
		{"none for reduces", []topology.RackID{1}, nil, false, false},
		{"none for maps", nil, []topology.RackID{2}, false, false},
		{"a rack that never was", []topology.RackID{1}, []topology.RackID{7}, false, false},
		{"a rack that is down", []topology.RackID{1}, []topology.RackID{2}, true, false},
	} {
		r := newRig(t, func(c *Config) { c.PlanArrivals = false }, 3, scheduler.Capacity{Containers: 4})
		first := adhoc(1, 4, 100) // nobody knew that it is heavy
		first.Reduces = 2
		r.Submit(first)
		r.Send(scheduler.Launched(scheduler.TaskID{Job: 1}, 1, scheduler.Anywhere, false))
		if tc.lost {
			if err := r.NodeLost(r.Now, 1, false, nil); err != nil {
				t.Fatal(err)
			}
		}
		again := *recurring(1, 4, 2, 4*gb)
		again.MapRacks, again.ReduceRacks = tc.maps, tc.reds
		placed := r.p.Plan(r.Now, []*scheduler.JobSpec{&again}, r.View())
		at, follows := r.p.Follows(1, r.View())
		if follows != tc.back || len(placed) == 1 != tc.back {
			t.Errorf("%s: it follows a plan: %v, placements %+v", tc.name, follows, placed)
		}
		if !tc.back {
			continue
		}
		if !slices.Equal(at.MapRacks, tc.maps) || !slices.Equal(at.ReduceRacks, tc.reds) {
			t.Errorf("%s: it is in %v and %v", tc.name, at.MapRacks, at.ReduceRacks)
		}
		if a, b := len(r.offer(0)), len(r.offer(1)); a != 0 || b != 3 {
			t.Errorf("%s: %d maps ran in another rack, %d in its own", tc.name, a, b)
		}
		var heavy int32
		for rack := range r.p.heavyTasks {
			heavy += r.p.heavyTasks[rack]
		}
		if want := r.View().Job(1).Held(); !r.p.record(r.View().Job(1)).heavy || heavy != want {
			t.Errorf("%s: %d heavy tasks on the books, %d run", tc.name, heavy, want)
		}
	}
}

// Who waits in the racks of a plan is told behind whom.
func TestBehindWhomPlansWait(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Order = "online" }, 1, scheduler.Capacity{Containers: 2})
	r.Submit(recurring(1, 9, 1, 0), recurring(2, 9, 1, 0))
	r.offer(0)
	for id, want := range map[scheduler.JobID]string{
		1: "j1 waits for room in its 1 map racks, where it is next",
		2: "j2 waits in its 1 map racks behind 1 planned entries, the last of j1",
	} {
		if got := r.Explain(r.Now, id).Text(nil); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// How many racks a job is guessed to want follows the plans before it, in whole racks, at least one and at most all.
func TestGuessedWidths(t *testing.T) {
	var w widths
	if got := w.guess(scheduler.Map, 9, 5); got != 5 {
		t.Errorf("before any plan %d racks", got)
	}
	w.add(&plan{profile: Profile{Maps: 4, Reduces: 0}, heavy: true, racks: [kinds][]topology.RackID{{1, 2}, {}}})
	w.add(&plan{profile: Profile{Maps: 8, Reduces: 2}, heavy: true, racks: [kinds][]topology.RackID{{1, 2}, {3}}})
	w.add(&plan{profile: Profile{Maps: 1, Reduces: 1}, racks: [kinds][]topology.RackID{{1, 2, 3}, {1, 2, 3}}}) // not heavy
	for n, want := range map[int]int{1: 1, 4: 2, 8: 3, 99: 5} {                                                // 3/8 of a rack for each map
		if got := w.guess(scheduler.Map, n, 5); got != want {
			t.Errorf("%d maps: %d racks, want %d", n, got, want)
		}
	}
	if got := w.guess(scheduler.Reduce, 4, 5); got != 2 {
		t.Errorf("4 reduces: %d racks, want 2", got)
	}
}

// Every number is taken at the ends of its range; TestConfigRefuses has more of what is beyond.
func TestConfigRanges(t *testing.T) {
	good := DefaultConfig()
	good.Threshold, good.AdhocHeavy, good.Electrical, good.Optical, good.SubBatches, good.Overprovision = 0, 0, 0, 0, 1, 0
	good.PlanMaxWait, good.AdhocHeavyMaxWait, good.MaxHold = 1, 0, 0
	if err := good.validate(); err != nil {
		t.Errorf("at the ends of all ranges: %v", err)
	}
	for name, change := range map[string]func(*Config){
		"ad-hoc":      func(c *Config) { c.AdhocHeavy = -1 },
		"electrical":  func(c *Config) { c.Electrical = -1 },
		"ad-hoc wait": func(c *Config) { c.AdhocHeavyMaxWait = -time.Second },
		"hold":        func(c *Config) { c.MaxHold = -time.Second },
	} {
		c := DefaultConfig()
		change(&c)
		if c.validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestLinksOfThePlan: the plan reckons with the links that are configured, else with those of the cluster, else with the published ones.
func TestLinksOfThePlan(t *testing.T) {
	given := Model{Electrical: 3, Optical: 5, Threshold: 7}
	published := Model{Electrical: publishedElectrical, Optical: publishedOptical, Threshold: publishedThreshold}
	for name, c := range map[string]struct {
		uplink topology.Rate
		ocs    topology.OCS
		cfg    Model
		want   Model
	}{
		"nothing is known":        {0, topology.OCS{}, Model{}, published},
		"the cluster's":           {11, topology.OCS{Rate: 13, Interval: time.Second, Threshold: 17}, Model{}, Model{Electrical: 11, Optical: 13, Threshold: 17}},
		"no threshold of its":     {11, topology.OCS{Rate: 13, Interval: time.Second}, Model{}, Model{Electrical: 11, Optical: 13, Threshold: publishedThreshold}},
		"no circuits":             {11, topology.OCS{}, Model{}, Model{Electrical: 11, Optical: publishedOptical, Threshold: publishedThreshold}},
		"those that are given":    {11, topology.OCS{Rate: 13, Interval: time.Second, Threshold: 17}, given, given},
		"given, nothing is known": {0, topology.OCS{}, given, given},
	} {
		b := topology.NewBuilder()
		rack, err := b.AddRack(topology.Rack{Uplink: c.uplink})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.AddNode(topology.Node{Rack: rack}); err != nil {
			t.Fatal(err)
		}
		if c.ocs != (topology.OCS{}) {
			if err := b.SetOCS(c.ocs); err != nil {
				t.Fatal(err)
			}
		}
		cfg := DefaultConfig()
		cfg.Electrical, cfg.Optical, cfg.Threshold = c.cfg.Electrical, c.cfg.Optical, c.cfg.Threshold
		if got := cfg.model(b.Topology()); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := DefaultConfig(); got.model(topology.NewBuilder().Topology()) != published {
		t.Error("a cluster without racks has links")
	}
}

// TestFollowsNoPlan: who asks whose plan a job follows is told of none where the job has none, or is not there.
func TestFollowsNoPlan(t *testing.T) {
	r := uniform(t, 2, scheduler.Capacity{Containers: 3})
	r.Submit(adhoc(1, 3, gb))
	for _, id := range []scheduler.JobID{1, 2} {
		if at, follows := r.p.Follows(id, r.View()); follows {
			t.Errorf("job %d follows %+v", id, at)
		}
	}
}
