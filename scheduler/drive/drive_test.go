package drive

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// oldest takes the oldest job's task, reduces first if they may run; wrong answers in its place.
type oldest struct {
	wrong  func(n topology.NodeID) (scheduler.Decision, bool)
	doomed []scheduler.Victim
	ticks  int
}

func (*oldest) Observe(time.Duration, scheduler.Event, *scheduler.View) {}

func (o *oldest) Assign(_ time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	if o.wrong != nil {
		if d, ok := o.wrong(n); ok {
			return d
		}
	}
	for _, k := range []scheduler.Kind{scheduler.Reduce, scheduler.Map} {
		for j := range v.Runnable(k).All() {
			if t, near, ok := v.PickTask(j, n, k); ok && v.Fits(n, j, k) {
				return scheduler.Run(t, near, scheduler.Reason{Say: "{job} is oldest", Job: j.ID()})
			}
		}
	}
	return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork, Say: "nothing for {node}", Node: n})
}

func (o *oldest) Kill(time.Duration, *scheduler.View) (v scheduler.Victim, ok bool) {
	if len(o.doomed) == 0 {
		return v, false
	}
	v, o.doomed = o.doomed[0], o.doomed[1:]
	return v, true
}

func (*oldest) Interval() time.Duration               { return time.Second }
func (o *oldest) Tick(time.Duration, *scheduler.View) { o.ticks++ }

// rig is a cluster of nodes with two containers each.
type rig struct {
	*Loop
	t     *testing.T
	lines []Line
	now   time.Duration
}

func newRig(t *testing.T, p scheduler.Policy, nodes int, cfg Config) *rig {
	t.Helper()
	r := &rig{t: t}
	topo := topology.NewBuilder()
	state, err := scheduler.NewState(topo.Topology(), scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Log = func(l *Line) { r.lines = append(r.lines, l.Clone()) }
	r.Loop = New(scheduler.NewEngine(state, p, nil), cfg)
	rack, err := topo.AddRack(topology.Rack{Name: "r"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		n, err := topo.AddNode(topology.Node{Name: fmt.Sprint("n", i), Rack: rack})
		if err != nil {
			t.Fatal(err)
		}
		r.NodeKnown(0, n)
		r.feed(scheduler.NodeUp(n, scheduler.Capacity{Containers: 2}))
	}
	return r
}

func (r *rig) feed(e scheduler.Event) {
	r.t.Helper()
	if err := r.Feed(r.now, e); err != nil {
		r.t.Fatal(err)
	}
}

// round returns the steps as words.
func (r *rig) round(parts Part) (string, error) {
	var out []string
	err := r.Round(r.now, Round{Parts: parts}, func(s Step) {
		w := fmt.Sprintf("%v %v@%d", s.Do, s.Task, s.Node)
		if s.Second {
			w += " second"
		}
		out = append(out, w)
	})
	return strings.Join(out, ", "), err
}

func (r *rig) want(parts Part, want string) {
	r.t.Helper()
	got, err := r.round(parts)
	if err != nil || got != want {
		r.t.Fatalf("at %v: %q, %v; want %q", r.now, got, err, want)
	}
}

func task(k scheduler.Kind, i int32) scheduler.TaskID {
	return scheduler.TaskID{Job: 1, Kind: k, Index: i}
}

// TestOneRound: the parts come in their order, and each sees what the ones before it decided.
func TestOneRound(t *testing.T) {
	p := &oldest{}
	r := newRig(t, p, 1, Config{})
	r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Maps: 3}))
	r.want(All, "start j1/map/0@-1, launch j1/map/0@0, launch j1/map/1@0")
	steps := r.lines[len(r.lines)-1].Steps
	if got := fmt.Sprintf("%v %d %s, %v %d %s", steps[1].Do, steps[1].Node, steps[1].Reason.Text(nil), steps[4].Do, steps[4].Node, steps[4].Reason.Text(nil)); got != "rest -1 no job waits for admission, rest 0 nothing for node 0" {
		t.Errorf("why nobody gets more, by the log: %s", got)
	}
	p.doomed = []scheduler.Victim{{Task: task(scheduler.Map, 1)}}
	r.feed(scheduler.TaskFinished(task(scheduler.Map, 0), 0, 0, 0, 0))
	p.doomed = append(p.doomed, scheduler.Victim{Task: task(scheduler.Map, 0), Node: topology.NoNode})
	r.want(All, "stop j1/map/1@0, forget j1/map/0@-1, launch j1/map/0@0, launch j1/map/1@0")
	if at, ok := r.NextTick(); p.ticks != 1 || !ok || at != time.Second {
		t.Errorf("%d ticks, the next at %v", p.ticks, at)
	}
}

