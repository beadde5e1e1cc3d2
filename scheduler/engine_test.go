package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/topology"
)

// greedy takes the oldest job's nearest task; wrong, if set, answers instead.
type greedy struct {
	wrong func(v *View) Decision
	seen  []EventKind
}

func (g *greedy) Observe(_ time.Duration, e Event, _ *View) { g.seen = append(g.seen, e.Kind) }

func (g *greedy) Assign(_ time.Duration, n topology.NodeID, v *View) Decision {
	if g.wrong != nil {
		return g.wrong(v)
	}
	for k := range Driver {
		for j := range v.Runnable(k).All() {
			if t, near, ok := v.PickTask(j, n, k); ok && v.Fits(n, j, k) {
				return Run(t, near, Reason{Say: "{job} is oldest", Job: j.ID()})
			}
		}
	}
	return Idle(Reason{Code: NoWork, Say: "nothing"})
}

func newTestEngine(t *testing.T, racks, perRack int, c Capacity, p Policy) *Engine {
	t.Helper()
	topo, err := topology.Uniform(racks, perRack, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewState(topo, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		p = &greedy{}
	}
	g := NewEngine(s, p, nil)
	for n := range topology.NodeID(topo.NumNodes()) {
		mustFeed(t, g, NodeUp(n, c))
	}
	return g
}

func mustFeed(t *testing.T, g *Engine, e Event) {
	t.Helper()
	if err := g.Feed(0, e); err != nil {
		t.Fatal(err)
	}
}

func mustSubmit(t *testing.T, g *Engine, s *JobSpec) *Job {
	t.Helper()
	mustFeed(t, g, JobSubmitted(s))
	if _, err := g.Admit(0, nil); err != nil {
		t.Fatal(err)
	}
	return g.View().Job(s.ID)
}

func mustOffer(t *testing.T, g *Engine, n topology.NodeID) []TaskID {
	t.Helper()
	var got []TaskID
	if _, err := g.Offer(0, n, func(d Decision) { got = append(got, d.Task) }); err != nil {
		t.Fatal(err)
	}
	return got
}

// Offer refuses what no correct policy asks for, and State stays as it was.
func TestOfferRefusesWrongDecisions(t *testing.T) {
	task := func(k Kind, i int32) TaskID { return TaskID{Job: 1, Kind: k, Index: i} }
	for name, d := range map[string]Decision{
		"unknown job":            {OK: true, Task: TaskID{Job: 9}},
		"unknown task":           {OK: true, Task: task(Map, 5)},
		"negative task":          {OK: true, Task: task(Map, -1)},
		"unknown kind":           {OK: true, Task: task(7, 0)},
		"running task":           {OK: true, Task: task(Map, 0)},
		"second on same node":    {OK: true, Task: task(Map, 0), Second: true},
		"second without a first": {OK: true, Task: task(Map, 1), Second: true},
		"waiting job":            {OK: true, Task: TaskID{Job: 2}},
		"no room":                {OK: true, Task: task(Reduce, 0)},
	} {
		p := &greedy{}
		g := newTestEngine(t, 1, 1, Capacity{MapSlots: 2}, p)
		mustSubmit(t, g, &JobSpec{ID: 1, Maps: 2, Reduces: 1})
		mustFeed(t, g, Launched(task(Map, 0), 0, Remote, false))
		mustFeed(t, g, JobSubmitted(&JobSpec{ID: 2, Maps: 1}))
		p.wrong = func(*View) Decision { return d }
		before := *g.View().ClusterUsed()
		if _, err := g.Offer(0, 0, nil); !errors.Is(err, ErrPolicy) {
			t.Errorf("%s: error %v, want a policy error", name, err)
		}
		if *g.View().ClusterUsed() != before {
			t.Errorf("%s: carried out", name)
		}
	}
}

func TestOfferToDeadAndDrainingNodes(t *testing.T) {
	g := newTestEngine(t, 1, 2, Capacity{MapSlots: 1}, nil)
	mustSubmit(t, g, &JobSpec{ID: 1, Maps: 2})
	mustFeed(t, g, NodeDown(0))
	if _, err := g.Offer(0, 0, nil); !errors.Is(err, ErrStale) {
		t.Errorf("dead node: %v", err)
	}
	mustFeed(t, g, NodeDraining(1))
	if got := mustOffer(t, g, 1); len(got) != 0 {
		t.Errorf("draining node got %v", got)
	}
	if total := g.View().Total(); total.Nodes != 0 || total.Slots[Map] != 0 {
		t.Errorf("total %+v with no node up", total)
	}
	mustFeed(t, g, NodeUp(0, Capacity{MapSlots: 1}))
	if got := mustOffer(t, g, 0); len(got) != 1 {
		t.Errorf("returned node got %v", got)
	}
}

// A job with a driver is admitted, gets its driver placed before anything else,
// and its tasks when it says that it is ready.
func TestDriverLife(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{MemoryMB: 4096}, nil)
	j := mustSubmit(t, g, &JobSpec{ID: 1, HasDriver: true, DriverDemand: Demand{MemoryMB: 2048}, Maps: 5})
	if p := g.View().Promised(); p.MemoryMB != 2048 || p.Tasks[Driver] != 1 {
		t.Errorf("promised %+v", p)
	}
	driver := TaskID{Job: 1, Kind: Driver}
	if got := mustOffer(t, g, 0); len(got) != 1 || got[0] != driver {
		t.Fatalf("launched %v, want the driver", got)
	}
	mustFeed(t, g, JobReady(1, &JobSpec{ID: 1, HasDriver: true, Maps: 3}))
	if j.Total(Map) != 3 {
		t.Errorf("%d maps, want the 3 the driver found", j.Total(Map))
	}
	if got := mustOffer(t, g, 0); len(got) != 2 {
		t.Errorf("beside the driver %v fit, want 2 maps", got)
	}
	mustFeed(t, g, TaskKilled(driver, 0))
	if got := mustOffer(t, g, 0); len(got) != 1 || got[0] != driver {
		t.Errorf("launched %v, want the driver again", got)
	}
	mustFeed(t, g, JobFinished(1))
	if used := *g.View().ClusterUsed(); used != (Usage{}) || g.View().Promised() != (Usage{}) {
		t.Errorf("an ended job still holds %+v", used)
	}
}

