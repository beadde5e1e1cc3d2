package tracker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/topology"
)

// gated is a policy that holds shuffles back until it is opened.
type gated struct {
	scheduler.Policy
	open  bool
	avail int64 // as asked last
}

func (g *gated) Release(_ time.Duration, _ scheduler.JobID, _, _ topology.RackID, avail int64, _ *scheduler.View) bool {
	g.avail = avail
	return g.open
}

// holding has a job of four maps done, two in each rack, and a reduce in each, under a policy that holds shuffles back.
func holding(t *testing.T) (*scene, *gated) {
	t.Helper()
	fifo, err := policies.Policy("fifo", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, g := newScene(t, 4, 1), &gated{Policy: fifo}
	s.c.SetPolicy(s.now, g)
	s.n0.room = 2
	s.say(s.n0)
	for range 2 {
		s.finish(s.n1, 1)
		s.finish(s.n0, 1)
	}
	s.say(s.n0)
	s.say(s.n1)
	if len(s.n0.running) != 2 || len(s.n1.running) != 1 {
		t.Fatalf("%v and %v run", s.n0.running, s.n1.running)
	}
	return s, g
}

// seen is what a reduce on a worker may fetch: of each map, where it lies.
func (s *scene) seen(h *hand, r wire.OutputsRequest) (nodes map[wire.NodeName]int, resp wire.OutputsResponse) {
	r.StageRef, r.Node = wire.StageRef{Job: s.job}, h.name
	resp, nodes = s.c.Outputs(r), map[wire.NodeName]int{}
	for _, o := range resp.Changes {
		if !o.Lost {
			nodes[o.Node]++
		}
	}
	return nodes, resp
}

func TestShufflesAreHeld(t *testing.T) {
	s, g := holding(t)
	nodes, resp := s.seen(s.n1, wire.OutputsRequest{})
	if nodes["n1"] != 2 || nodes["n0"] != 0 || resp.All {
		t.Errorf("a reduce of r1 may fetch %v, all: %v; the other rack's output is held", nodes, resp.All)
	}
	if g.avail != 1000 { // two outputs of 1000 bytes, half of them for the reduce there
		t.Errorf("the policy was asked about %d bytes", g.avail)
	}
	s.c.Take()
	g.open = true
	s.pass(1200 * time.Millisecond)
	more, after := s.seen(s.n1, wire.OutputsRequest{From: resp.Next, Epoch: resp.Epoch})
	if more["n0"] != 2 || len(after.Changes) != 2 || !after.All {
		t.Errorf("then it may fetch %v, all: %v", more, after.All)
	}
	if out := s.c.Take(); len(out.Changed) == 0 {
		t.Error("nobody is told")
	}
}

// TestHeldOutputThatIsLost: a map whose output is held runs again in the reduce's rack; what it had put out is never heard of
// again, or the reduce would take the new output for lost.
func TestHeldOutputThatIsLost(t *testing.T) {
	s, g := holding(t)
	if nodes, _ := s.seen(s.n0, wire.OutputsRequest{}); nodes["n1"] != 0 {
		t.Fatalf("a reduce of r0 may fetch %v", nodes)
	}
	st := s.c.jobs[s.job].current()
	for i := range st.maps {
		if s.c.nodes[st.maps[i].node].name == "n1" {
			s.c.loseOutput(s.now, st, int32(i), "the disk is bad")
			break
		}
	}
	s.n0.room = 3
	s.say(s.n0)
	s.finish(s.n0, 1)
	g.open = true
	s.pass(1200 * time.Millisecond)
	_, resp := s.seen(s.n0, wire.OutputsRequest{})
	want := map[int32]bool{}
	for _, o := range resp.Changes { // as a reduce follows them
		if want[o.Map] = !o.Lost; o.Lost {
			delete(want, o.Map)
		}
	}
	if len(want) != 4 {
		t.Errorf("a reduce of r0 knows of %v, from %+v", want, resp.Changes)
	}
}

// TestToldBeforeItIsHeld: what a reduce knew before the policy held anything it is not told again, and it may ask for what comes after.
func TestToldBeforeItIsHeld(t *testing.T) {
	s, g := holding(t)
	st := s.c.jobs[s.job].current()
	s.c.SetPolicy(s.now, g.Policy)
	st.outlets = nil // as if nothing had been held so far
	_, resp := s.seen(s.n1, wire.OutputsRequest{})
	if len(resp.Changes) != 4 || !resp.All {
		t.Fatalf("nothing is held: %+v", resp)
	}
	s.c.SetPolicy(s.now, g)
	s.pass(1200 * time.Millisecond)
	if _, again := s.seen(s.n1, wire.OutputsRequest{From: resp.Next, Epoch: resp.Epoch}); len(again.Changes) != 0 || again.Next != resp.Next || !again.All {
		t.Errorf("then %+v", again)
	}
}

// TestListsOfAnotherMaster: what was let go was let go in the order of a master that is gone; a reduce that counts by its list begins anew.
func TestListsOfAnotherMaster(t *testing.T) {
	s, _ := holding(t)
	_, resp := s.seen(s.n1, wire.OutputsRequest{From: 1, Epoch: s.c.cfg.Epoch + 1})
	if len(resp.Changes) != 2 || resp.Epoch != s.c.cfg.Epoch {
		t.Errorf("%+v", resp)
	}
}

// TestAnnouncementsLast: what was announced, and why it is planned as it is, is known after a restart, from the records and from a snapshot; a job finds the
// announcement of its name, and takes it along when it ends.
func TestAnnouncementsLast(t *testing.T) {
	s := newScene(t, 1, 1)
	corral, err := policies.Policy("corral", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.c.SetPolicy(s.now, corral)
	spec := func(name string) wire.JobSpec {
		return wire.JobSpec{
			Name: name, User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}, Recurring: true,
			Expect: wire.Expected{Maps: 4, Reduces: 1, Shuffle: 1e9, MapMillis: 10, ReduceMillis: 10},
		}
	}
	records := s.c.Take().Records
	if err := s.c.Expect(s.now, []wire.JobSpec{spec("a"), spec("b")}); err != nil {
		t.Fatal(err)
	}
	if err := s.c.Expect(s.now, []wire.JobSpec{spec("b")}); err != nil { // once more
		t.Fatal(err)
	}
	if p := s.c.Plans(); !p.Planner || len(p.Plans) != 2 || len(p.Plans[0].MapRacks) == 0 || p.Plans[0].Why != "" || p.Plans[0].Reason == "" {
		t.Errorf("%+v", p)
	}
	why := s.c.Plans().Plans[0].Reason
	id, err := s.c.Submit(s.now, spec("a"))
	if err != nil {
		t.Fatal(err)
	}
	records = append(records, s.c.Take().Records...)
	for what, list := range map[string][]Record{"records": records, "snapshot": s.c.Snapshot(s.now)} {
		c := restarted(t, list)
		if p := c.Plans().Plans; len(p) != 2 || p[0].Name != "a" || p[0].Job != id || p[1].Name != "b" || p[1].Job != "" || p[0].Reason != why || p[0].Why == "" {
			t.Errorf("from its %s: %+v, planned because %s", what, p, why)
		}
	}
	if err := s.c.Drop(s.now, "b", "ann"); err != nil {
		t.Error(err)
	}
	if err := s.c.Kill(s.now, id, "enough"); err != nil {
		t.Error(err)
	}
	if p := s.c.Plans().Plans; len(p) != 0 {
		t.Errorf("%+v are left", p)
	}
	for _, bad := range []wire.Expected{{Shuffle: -1}, {Shuffle: 1e18}, {MapMillis: 1e18}, {InMillis: -1}, {InMillis: 1e9}} {
		x := spec("x")
		x.Expect = bad
		if err := s.c.Expect(s.now, []wire.JobSpec{x}); wire.KindOf(err) != wire.Invalid || len(s.c.Plans().Plans) != 0 {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	many := make([]wire.JobSpec, maxExpectedUser+1)
	for i := range many {
		many[i] = spec(fmt.Sprint("many", i))
	}
	if err := s.c.Expect(s.now, many); wire.KindOf(err) != wire.Quota || len(s.c.Plans().Plans) != 0 {
		t.Errorf("one user takes too many places: %v, %d plans", err, len(s.c.Plans().Plans))
	}
	if err := s.c.Expect(s.now, many[1:]); err != nil {
		t.Error(err)
	}
	bobs := spec("bob's")
	bobs.User = "bob"
	if err := s.c.Expect(s.now, []wire.JobSpec{bobs}); err != nil {
		t.Errorf("no place is left for others: %v", err)
	}
}

// TestAnnouncedJobsHaveTheirTimes: jobs that fill the cluster are planned beside each other where they come together, and each for all
// racks where the second comes when the first has ended; a restart does not change when it comes.
func TestAnnouncedJobsHaveTheirTimes(t *testing.T) {
	racks := func(in int64) (first, second []string) {
		s := newScene(t, 1, 1)
		corral, err := policies.Policy("corral", nil)
		if err != nil {
			t.Fatal(err)
		}
		s.c.SetPolicy(s.now, corral)
		records, list := s.c.Take().Records, []wire.JobSpec{}
		for i, name := range []string{"a", "b"} {
			list = append(list, wire.JobSpec{
				Name: name, User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}, Recurring: true,
				Expect: wire.Expected{Maps: 2, Reduces: 1, Shuffle: 1e6, MapMillis: 1000, ReduceMillis: 1000, InMillis: int64(i) * in},
			})
		}
		if err := s.c.Expect(s.now, list); err != nil {
			t.Fatal(err)
		}
		c := restarted(t, append(records, s.c.Take().Records...))
		if e := c.plans.expected[1]; c.foreseen(s.now, e).Submit != s.now+time.Duration(in)*time.Millisecond {
			t.Errorf("after a restart %s comes at %v", e.spec.Name, c.foreseen(s.now, e).Submit)
		}
		p := s.c.Plans().Plans
		return p[0].MapRacks, p[1].MapRacks
	}
	if a, b := racks(0); len(a) != 1 || len(b) != 1 || a[0] == b[0] {
		t.Errorf("jobs that come together are planned for %v and %v", a, b)
	}
	if a, b := racks(600_000); len(a) != 2 || !slices.Equal(a, b) {
		t.Errorf("jobs that come ten minutes apart are planned for %v and %v", a, b)
	}
}

// TestCircuitsAreShown: the network has the circuits that workers told of last, and when they are matched anew, which goes on by itself.
func TestCircuitsAreShown(t *testing.T) {
	c := newCore(t)
	c.Resume(0)
	c.cfg.Links.Optical = topology.OCS{Rate: topology.Mbps(100), Interval: 500 * time.Millisecond, Reconfig: 10 * time.Millisecond, Threshold: 1}
	tell := func(node, rack string, seq uint64, circuit *wire.Circuit) {
		r := &wire.Report{Node: wire.NodeName(node), Session: "s", Seq: seq, Rack: rack, Addr: node, Idle: -1, Capacity: wire.Capacity{Containers: 1}, Full: true, Circuit: circuit}
		if _, err := c.Report(time.Second, r, 1<<62); err != nil {
			t.Fatal(err)
		}
	}
	tell("n1", "r1", 1, &wire.Circuit{To: "r2", NextMillis: 200})
	tell("n2", "r1", 1, nil) // has never sent there, and does not know its name
	tell("n3", "r2", 1, &wire.Circuit{NextMillis: 200})
	c.watchNet(time.Second)
	if net := c.Net(1100 * time.Millisecond); net.CircuitMillis != 500 || net.RematchMillis != 100 || net.Racks[0].Circuit != "r2" || net.Racks[1].Circuit != "" {
		t.Errorf("%+v", net)
	}
	for at, want := range map[time.Duration]int64{2500: 200, 1199: 1, 1200: 500, 1700: 500, 1701: 499} { // 1.2, 1.7, 2.2, 2.7
		if net := c.Net(at * time.Millisecond); net.RematchMillis != want {
			t.Errorf("at %d ms they are matched anew in %d ms, want %d", at, net.RematchMillis, want)
		}
	}
	tell("n1", "r1", 2, &wire.Circuit{NextMillis: 400})
	tell("n2", "r1", 2, &wire.Circuit{To: "r2", NextMillis: 100}) // it is of before
	if net := c.Net(time.Second); net.Racks[0].Circuit != "" {
		t.Errorf("r1 has no circuit any more, and is shown with one to %q", net.Racks[0].Circuit)
	}
	c.cfg.Links.Optical = topology.OCS{}
	if net := c.Net(time.Second); net.CircuitMillis != 0 || net.RematchMillis != 0 {
		t.Errorf("without a switch: %+v", net)
	}
}

// TestWhyThereIsNoPlan: an announced job without a plan says what is missing, and goes on saying it when it has begun.
func TestWhyThereIsNoPlan(t *testing.T) {
	for want, known := range map[string]wire.Expected{
		"how many maps": {Shuffle: 1e9, MapMillis: 10, ReduceMillis: 10},
		"how long":      {Maps: 4, Reduces: 1, Shuffle: 1e9, MapMillis: 10},
		"shuffles":      {Maps: 4, Reduces: 1, MapMillis: 10, ReduceMillis: 10},
	} {
		s := newScene(t, 1, 4)
		corral, err := policies.Policy("corral", nil)
		if err != nil {
			t.Fatal(err)
		}
		s.c.SetPolicy(s.now, corral)
		spec := wire.JobSpec{Name: "a", User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}, Recurring: true, Expect: known}
		if err := s.c.Expect(s.now, []wire.JobSpec{spec}); err != nil {
			t.Fatal(err)
		}
		if p := s.c.Plans().Plans; len(p) != 1 || !strings.Contains(p[0].Why, want) {
			t.Errorf("%+v, want %q", p, want)
		}
		if known.Maps == 0 {
			continue // a job that has begun has maps
		}
		id, err := s.c.Submit(s.now, spec)
		if err != nil {
			t.Fatal(err)
		}
		s.say(s.n1)
		if _, err := s.c.Plan(s.now, runningDriver(s.c, id), &wire.StagePlan{Splits: splitsOf(4), Reducers: 1}); err != nil {
			t.Fatal(err)
		}
		if p := s.c.Plans().Plans; len(p) != 1 || p[0].Job != id || !strings.HasPrefix(p[0].Why, "it began without a plan: ") || !strings.Contains(p[0].Why, want) {
			t.Errorf("after it began: %+v, want %q", p, want)
		}
	}
}