// TestBrokenRules: a policy that names a full node, a task that runs, or a victim that is not there is told so; what
// the round decides otherwise stands.
func TestBrokenRules(t *testing.T) {
	p := &oldest{wrong: func(n topology.NodeID) (scheduler.Decision, bool) {
		return scheduler.Decision{OK: true, Task: task(scheduler.Map, 9)}, n == 0
	}}
	r := newRig(t, p, 2, Config{})
	r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Maps: 2}))
	p.doomed = []scheduler.Victim{{Task: task(scheduler.Map, 0), Node: 1}}
	got, err := r.round(All)
	if got != "start j1/map/0@-1, launch j1/map/0@1, launch j1/map/1@1" || !errors.Is(err, scheduler.ErrPolicy) {
		t.Fatalf("%q, %v", got, err)
	}
	for _, want := range []string{"j1/map/9 on node 0: no such task", "stops what is not there"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q says nothing of %q", err, want)
		}
	}
	if r.View().ClusterUsed().Tasks[scheduler.Map] != 2 {
		t.Error("the node whose decisions are right got nothing")
	}
}

// progress is a meter out of a table.
func progress(done map[int32]float64) Meter {
	return func(_ time.Duration, a scheduler.Attempt) (float64, bool) {
		p, ok := done[a.Task.Index]
		return p, ok
	}
}

// slow has four maps on two nodes, of which two ended after 10 s; at 20 s the others are a tenth and a half done, if no meter says
// otherwise.
func slow(t *testing.T, cfg Config) *rig {
	if cfg.Meter == nil {
		cfg.Meter = progress(map[int32]float64{2: 0.5, 3: 0.1})
	}
	r := newRig(t, &oldest{}, 2, cfg)
	r.now = time.Hour
	r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Maps: 4}))
	r.want(All, "start j1/map/0@-1, launch j1/map/0@0, launch j1/map/1@0, launch j1/map/2@1, launch j1/map/3@1")
	r.now += 10 * time.Second
	r.feed(scheduler.TaskFinished(task(scheduler.Map, 0), 0, 0, 0, 0))
	r.feed(scheduler.TaskFinished(task(scheduler.Map, 1), 0, 0, 0, 0))
	r.now += 10 * time.Second
	return r
}

// TestLATE: the attempt that would end last gets a second one, on another node; one that is expected to end soon none,
// and nobody gets a third.
func TestLATE(t *testing.T) {
	r := slow(t, Config{Seconds: LATE{After: time.Second, Slower: 1.5, Share: 1}})
	r.want(All, "launch j1/map/3@0 second, launch j1/map/2@0 second")
	r.want(All, "")
	r = slow(t, Config{Seconds: LATE{After: time.Second, Slower: 1.5, Share: 0.1}}) // one may always be
	r.want(All, "launch j1/map/3@0 second")
	r.want(All, "")
	r = slow(t, Config{Seconds: LATE{After: time.Minute, Slower: 1.5, Share: 1}})
	r.want(All, "")
	r = slow(t, Config{Seconds: LATE{After: time.Second, Slower: 4.5, Share: 1}})
	r.want(All, "launch j1/map/3@0 second") // 200 s against 40 s, of a mean of 10 s
	last := progress(map[int32]float64{2: 0.1, 3: 0.5})
	r = slow(t, Config{Seconds: LATE{After: 20 * time.Second, Slower: 1.5, Share: 1}, Meter: last})
	r.want(All, "launch j1/map/2@0 second, launch j1/map/3@0 second")
}

