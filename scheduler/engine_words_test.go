package scheduler

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/topology"
)

// clock is an admission with periodic work.
type clock struct {
	ticking
	judging
}

func (c *clock) Observe(now time.Duration, e Event, v *View) { c.ticking.Observe(now, e, v) }

// TestTicksOfBoth: admission and policy have periods of their own, the next tick is the nearer one, and who stops wanting them, before one
// or in it, is not waited for.
func TestTicksOfBoth(t *testing.T) {
	for name, c := range map[string]struct {
		admission, policy time.Duration
		at                []time.Duration
		want              string // the next tick, by at
		admitted, decided string // ticks
	}{
		"admission is quicker": {2, 5, []time.Duration{0, 2, 4, 6}, "[2 4 5 8]", "[0s 2s 4s 6s]", "[0s 6s]"},
		"policy is quicker":    {5, 2, []time.Duration{0, 2, 4, 6}, "[2 4 5 8]", "[0s 6s]", "[0s 2s 4s 6s]"},
		"both at once":         {3, 3, []time.Duration{0, 2, 3}, "[3 3 6]", "[0s 3s]", "[0s 3s]"},
		"no policy":            {3, 0, []time.Duration{0, 3}, "[3 6]", "[0s 3s]", "[]"},
		"no admission":         {-1, 3, []time.Duration{0, 3}, "[3 6]", "[]", "[0s 3s]"},
		"neither":              {0, 0, []time.Duration{0, 3}, "[- -]", "[]", "[]"},
	} {
		a, p := &clock{ticking: ticking{every: c.admission * time.Second}}, &ticking{every: c.policy * time.Second}
		g := newTestEngine(t, 1, 1, Capacity{MapSlots: 1}, p)
		g.SetAdmission(0, a)
		var got []string
		for _, now := range c.at {
			next, ok := g.Tick(now * time.Second)
			got = append(got, map[bool]string{true: fmt.Sprint(next.Seconds()), false: "-"}[ok])
		}
		if fmt.Sprint(got) != c.want || fmt.Sprint(a.at) != c.admitted || fmt.Sprint(p.at) != c.decided {
			t.Errorf("%s: next %v, admission at %v, policy at %v", name, got, a.at, p.at)
		}
	}
}

// lapsing wants no further tick after its first.
type lapsing struct{ ticking }

func (l *lapsing) Tick(now time.Duration, v *View) {
	l.ticking.Tick(now, v)
	l.every = 0
}

// TestTakesOver: an admission that takes over is shown what is there, ticks at once, and decides; one that wants no more ticks gets none.
func TestTakesOver(t *testing.T) {
	p := &lapsing{ticking{every: time.Second}}
	g := newTestEngine(t, 1, 2, Capacity{Containers: 4}, p)
	mustFeed(t, g, NodeDown(1))
	mustSubmit(t, g, &JobSpec{ID: 1, Maps: 1})
	mustSubmit(t, g, &JobSpec{ID: 2, HasDriver: true, Maps: 1, Reduces: 1, Slowstart: -1})
	mustFeed(t, g, Launched(TaskID{Job: 2, Kind: Driver}, 0, Anywhere, false))
	mustFeed(t, g, JobReady(2, nil))
	mustFeed(t, g, Launched(TaskID{Job: 2, Kind: Reduce}, 0, Anywhere, false))
	mustFeed(t, g, JobSubmitted(&JobSpec{ID: 3, Maps: 1}))
	if next, ok := g.Tick(0); ok {
		t.Errorf("the next tick of who wants none is at %v", next)
	}
	early, late := &clock{ticking: ticking{every: time.Minute}}, &clock{ticking: ticking{every: time.Minute}}
	for i, a := range []*clock{early, late} {
		g.SetAdmission(0, a)
		if next, ok := g.Tick(time.Duration(i)); !ok || next != time.Minute+time.Duration(i) || len(a.at) != 1 {
			t.Errorf("admission %d ticked at %v, and ticks at %v (%v) next", i, a.at, next, ok)
		}
		want := "[node-up job-submitted job-admitted job-submitted job-admitted job-ready launched launched job-submitted]"
		if got := fmt.Sprint(a.seen); got != want {
			t.Errorf("shown %s, want %s", got, want)
		}
	}
	if g.Admission() != late || g.Policy() != p {
		t.Error("others decide")
	}
	late.seen = nil
	if admit(t, g); g.View().Job(3).Phase() != Ready || fmt.Sprint(late.seen) != "[job-admitted]" || g.View().Job(2).Phase() != Ready {
		t.Errorf("job 3 is %v, shown %v", g.View().Job(3).Phase(), late.seen)
	}
	g.SetAdmission(0, nil)
	mustFeed(t, g, JobSubmitted(&JobSpec{ID: 4, Maps: 1}))
	if admit(t, g); g.View().Job(4).Phase() != Ready {
		t.Error("nobody admits, and a job waits")
	}
}

