package scheduler

import (
	"testing"
	"time"

	"github.com/millrace/millrace/topology"
)

// equal owes by containers held, as fair does.
func equal(a *Job, more int32, b *Job, free int32) bool { return a.Held()+more-1 >= b.Held()+free+1 }

// ramp is a cluster of one node with ten containers and a job whose maps run on it: of twenty, some are done.
func ramp(t *testing.T, c Capacity, done int32) (*Engine, *Job) {
	t.Helper()
	g := newTestEngine(t, 1, 1, c, nil)
	j := mustSubmit(t, g, &JobSpec{ID: 1, Maps: 20, Reduces: 9})
	for i := range done {
		mustFeed(t, g, Launched(TaskID{Job: 1, Index: i}, 0, Remote, false))
		mustFeed(t, g, TaskFinished(TaskID{Job: 1, Index: i}, 0, 0, 0, 0))
	}
	return g, j
}

func hold(t *testing.T, g *Engine, id JobID, k Kind, from, n int32) {
	t.Helper()
	for i := range n {
		mustFeed(t, g, Launched(TaskID{Job: id, Kind: k, Index: from + i}, 0, Remote, false))
	}
}

// A job's reduces hold at most min(maps done, ramp) of what it holds, until its last map has a place.
func TestReducesFollowMaps(t *testing.T) {
	rule := ReduceRule{Slowstart: -1, Share: 0.5, Ramp: 0.5}
	for _, tc := range []struct{ done, maps, reduces, more int32 }{
		{done: 1, maps: 9, more: 0},              // a twentieth of nine
		{done: 4, maps: 9, more: 1},              // a fifth of nine
		{done: 4, maps: 8, reduces: 1, more: 0},  // one of nine is there
		{done: 10, maps: 8, reduces: 1, more: 1}, // half of nine
		{done: 12, maps: 5, reduces: 4, more: 0}, // never more than half
		{done: 15, maps: 5, reduces: 4, more: 1}, // all maps have a place
	} {
		g, j := ramp(t, Capacity{Containers: 10}, tc.done)
		hold(t, g, 1, Map, tc.done, tc.maps)
		hold(t, g, 1, Reduce, 0, tc.reduces)
		if got := rule.AllowsReduce(g.View(), 0, j, Needy{Owed: equal}); got != (tc.more == 1) {
			t.Errorf("%+v: one more may start: %v", tc, got)
		}
		published := ReduceRule{Slowstart: -1, Share: 0.5}
		if !published.AllowsReduce(g.View(), 0, j, Needy{Owed: equal}) {
			t.Errorf("%+v: the published rule is not as published", tc)
		}
	}
	g, j := ramp(t, Capacity{MapSlots: 10, ReduceSlots: 10}, 4)
	hold(t, g, 1, Reduce, 0, 5)
	if !rule.AllowsReduce(g.View(), 0, j, Needy{Owed: equal}) {
		t.Error("kinds with slots of their own do not compete")
	}
	if v, found := rule.GiveBack(time.Minute, g.View(), Needy{Job: j, Owed: equal}); found {
		t.Errorf("%v gives back a slot that no map can use", v.Task)
	}
}

// Where reduces hold as much as they may, those whose maps have all ended still come first, and those that would wait do not start.
func TestReducesThatWaitForNobody(t *testing.T) {
	g, large := ramp(t, Capacity{Containers: 4}, 15)
	hold(t, g, 1, Reduce, 0, 2) // half
	small := mustSubmit(t, g, &JobSpec{ID: 2, Maps: 1, Reduces: 1})
	hold(t, g, 2, Map, 0, 1)
	mustFeed(t, g, TaskFinished(TaskID{Job: 2}, 0, 0, 0, 0))
	rule := ReduceRule{Slowstart: -1, Share: 0.5, Ramp: 0.5}
	first := Needy{Job: large, Owed: equal}
	if kinds := rule.Kinds(g.View(), 0); len(kinds) != 2 || kinds[0] != Reduce || !rule.AllowsReduce(g.View(), 0, small, first) || rule.AllowsReduce(g.View(), 0, large, first) {
		t.Errorf("%v are tried; a reduce of small may start: %v, of large: %v", kinds, rule.AllowsReduce(g.View(), 0, small, first), rule.AllowsReduce(g.View(), 0, large, first))
	}
	rule.Ramp = 0
	if kinds := rule.Kinds(g.View(), 0); len(kinds) != 1 || kinds[0] != Map {
		t.Errorf("as published %v are tried", kinds)
	}
}