// TestSecondsElsewhere: no second attempt runs beside the first, nor where there is no room.
func TestSecondsElsewhere(t *testing.T) {
	for _, rule := range []Rule{LATE{Slower: 1.5, Share: 1}, Lag{Behind: 0.2, Cap: 1}} {
		r := slow(t, Config{Seconds: rule})
		r.feed(scheduler.NodeUpdated(1, scheduler.Capacity{Containers: 4}))
		r.feed(scheduler.NodeDraining(0))
		r.want(All, "")
		if err := r.Round(r.now, Round{Parts: All, Nodes: []topology.NodeID{1, 0}}, func(s Step) { t.Errorf("%v of %v on node %d", s.Do, s.Task, s.Node) }); err != nil {
			t.Error(err)
		}
	}
}

// TestSecondAlone: a second attempt of which the first has gone is as good as any, and may be late in its turn.
func TestSecondAlone(t *testing.T) {
	r := slow(t, Config{Seconds: LATE{After: time.Second, Slower: 1.5, Share: 1}})
	r.want(All, "launch j1/map/3@0 second, launch j1/map/2@0 second")
	r.feed(scheduler.TaskKilled(task(scheduler.Map, 3), 1))
	r.now += 40 * time.Second
	r.want(All, "launch j1/map/3@1 second")
}

// TestLag: the least progress of a kind, if it is behind the average by enough.
func TestLag(t *testing.T) {
	r := slow(t, Config{Seconds: Lag{After: time.Second, Behind: 0.2, Cap: 1}})
	r.want(All, "launch j1/map/3@0 second") // average 0.65
	r.want(All, "")                         // nobody gets a third
	r = slow(t, Config{Seconds: Lag{After: 20 * time.Second, Behind: 0.2, Cap: 1}})
	r.want(All, "launch j1/map/3@0 second")
	r = slow(t, Config{Seconds: Lag{After: 21 * time.Second, Behind: 0.2, Cap: 1}})
	r.want(All, "")
	r = slow(t, Config{Seconds: Lag{After: time.Second, Behind: 0.6, Cap: 1}})
	r.want(All, "")
	r = slow(t, Config{Seconds: Lag{After: time.Second, Behind: 0.2, Cap: 0.2}}) // of 4 containers
	r.want(All, "")
	r = slow(t, Config{Seconds: Lag{After: time.Second, Behind: 0.2, Cap: 1}})
	r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 2, Maps: 1, MapDemand: scheduler.Demand{Slots: 3}}))
	r.want(Admit, "start j2/map/0@-1")
	r.want(All, "") // a map waits: first things first
}

// TestRefill: reduces hold all room while their maps wait. The newest gives way; with Refill the room goes to a map,
// without it the policy decides.
func TestRefill(t *testing.T) {
	for refill, want := range map[bool]string{
		true: "stop j1/reduce/1@0, launch j1/map/0@0", false: "stop j1/reduce/1@0",
	} {
		r := newRig(t, &oldest{}, 1, Config{Refill: refill})
		r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Maps: 1, Reduces: 2, Slowstart: -1}))
		r.want(All, "start j1/map/0@-1, launch j1/reduce/0@0, launch j1/reduce/1@0, "+want)
	}
}

// TestSpread: six drivers wait, and the first of three nodes asks. With Spread the nodes take them in turn, and
// the last place that a task could have stays free; without it the node that asks takes all it can.
func TestSpread(t *testing.T) {
	for spread, want := range map[bool][]int{true: {2, 2, 1}, false: {2, 0, 0}} {
		r := newRig(t, &oldest{}, 3, Config{Spread: spread})
		for id := range scheduler.JobID(6) {
			r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: id, Maps: 1, HasDriver: true}))
		}
		if _, err := r.round(Admit); err != nil {
			t.Fatal(err)
		}
		got := make([]int, 3)
		var at []topology.NodeID
		err := r.Round(r.now, Round{Parts: Offer, Nodes: []topology.NodeID{0}}, func(s Step) {
			if s.Do == Launch && s.Task.Kind == scheduler.Driver {
				got[s.Node]++
				at = append(at, s.Node)
			}
		})
		if err != nil || !slices.Equal(got, want) || spread && !slices.Equal(at[:3], []topology.NodeID{0, 1, 2}) {
			t.Errorf("spread %v: %v in the order %v, %v; want %v", spread, got, at, err, want)
		}
		if err := Replay(scheduler.DefaultConfig(), Config{Spread: spread}, &oldest{}, nil, r.lines); err != nil {
			t.Error(err)
		}
		if err := Replay(scheduler.DefaultConfig(), Config{Spread: !spread}, &oldest{}, nil, r.lines); err == nil {
			t.Errorf("spread %v: replayed without it, the decisions are the same", spread)
		}
	}
}