// stubborn admits, or rejects, the same job for ever.
type stubborn struct {
	judging
	d AdmitDecision
}

func (s *stubborn) Admit(time.Duration, *View) AdmitDecision { return s.d }

// TestAdmissionThatErrs: to decide about a job that does not wait ends the round with a policy error, rather than never; who is rejected
// is gone.
func TestAdmissionThatErrs(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 1}, nil)
	mustFeed(t, g, JobSubmitted(&JobSpec{ID: 1, Maps: 1}))
	for i, d := range []AdmitDecision{{Verdict: Reject, Job: 1}, {Verdict: Admit, Job: 1}, {Verdict: Admit, Job: 9}} {
		g.SetAdmission(0, &stubborn{d: d})
		var told int
		if _, err := g.Admit(0, func(AdmitDecision) { told++ }); !errors.Is(err, ErrPolicy) || told != max(0, 1-i) {
			t.Errorf("%+v: %v, told of %d", d, err, told)
		}
	}
	if j := g.View().Job(1); j.Phase() != Ended {
		t.Error("a rejected job lives")
	}
}

// TestReturned: a job that came before a restart has been waiting since then, one that says it came later since now; one that was ready
// is not judged again.
func TestReturned(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{Containers: 4}, nil)
	g.SetAdmission(0, &judging{})
	for id, e := range []Event{
		JobReturned(&JobSpec{ID: 0, Maps: 1, HasDriver: true, Submit: 3 * time.Second}),
		JobReturned(&JobSpec{ID: 1, Maps: 1, HasDriver: true, Submit: time.Hour}),
		JobSubmitted(&JobSpec{ID: 2, Maps: 1, HasDriver: true, Submit: 3 * time.Second}),
	} {
		if err := g.Feed(time.Minute, e); err != nil {
			t.Fatal(err)
		}
		if got, want := g.View().Job(JobID(id)).Submitted(), []time.Duration{3 * time.Second, time.Minute, time.Minute}[id]; got != want {
			t.Errorf("job %d came at %v, want %v", id, got, want)
		}
	}
	if err := g.Feed(0, Event{Kind: EvJobSubmitted, Flag: true}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a job without a spec returned: %v", err)
	}
	admit(t, g)
	mustFeed(t, g, JobResumed(0, &JobSpec{ID: 0, Maps: 2}))
	mustFeed(t, g, JobReady(1, &JobSpec{ID: 1, Maps: 2}))
	mustFeed(t, g, JobReady(2, nil))
	for id, want := range []Phase{Ready, Admitted, Ready} {
		if got := g.View().Job(JobID(id)).Phase(); got != want {
			t.Errorf("job %d is %v, want %v: the admission holds all that it judges", id, got, want)
		}
	}
}

// telling is greedy and says why.
type telling struct {
	greedy
	judging
}

func (*telling) Observe(time.Duration, Event, *View) {}