// Second attempts: the first to finish counts, the other is only taken off.
func TestSecondAttempt(t *testing.T) {
	g := newTestEngine(t, 1, 2, Capacity{MapSlots: 1}, nil)
	j := mustSubmit(t, g, &JobSpec{ID: 1, Maps: 1, Reduces: 1})
	m := TaskID{Job: 1}
	mustOffer(t, g, 0)
	if err := g.Launch(0, 1, &Decision{OK: true, Task: m, Second: true}); err != nil {
		t.Fatal(err)
	}
	mustFeed(t, g, TaskFailed(m, 0))
	if j.Running(Map) != 1 || j.Pending(Map) != 0 {
		t.Error("the task is pending although its second attempt runs")
	}
	mustFeed(t, g, Launched(m, 0, Remote, true))
	mustFeed(t, g, TaskFinished(m, 1, 0, 10, 4))
	mustFeed(t, g, TaskFinished(m, 0, 0, 10, 4))
	if in, out := j.MapBytes(); in != 10 || out != 4 || j.Done(Map) != 1 || j.Usage().Tasks[Map] != 0 {
		t.Errorf("in %d out %d done %d holding %d", in, out, j.Done(Map), j.Usage().Tasks[Map])
	}
}

// spec/marp 2.3: reduces that wait for maps hold all the room.
func TestDeadlock(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{Containers: 2}, nil)
	mustSubmit(t, g, &JobSpec{ID: 1, Maps: 2, Reduces: 2, Slowstart: -1})
	if _, found := Deadlock(g.View()); found {
		t.Error("an empty cluster is not locked")
	}
	mustFeed(t, g, Launched(TaskID{Job: 1, Kind: Reduce}, 0, Anywhere, false))
	if _, found := Deadlock(g.View()); found {
		t.Error("a map still fits")
	}
	mustFeed(t, g, Launched(TaskID{Job: 1, Kind: Reduce, Index: 1}, 0, Anywhere, false))
	victim, found := Deadlock(g.View())
	other := mustSubmit(t, g, &JobSpec{ID: 2, Reduces: 1})
	mustFeed(t, g, Launched(TaskID{Job: 2, Kind: Reduce}, 0, Anywhere, false)) // by force: one too many
	if _, locked := Deadlock(g.View()); locked {
		t.Errorf("%v has no maps to wait for and will give its place back", other.ID())
	}
	if !found || victim.Task != (TaskID{Job: 1, Kind: Reduce, Index: 1}) {
		t.Errorf("victim %+v (%v), want the newest reduce", victim, found)
	}
}