// TestDriversLeavePartitions: where the other node is busy with tasks, the second driver waits for it: it would have the last place
// of this one, where a policy may want all tasks of small jobs.
func TestDriversLeavePartitions(t *testing.T) {
	r := newRig(t, &oldest{}, 2, Config{Spread: true})
	r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Maps: 2}))
	r.want(Admit, "start j1/map/0@-1")
	if err := r.Round(r.now, Round{Parts: Offer, Nodes: []topology.NodeID{1}}, func(Step) {}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []scheduler.JobID{2, 3} {
		r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: id, Maps: 1, HasDriver: true}))
	}
	r.want(Admit|Offer, "start j2/map/0@-1, start j3/map/0@-1, launch j2/driver/0@0")
	r.feed(scheduler.TaskFinished(task(scheduler.Map, 0), 1, 0, 0, 0))
	r.want(Offer, "launch j3/driver/0@1")
}

// TestSpreadGoesOn: a driver that waits for its user's limit keeps nobody else from a place.
func TestSpreadGoesOn(t *testing.T) {
	r := newRig(t, &oldest{}, 2, Config{Spread: true})
	r.feed(scheduler.UserLimit("ann", 2))
	for id, user := range []string{"ann", "ann", "bob"} {
		r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: scheduler.JobID(id), User: user, Maps: 1, HasDriver: true}))
	}
	r.want(Admit|Offer, "start j0/map/0@-1, start j1/map/0@-1, start j2/map/0@-1, launch j0/driver/0@0, launch j2/driver/0@1")
}

// TestReplayNotices: the log of a driver, replayed, says the same; with a line changed it does not.
func TestReplayNotices(t *testing.T) {
	rule := LATE{After: time.Second, Slower: 1.5, Share: 1}
	r := slow(t, Config{Seconds: rule})
	r.want(All, "launch j1/map/3@0 second, launch j1/map/2@0 second")
	again := func() error {
		return Replay(scheduler.DefaultConfig(), Config{Seconds: rule}, &oldest{}, nil, r.lines)
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
	last := &r.lines[len(r.lines)-1]
	last.Asked[0].Done = 0.99
	if err := again(); err == nil || !strings.Contains(err.Error(), "the log says") {
		t.Errorf("another progress, the same second attempts: %v", err)
	}
	last.Asked[0].Done = 0.1
	for name, change := range map[string]func(*Step){
		"another node":     func(s *Step) { s.Node = 1 },
		"another task":     func(s *Step) { s.Task.Index = 2 },
		"a first attempt":  func(s *Step) { s.Second = false },
		"another distance": func(s *Step) { s.Locality = scheduler.NodeLocal },
		"an end":           func(s *Step) { s.Do = Stop },
	} {
		was := last.Steps[0]
		change(&last.Steps[0])
		if err := again(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("line %d at %v", len(r.lines), r.now)) {
			t.Errorf("%s was not noticed: %v", name, err)
		}
		last.Steps[0] = was
	}
}

// TestRules: rules with values that mean nothing are refused.
func TestRules(t *testing.T) {
	for _, bad := range []Rule{
		LATE{Share: 2}, LATE{Share: -1}, LATE{After: -1}, LATE{Slower: -1}, Lag{Cap: 2}, Lag{Cap: -1}, Lag{Behind: -1}, Lag{Behind: 2}, Lag{After: -1},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
	for _, good := range []Rule{DefaultLATE(), DefaultLag(), LATE{}, LATE{Share: 1}, Lag{}, Lag{Behind: 1, Cap: 1}} {
		if err := good.Validate(); err != nil {
			t.Error(err)
		}
	}
}