func (*telling) Explain(_ time.Duration, id JobID, _ *View) Reason {
	return Reason{Code: Behind, Say: "{job} is told", Job: id}
}

// TestExplain: who waits is told why by who can tell: what is wrong with itself first, then its user's limit, then the policy.
func TestExplain(t *testing.T) {
	ann := func(limit int32) []Event { return []Event{UserLimit("ann", limit)} }
	full := []Event{JobSubmitted(&JobSpec{ID: 7, User: "ann", Maps: 2}), JobAdmitted(7), Launched(TaskID{Job: 7}, 0, Remote, false), Launched(TaskID{Job: 7, Index: 1}, 0, Remote, false)}
	driven := []Event{JobSubmitted(&JobSpec{ID: 7, HasDriver: true, Maps: 1}), JobAdmitted(7), Launched(TaskID{Job: 7, Kind: Driver}, 0, Anywhere, false)}
	ready := JobAdmitted(1)
	for _, tc := range []struct {
		name   string
		policy Policy
		spec   JobSpec
		room   int32
		before []Event
		after  []Event
		want   string
	}{
		{"waits for admission", &telling{}, JobSpec{Maps: 1}, 2, nil, nil, "j1 waits for admission"},
		{"too large", &telling{}, JobSpec{Maps: 1, MapDemand: Demand{Slots: 3}}, 2, nil, []Event{ready}, "asks for 3 slots"},
		{"the policy tells", &telling{}, JobSpec{Maps: 1}, 2, full, []Event{ready}, "j1 is told"},
		{"nobody tells", &greedy{}, JobSpec{Maps: 3, Reduces: 2}, 2, full, []Event{ready}, "j1 waits for room: 3 maps and 2 reduces pending"},
		{"all runs", &greedy{}, JobSpec{Maps: 1}, 2, nil, []Event{ready, Launched(TaskID{Job: 1}, 0, Remote, false)}, "j1 has nothing to assign: 1 maps and 0 reduces run"},
		{"its user is at the limit", &telling{}, JobSpec{Maps: 3, User: "ann"}, 4, append(full, ann(2)...), []Event{ready}, "j1 waits: user ann holds 2 of at most 2 containers"},
		{"its user is below the limit", &telling{}, JobSpec{Maps: 3, User: "ann"}, 4, append(full, ann(3)...), []Event{ready}, "j1 is told"},
		{"only its reduces are at the limit", &telling{}, JobSpec{Maps: 3, Reduces: 1, User: "ann", Slowstart: -1}, 4, append(full, ann(3)...), []Event{ready}, "j1 is told"},
		{"its driver is at the limit", &telling{}, JobSpec{Maps: 3, HasDriver: true, User: "ann"}, 4, append(full, ann(2)...), []Event{ready}, "j1 waits: user ann holds 2 of at most 2 containers"},
		{"its driver has room", &telling{}, JobSpec{Maps: 1, HasDriver: true}, 4, nil, []Event{ready}, "j1 waits for its driver"},
		{"tasks hold all room", &telling{}, JobSpec{Maps: 1, HasDriver: true}, 2, full, []Event{ready}, "j1 waits for its driver: all room is taken"},
		{"drivers hold all room but a task's", &telling{}, JobSpec{Maps: 1, HasDriver: true}, 2, driven, []Event{ready}, "j1 waits for its driver: 1 run, and one more would take the last room"},
		{"no room for driver and task", &telling{}, JobSpec{Maps: 1, HasDriver: true}, 1, nil, []Event{ready}, "no room for a driver and a task beside it"},
		{"banned where room is", &telling{}, JobSpec{Maps: 1, HasDriver: true}, 2, nil, []Event{ready, Ban(1, 0)}, "no room for a driver and a task beside it"},
		{"the node takes nothing", &telling{}, JobSpec{Maps: 1, HasDriver: true}, 2, nil, []Event{ready, NodeDraining(0)}, "no room for a driver and a task beside it"},
	} {
		g := newTestEngine(t, 1, 1, Capacity{Containers: tc.room}, tc.policy)
		tc.spec.ID = 1
		for _, e := range append(append(tc.before[:len(tc.before):len(tc.before)], JobSubmitted(&tc.spec)), tc.after...) {
			mustFeed(t, g, e)
		}
		got := g.Explain(0, 1).Text(g.View())
		if whole := strings.HasPrefix(tc.want, "j1"); !strings.Contains(got, tc.want) || whole && !strings.HasPrefix(got, tc.want) || tc.want == "j1 waits for its driver" && got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	g := newTestEngine(t, 1, 1, Capacity{Containers: 1}, nil)
	g.SetAdmission(0, &telling{})
	mustFeed(t, g, JobSubmitted(&JobSpec{ID: 1, Maps: 1}))
	if got := g.Explain(0, 1).Text(nil); got != "j1 is told" {
		t.Errorf("an admission that can tell: %s", got)
	}
	if got := g.Explain(0, 2).Text(nil); got != "j2 is not an unfinished job" {
		t.Errorf("no such job: %s", got)
	}
}

// TestUnits: a node of processors and memory has room for as many tasks as fit both, and a place of each kind is one that is free.
func TestUnits(t *testing.T) {
	unit := DefaultConfig().Unit
	for _, tc := range []struct {
		c    Capacity
		used Usage
		want int32
	}{
		{Capacity{}, Usage{}, 0},
		{Capacity{VCores: 5 * unit.VCores}, Usage{VCores: 2 * unit.VCores}, 3},
		{Capacity{MemoryMB: 5*unit.MemoryMB - 1}, Usage{MemoryMB: unit.MemoryMB}, 3},
		{Capacity{VCores: 9 * unit.VCores, MemoryMB: 2 * unit.MemoryMB}, Usage{}, 2},
		{Capacity{VCores: 2 * unit.VCores, MemoryMB: 9 * unit.MemoryMB}, Usage{}, 2},
		{Capacity{VCores: unit.VCores}, Usage{VCores: 3 * unit.VCores}, 0}, // its room has shrunk
		{Capacity{Containers: 2}, Usage{Slots: [NumKinds]int32{1, 1, 1}}, 0},
		{Capacity{MapSlots: 1, ReduceSlots: 1}, Usage{Slots: [NumKinds]int32{2, 2}}, 0},
	} {
		for k := Map; k <= Reduce; k++ {
			if got := tc.c.free(&tc.used, k, unit); got != tc.want {
				t.Errorf("%+v beside %+v: %d %vs are free, want %d", tc.c, tc.used, got, k, tc.want)
			}
		}
		if got := tc.c.Slots(Map, unit); tc.used == (Usage{}) && got != tc.want {
			t.Errorf("%+v has %d places, want %d", tc.c, got, tc.want)
		}
	}
	for d, want := range map[Demand]Demand{
		{}:                        {Slots: 1, VCores: 2, MemoryMB: 3},
		{Slots: 4}:                {Slots: 4, VCores: 2, MemoryMB: 3},
		{VCores: 5, MemoryMB: 6}:  {Slots: 1, VCores: 5, MemoryMB: 6},
		{Slots: -1, MemoryMB: -1}: {Slots: 1, VCores: 2, MemoryMB: 3},
	} {
		if got := d.or(Demand{VCores: 2, MemoryMB: 3}); got != want {
			t.Errorf("%+v is %+v, want %+v", d, got, want)
		}
	}
	for want, room := range map[int32]Totals{7: {Slots: [NumKinds]int32{7, 7, 7}}, 5: {Slots: [NumKinds]int32{3, 2, 0}}} {
		if got := room.Places(); got != want {
			t.Errorf("%+v: %d places, want %d", room, got, want)
		}
	}
}

// TestUsualParams: what is usual is added to what is given, unless that makes no sense beside it; what is given wins, in any letters.
func TestUsualParams(t *testing.T) {
	var got struct {
		a, b float64
	}
	i := Info{
		Name: "p", Usual: map[string]string{"a": "1"}, UsualUnless: []string{"not-a"}, Live: map[string]string{"b": "2"}, LiveUnless: []string{"not-b"},
		Setup: Bind(func() struct{ a, b float64 } { return struct{ a, b float64 }{7, 8} },
			func(c *struct{ a, b float64 }) []Param {
				return []Param{Float(&c.a, "a", "", ""), Float(&c.b, "b", "", "").In(0, 10)}
			},
			func(c struct{ a, b float64 }) (*int, error) {
				if got = c; c.a == c.b {
					return nil, errors.New("a is b")
				}
				return new(int), nil
			}),
	}
	for _, tc := range []struct{ given, usual, live map[string]string }{
		{nil, map[string]string{"a": "1"}, map[string]string{"a": "1", "b": "2"}},
		{map[string]string{"A": "3"}, map[string]string{"A": "3"}, map[string]string{"A": "3", "b": "2"}},
		{map[string]string{"Not-A": "3"}, map[string]string{"Not-A": "3"}, map[string]string{"Not-A": "3", "b": "2"}},
		{map[string]string{"not-b": "3"}, map[string]string{"not-b": "3", "a": "1"}, map[string]string{"not-b": "3", "a": "1"}},
	} {
		if usual, live := i.UsualParams(tc.given), i.LiveParams(tc.given); !maps.Equal(usual, tc.usual) || !maps.Equal(live, tc.live) {
			t.Errorf("%v: usual %v, live %v", tc.given, usual, live)
		}
	}
	if _, err := i.Make(map[string]string{"b": "9"}); err != nil || got.a != 7 || got.b != 9 || len(i.Params()) != 2 {
		t.Errorf("made of %+v: %v", got, err)
	}
	for _, bad := range []map[string]string{{"b": "11"}, {"b": "7"}, {"c": "1"}} {
		if made, err := i.Make(bad); err == nil || made != nil {
			t.Errorf("%v: %v made", bad, made)
		}
	}
}

// TestFloatKeys: NaN comes first, and is equal to itself.
func TestFloatKeys(t *testing.T) {
	keys := []FloatKey{{math.NaN(), 0}, {math.NaN(), 1}, {math.Inf(-1), 0}, {-1, 3}, {0, 0}, {0, 2}, {1, -1}, {math.Inf(1), 0}}
	for i, a := range keys {
		for j, b := range keys {
			if got := CompareFloatKeys(a, b); got != sgn(i-j) {
				t.Errorf("%v beside %v: %d", a, b, got)
			}
		}
	}
}

func sgn(n int) int { return min(1, max(-1, n)) }

// TestSplitBytes: a map reads its split; where none is known, an equal part of the input.
func TestSplitBytes(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 1}, nil)
	even := mustSubmit(t, g, &JobSpec{ID: 1, Maps: 4, Input: Bytes(10)})
	spec := &JobSpec{ID: 2, Maps: 2, Input: Bytes(100)}
	spec.Splits.Reserve(2, 3)
	spec.Splits.Add(7, 0)
	spec.Splits.Add(9)
	given := mustSubmit(t, g, spec)
	unknown := mustSubmit(t, g, &JobSpec{ID: 3, Maps: 2})
	none := mustSubmit(t, g, &JobSpec{ID: 4, Input: Bytes(10)})
	for i, got := range []int64{even.SplitBytes(3), given.SplitBytes(0), given.SplitBytes(1), unknown.SplitBytes(0), none.SplitBytes(0)} {
		if want := []int64{2, 7, 9, 0, 0}[i]; got != want {
			t.Errorf("%d: %d bytes, want %d", i, got, want)
		}
	}
	if n := given.Replicas(0); len(n) != 1 || n[0] != topology.NodeID(0) || len(given.Replicas(1)) != 0 || spec.Splits.Len() != 2 || !given.Stored() || even.Stored() {
		t.Errorf("map 0 lies on %v, map 1 on %v", n, given.Replicas(1))
	}
}