// However many jobs are admitted, drivers leave room for a task.
func TestDriversLeaveRoom(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes int
		room  Capacity
		spec  JobSpec
		want  int32 // drivers
	}{
		{"containers", 2, Capacity{Containers: 3}, JobSpec{Maps: 1}, 5},
		{"one container", 1, Capacity{Containers: 1}, JobSpec{Maps: 1}, 0},
		{"two containers", 1, Capacity{Containers: 2}, JobSpec{Maps: 1}, 1},
		{"large tasks", 2, Capacity{Containers: 3}, JobSpec{Maps: 1, MapDemand: Demand{Slots: 2}}, 4},
		{"memory", 2, Capacity{MemoryMB: 8 << 10, VCores: 64}, JobSpec{Maps: 1, DriverDemand: Demand{MemoryMB: 2 << 10}}, 7},
		{"slots", 1, Capacity{MapSlots: 1, ReduceSlots: 1}, JobSpec{Maps: 1}, 10}, // drivers take none
	} {
		g := newTestEngine(t, 1, c.nodes, c.room, nil)
		for id := range JobID(10) {
			spec := c.spec
			spec.ID, spec.HasDriver = id, true
			mustFeed(t, g, JobSubmitted(&spec))
			mustFeed(t, g, JobAdmitted(id))
		}
		for n := range c.nodes {
			if _, err := g.Offer(0, topology.NodeID(n), nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := g.state.use.Tasks[Driver]; got != c.want {
			t.Errorf("%s: %d drivers were placed, want %d", c.name, got, c.want)
		}
		if _, found := Deadlock(g.View()); found {
			t.Errorf("%s: locked", c.name)
		}
		if why := g.Explain(0, 9).Text(nil); c.want < 10 && !strings.Contains(why, "room") {
			t.Errorf("%s: %s", c.name, why)
		}
	}
}

// A node that goes can leave one behind on which only drivers run: the newest gives way, and is not placed there again.
func TestDriversGiveWay(t *testing.T) {
	g := newTestEngine(t, 1, 2, Capacity{Containers: 2}, nil)
	driver := func(id JobID) TaskID { return TaskID{Job: id, Kind: Driver} }
	for id := range JobID(3) {
		mustFeed(t, g, JobSubmitted(&JobSpec{ID: id, Maps: 1, Reduces: 1, HasDriver: true}))
		mustFeed(t, g, JobAdmitted(id))
	}
	for id, n := range []topology.NodeID{0, 0, 1} {
		mustFeed(t, g, Launched(driver(JobID(id)), n, Anywhere, false))
		mustFeed(t, g, JobReady(JobID(id), nil))
	}
	if _, found := Deadlock(g.View()); found {
		t.Error("a map still fits on node 1")
	}
	if err := g.NodeLost(0, 1, true, nil); err != nil {
		t.Fatal(err)
	}
	victim, found := Deadlock(g.View())
	if !found || victim.Task != driver(1) || victim.Node != 0 {
		t.Fatalf("victim %+v (%v), want the newer driver on node 0", victim, found)
	}
	if got, want := victim.Reason.Text(nil), "the driver of j1 gives way: 2 drivers hold the room that tasks of j0 need"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	mustFeed(t, g, TaskKilled(victim.Task, victim.Node))
	var launched []TaskID
	if _, err := g.Offer(0, 0, func(d Decision) { launched = append(launched, d.Task) }); err != nil {
		t.Fatal(err)
	}
	if len(launched) != 1 || launched[0].Kind != Map || launched[0].Job != 0 {
		t.Errorf("launched %v, want a map of j0", launched)
	}
	mustFeed(t, g, TaskFinished(launched[0], 0, 0, 1, 1))
	// A driver that has the only node to itself and holds all of it can be helped by no choice.
	mustFeed(t, g, NodeUpdated(0, Capacity{Containers: 1}))
	if victim, found := Deadlock(g.View()); !found || victim.Node != topology.NoNode {
		t.Errorf("victim %+v (%v), want nobody", victim, found)
	}
}

// A node that is lost takes its attempts along and, where its disk is gone, the outputs that some reduce still needs.
func TestNodeLost(t *testing.T) {
	for outputs, want := range map[bool]string{
		false: "[task-killed j1/map/1 on node 0 node-down node 0]",
		true:  "[task-killed j1/map/1 on node 0 task-lost j1/map/0 on node -1 node-down node 0]",
	} {
		g := newTestEngine(t, 1, 2, Capacity{Containers: 9}, nil)
		done := func(n topology.NodeID, task TaskID) {
			mustFeed(t, g, Launched(task, n, Anywhere, false))
			mustFeed(t, g, TaskFinished(task, n, 0, 1, 1))
		}
		for id, reduces := range []int32{0, 2, 1} { // none needed, some run or wait, all done
			mustSubmit(t, g, &JobSpec{ID: JobID(id), Maps: 3, Reduces: reduces, Slowstart: -1})
			done(0, TaskID{Job: JobID(id)})
		}
		mustFeed(t, g, JobSubmitted(&JobSpec{ID: 3, Maps: 1, Reduces: 1}))
		done(0, TaskID{Job: 2, Kind: Reduce})
		done(0, TaskID{Job: 1, Kind: Reduce})
		done(1, TaskID{Job: 1, Index: 2})
		mustFeed(t, g, Launched(TaskID{Job: 1, Index: 1}, 0, Anywhere, false))
		var seen []Event
		if err := g.NodeLost(0, 0, outputs, func(e Event) { seen = append(seen, e) }); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(seen); got != want {
			t.Errorf("outputs lost: %v: %s, want %s", outputs, got, want)
		}
		if err := g.NodeLost(0, 2, outputs, nil); !errors.Is(err, ErrStale) {
			t.Errorf("a node that is not was lost: %v", err)
		}
	}
}

// A policy that takes over in mid-run is shown everything that lives.
func TestSetPolicy(t *testing.T) {
	g := newTestEngine(t, 1, 2, Capacity{MapSlots: 1}, nil)
	mustSubmit(t, g, &JobSpec{ID: 1, Maps: 3})
	mustOffer(t, g, 0)
	p := &greedy{}
	g.SetPolicy(time.Second, p)
	if got, want := fmt.Sprint(p.seen), "[node-up node-up job-submitted job-admitted launched]"; got != want {
		t.Errorf("shown %s, want %s", got, want)
	}
}

func TestExplainByState(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{Containers: 1}, nil)
	mustFeed(t, g, JobSubmitted(&JobSpec{ID: 1, Maps: 1, HasDriver: true}))
	for _, step := range []struct {
		do   func()
		want Code
	}{
		{func() {}, ForAdmission},
		{func() { mustFeed(t, g, JobAdmitted(1)) }, ForDriver},
		{func() { mustFeed(t, g, JobReady(1, nil)) }, Behind},
		{func() { mustFeed(t, g, Launched(TaskID{Job: 1}, 0, Remote, false)) }, NoWork},
		{func() { mustFeed(t, g, JobVanished(1)) }, NoWork},
	} {
		step.do()
		if r := g.Explain(0, 1); r.Code != step.want {
			t.Errorf("%v (%s), want %v", r.Code, r.Text(g.View()), step.want)
		}
	}
}