// Reduces that wait give their containers to maps and drivers of jobs that are owed more, and to their own job's maps,
// as many as are owed; one that was given back may not start again while that is so.
func TestWaitingReducesGiveBack(t *testing.T) {
	rule := ReduceRule{Slowstart: -1, Share: 0.5, Ramp: 0.5}
	g, j := ramp(t, Capacity{Containers: 10}, 15)
	hold(t, g, 1, Map, 15, 5) // all maps have a place
	hold(t, g, 1, Reduce, 0, 5)
	v := g.View()
	if victim, found := rule.GiveBack(time.Minute, v, Needy{Owed: equal}); found {
		t.Fatalf("%v gives way to nobody", victim.Task)
	}
	small := mustSubmit(t, g, &JobSpec{ID: 2, Maps: 8, Reduces: 1})
	first := Needy{Job: small, Owed: equal}
	if victim, found := rule.GiveBack(giveBackAfter-1, v, first); found {
		t.Fatalf("%v gives way at once: another task may end any moment", victim.Task)
	}
	for range 10 {
		victim, found := rule.GiveBack(time.Minute, v, first)
		if !found {
			break
		}
		if victim.Task.Job != 1 || victim.Task.Kind != Reduce {
			t.Fatalf("%v gives way", victim.Task)
		}
		if err := g.End(0, victim); err != nil {
			t.Fatal(err)
		}
	}
	if j.Running(Reduce) != 0 || v.Free() != 5 {
		t.Errorf("%d reduces wait while %d containers are free for a job that is owed five", j.Running(Reduce), v.Free())
	}
	hold(t, g, 2, Map, 0, 5)
	if _, found := rule.GiveBack(time.Minute, v, first); found {
		t.Error("shares are equal, and a reduce gives way")
	}
	mustFeed(t, g, TaskFinished(TaskID{Job: 2}, 0, 0, 0, 0))
	if rule.AllowsReduce(v, 0, j, first) {
		t.Error("a reduce that would wait takes the container of a map that is owed it")
	}
	for i := range int32(5) {
		mustFeed(t, g, TaskFinished(TaskID{Job: 1, Index: 15 + i}, 0, 0, 0, 0))
	}
	if !rule.AllowsReduce(v, 0, j, first) {
		t.Error("a reduce that has all its maps' output may not start")
	}
}

// A job whose map has just got a place does not starve, however long ago it came.
func TestWhoGotAPlaceDoesNotStarve(t *testing.T) {
	rule := ReduceRule{Slowstart: -1, Share: 0.5, Ramp: 0.5}
	g, _ := ramp(t, Capacity{Containers: 10}, 16)
	hold(t, g, 1, Map, 16, 4)
	hold(t, g, 1, Reduce, 0, 5)
	first := Needy{Job: mustSubmit(t, g, &JobSpec{ID: 2, Maps: 8, Reduces: 1}), Owed: equal}
	if err := g.Feed(time.Minute, Launched(TaskID{Job: 2}, 0, Remote, false)); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]bool{giveBackAfter - 1: false, giveBackAfter: true} {
		if victim, found := rule.GiveBack(time.Minute+after, g.View(), first); found != want {
			t.Errorf("%v after its map started: a reduce gives way: %v, %v", after, found, victim.Task)
		}
	}
}