// TestComplete: a job is complete once it is ready and all of its tasks are done, none being enough.
func TestComplete(t *testing.T) {
	for _, tc := range []struct {
		spec          JobSpec
		maps, reduces int32 // done
		want          bool
	}{
		{JobSpec{Maps: 2, Reduces: 1}, 2, 1, true},
		{JobSpec{Maps: 2, Reduces: 1}, 2, 0, false},
		{JobSpec{Maps: 2, Reduces: 1}, 1, 1, false},
		{JobSpec{Maps: 2, Reduces: 1}, 0, 0, false},
		{JobSpec{Maps: 1}, 1, 0, true},
		{JobSpec{Reduces: 1}, 0, 1, true},
		{JobSpec{}, 0, 0, true},
		{JobSpec{HasDriver: true}, 0, 0, false}, // nobody knows its tasks
	} {
		g := newTestEngine(t, 1, 1, Capacity{MapSlots: 4, ReduceSlots: 4}, nil)
		tc.spec.ID = 1
		j := mustSubmit(t, g, &tc.spec)
		for k, n := range []int32{tc.maps, tc.reduces} {
			for i := range n {
				task := TaskID{Job: 1, Kind: Kind(k), Index: i}
				mustFeed(t, g, Launched(task, 0, Anywhere, false))
				mustFeed(t, g, TaskFinished(task, 0, 0, 0, 0))
			}
		}
		if got := j.Complete(); got != tc.want {
			t.Errorf("%d maps and %d reduces of %+v are done: complete %v", tc.maps, tc.reduces, tc.spec, got)
		}
	}
}