// A policy that counts attempts by events comes out even when a job vanishes.
func TestEndOfAJobEndsItsAttempts(t *testing.T) {
	p := &greedy{}
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 2}, p)
	mustSubmit(t, g, &JobSpec{ID: 1, Maps: 5})
	mustOffer(t, g, 0)
	p.seen = nil
	mustFeed(t, g, JobVanished(1))
	if got, want := fmt.Sprint(p.seen), "[task-killed task-killed job-vanished]"; got != want {
		t.Errorf("shown %s, want %s", got, want)
	}
	if err := g.Feed(0, JobVanished(1)); !errors.Is(err, ErrStale) {
		t.Errorf("a second end: %v", err)
	}
}

// ticking counts its ticks; every is its interval.
type ticking struct {
	greedy
	every time.Duration
	at    []time.Duration
}

func (c *ticking) Interval() time.Duration         { return c.every }
func (c *ticking) Tick(now time.Duration, _ *View) { c.at = append(c.at, now) }

func TestTick(t *testing.T) {
	p := &ticking{every: 5 * time.Second}
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 1}, p)
	for _, now := range []time.Duration{0, 3, 5, 11, 12, 16} {
		next, ok := g.Tick(now * time.Second)
		if !ok || next <= now*time.Second {
			t.Errorf("at %d s the next tick is at %v (%v)", now, next, ok)
		}
	}
	if got, want := fmt.Sprint(p.at), "[0s 5s 11s 16s]"; got != want {
		t.Errorf("ticked at %s, want %s", got, want)
	}
	again := &ticking{every: 5 * time.Second}
	g.SetPolicy(17*time.Second, again)
	if _, ok := g.Tick(17 * time.Second); !ok || len(again.at) != 1 {
		t.Errorf("a policy that takes over ticked at %v", again.at)
	}
	g.SetPolicy(17*time.Second, p)
	p.every = 0
	if _, ok := g.Tick(time.Hour); ok || len(p.at) != 4 {
		t.Error("ticked although it did not want to")
	}
}