// A driver that finds no room is owed a container, too.
func TestWaitingReducesGiveWayToDrivers(t *testing.T) {
	rule := ReduceRule{Slowstart: -1, Share: 0.5, Ramp: 0.5}
	g, _ := ramp(t, Capacity{Containers: 10}, 15)
	hold(t, g, 1, Map, 15, 5)
	hold(t, g, 1, Reduce, 0, 5)
	mustSubmit(t, g, &JobSpec{ID: 2, Maps: 1, HasDriver: true})
	if victim, found := rule.GiveBack(time.Minute, g.View(), Needy{Owed: equal}); !found || victim.Task.Kind != Reduce {
		t.Errorf("nobody gives way to a driver: %v", victim)
	}
}

// A reduce gives its place to a driver only where the driver would take it: not on a node that keeps its last place for tasks while
// another has one to spare, nor for a driver that waits for its user's limit. It would start again there, and give way again, for ever.
func TestReducesGiveWayOnlyWhereDriversGo(t *testing.T) {
	rule := ReduceRule{Slowstart: -1, Share: 1, Ramp: 0.5}
	for _, tc := range []struct {
		name   string
		reduce topology.NodeID // of two nodes with three containers: the first has two drivers, the second one
		limit  int32           // of the user whose driver waits
		gives  bool
	}{
		{"the first keeps its last place", 0, 0, false},
		{"the second has one to spare", 1, 0, true},
		{"its user is at the limit", 1, 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newTestEngine(t, 1, 2, Capacity{Containers: 3}, nil)
			place := func() (placed bool) {
				if err := g.PlaceDrivers(time.Minute, func(topology.NodeID, Decision) { placed = true }); err != nil {
					t.Fatal(err)
				}
				return placed
			}
			place()
			for i, n := range []topology.NodeID{0, 0, 1} {
				id := JobID(i + 1)
				mustSubmit(t, g, &JobSpec{ID: id, Maps: 1, Reduces: 2, HasDriver: true})
				mustFeed(t, g, Launched(TaskID{Job: id, Kind: Driver}, n, Anywhere, false))
				mustFeed(t, g, JobReady(id, nil))
			}
			mustFeed(t, g, Launched(TaskID{Job: 1, Kind: Reduce}, tc.reduce, Remote, false))
			mustFeed(t, g, Launched(TaskID{Job: 1}, 1, Remote, false))
			mustFeed(t, g, Launched(TaskID{Job: 2}, 1-tc.reduce, Remote, false))
			mustSubmit(t, g, &JobSpec{ID: 4, User: "ann", Maps: 20, HasDriver: true})
			mustFeed(t, g, UserLimit("ann", tc.limit))
			victim, found := rule.GiveBack(time.Minute, g.View(), Needy{Owed: func(*Job, int32, *Job, int32) bool { return true }})
			if found != tc.gives {
				t.Fatalf("a reduce gives way: %v, %v", found, victim.Task)
			}
			if found && (g.End(time.Minute, victim) != nil || !place()) {
				t.Error("the driver does not take the place that a reduce gave")
			}
		})
	}
}

// A job whose reduces hold all it has gives one back to its own map.
func TestReduceGivesWayToItsOwnMap(t *testing.T) {
	rule := ReduceRule{Slowstart: -1, Share: 0.5, Ramp: 0.5}
	g, j := ramp(t, Capacity{Containers: 4}, 15)
	hold(t, g, 1, Reduce, 0, 4)
	for want := int32(3); want >= 2; want-- { // half of four
		victim, found := rule.GiveBack(time.Minute, g.View(), Needy{Job: j, Owed: equal})
		if !found || g.End(0, victim) != nil {
			t.Fatalf("%d reduces hold all of four containers, and maps wait", want+1)
		}
		if got := j.Running(Reduce); got != want {
			t.Fatalf("%d reduces run, want %d", got, want)
		}
	}
	if victim, found := rule.GiveBack(time.Minute, g.View(), Needy{Job: j, Owed: equal}); found {
		t.Errorf("%v gives way although half may stay", victim.Task)
	}
}