// TestMisfitOfTheDefault: who asks for nothing asks for the default, of nodes in the state that is meant or a better one.
func TestMisfitOfTheDefault(t *testing.T) {
	unit := DefaultConfig().Unit
	for _, tc := range []struct {
		name  string
		room  Capacity
		event Event
		d     Demand
		from  NodeState
		want  bool
	}{
		{"less than the default", Capacity{MemoryMB: unit.MemoryMB - 1}, Heartbeat(0), Demand{}, NodeIsReady, true},
		{"the default", Capacity{MemoryMB: unit.MemoryMB}, Heartbeat(0), Demand{}, NodeIsReady, false},
		{"a node that drains does not count", Capacity{MemoryMB: 1}, NodeDraining(0), Demand{}, NodeIsReady, false},
		{"it counts where it may", Capacity{MemoryMB: 1}, NodeDraining(0), Demand{}, NodeDrains, true},
		{"one that is down never does", Capacity{MemoryMB: 1}, NodeDown(0), Demand{}, NodeIsDown, false},
	} {
		g := newTestEngine(t, 1, 1, tc.room, nil)
		mustFeed(t, g, tc.event)
		if m, never := g.View().Misfit(Map, tc.d, tc.from); never != tc.want || never && m.Asked != unit.MemoryMB {
			t.Errorf("%s: %+v, %v", tc.name, m, never)
		}
	}
}

// TestSlots: an unfinished job's slot is its own, and there are no more of them than jobs lived at one time.
func TestSlots(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 1}, nil)
	for id := range JobID(40) {
		mustFeed(t, g, JobSubmitted(&JobSpec{ID: id, Maps: 1}))
		if id >= 3 {
			mustFeed(t, g, JobVanished(id-3))
			mustFeed(t, g, Heartbeat(0)) // it is gone
		}
		seen := map[int]bool{}
		for j := range g.View().Jobs().All() {
			if seen[j.Slot()] || j.Slot() < 0 || j.Slot() > 3 {
				t.Fatalf("%v has slot %d of %d jobs", j.ID(), j.Slot(), g.View().Jobs().Len())
			}
			seen[j.Slot()] = true
		}
	}
}

// TestTasksThatAreNot: an event about a task of no kind, or beyond those of its job, is stale.
func TestTasksThatAreNot(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 1}, nil)
	mustSubmit(t, g, &JobSpec{ID: 1, Maps: 1})
	for _, task := range []TaskID{{Job: 1, Kind: NumKinds}, {Job: 1, Kind: NumKinds + 1}, {Job: 1, Index: 1}, {Job: 1, Index: -1}, {Job: 1, Kind: Reduce}, {Job: 2}} {
		for _, e := range []Event{Launched(task, 0, Anywhere, false), TaskFinished(task, 0, 0, 0, 0), TaskKilled(task, 0), TaskLost(task), Restored(task, 0, 0, 0, 0, 0)} {
			if err := g.Feed(0, e); !errors.Is(err, ErrStale) {
				t.Errorf("%v: %v", e, err)
			}
		}
	}
}

// TestNodesThatCameLater: input on nodes that joined the topology after the state was made, and have not reported yet, is found.
func TestNodesThatCameLater(t *testing.T) {
	b := topology.NewBuilder()
	s, err := NewState(b.Topology(), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	g := NewEngine(s, &greedy{}, nil)
	rack, err := b.AddRack(topology.Rack{Name: "r"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := b.AddNode(topology.Node{Rack: rack}); err != nil {
			t.Fatal(err)
		}
	}
	spec := &JobSpec{ID: 1, Maps: 1}
	spec.Splits.Add(1, 2)
	j := mustSubmit(t, g, spec)
	if got := g.View().LocalOn(j, 2); got != 1 || g.View().LocalIn(j, rack) != 1 {
		t.Errorf("%d maps lie on the node", got)
	}
	mustFeed(t, g, NodeUp(2, Capacity{MapSlots: 1}))
	if _, near, ok := g.View().PickMap(j, 2, NodeLocal); !ok || near != NodeLocal {
		t.Errorf("the map is %v there (%v)", near, ok)
	}
}

// TestToldOfALimit: a job is told of its user's limit where that keeps all of its kinds that could run from running.
func TestToldOfALimit(t *testing.T) {
	for _, tc := range []struct {
		name             string
		maps, reduces    int32 // that run, of 3 maps and 2 reduces
		limit            int32
		slowstart        float64
		stuck            bool
		mapsAt, reduceAt bool
	}{
		{"both", 2, 1, 3, -1, true, true, true},
		{"no limit", 2, 1, 0, -1, false, false, false},
		{"reduces alone", 0, 1, 2, -1, false, false, true},
		{"maps, and reduces may not run yet", 2, 0, 2, 1, true, true, true},
		{"reduces, and all maps run", 3, 1, 4, -1, true, true, true},
		{"room for a reduce, and all maps run", 3, 1, 5, -1, false, false, false},
	} {
		g := newTestEngine(t, 1, 1, Capacity{Containers: 20}, nil)
		j := mustSubmit(t, g, &JobSpec{ID: 1, User: "ann", Maps: 3, Reduces: 2, Slowstart: tc.slowstart})
		hold(t, g, 1, Map, 0, tc.maps)
		hold(t, g, 1, Reduce, 0, tc.reduces)
		mustFeed(t, g, UserLimit("ann", tc.limit))
		why, stuck := j.explainLimit()
		if stuck != tc.stuck || j.AtLimit(Map) != tc.mapsAt || j.AtLimit(Reduce) != tc.reduceAt || stuck && why.Code != AtLimit {
			t.Errorf("%s: told %v, at the limit %v and %v", tc.name, stuck, j.AtLimit(Map), j.AtLimit(Reduce))
		}
	}
}

func TestPriorities(t *testing.T) {
	for p, name := range map[Priority]string{VeryLow: "very-low", Low: "low", Normal: "normal", High: "high", VeryHigh: "very-high"} {
		if p.String() != name {
			t.Errorf("%s is called %s", name, p)
		}
	}
}
