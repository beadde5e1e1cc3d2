package scheduler

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/topology"
)

// deadly is greedy, names victims in turn, and shows a figure and a note.
type deadly struct {
	greedy
	victims []Victim
	value   float64
}

func (d *deadly) Kill(time.Duration, *View) (v Victim, ok bool) {
	if len(d.victims) == 0 {
		return Victim{}, false
	}
	v, d.victims = d.victims[0], d.victims[1:]
	return v, true
}

func (d *deadly) Figures(now time.Duration, _ *View) []Figure {
	return []Figure{{Name: "f", Job: NoJob, Value: d.value + now.Seconds()}}
}

func (*deadly) Notes(*View) []string { return []string{"it lacks machines"} }

func (*deadly) Admit(time.Duration, *View) AdmitDecision { return AdmitDecision{} }

func admit(t *testing.T, g *Engine) {
	t.Helper()
	if _, err := g.Admit(0, nil); err != nil {
		t.Fatal(err)
	}
}

// TestKill: a victim that runs is off its node, one that is done is to be done again, and one that is not there ends the round.
func TestKill(t *testing.T) {
	p := &deadly{}
	g := newTestEngine(t, 1, 2, Capacity{MapSlots: 2}, p)
	mustFeed(t, g, JobSubmitted(&JobSpec{ID: 1, Maps: 3}))
	if err := g.Kill(0, nil); err != nil {
		t.Errorf("nobody to kill: %v", err)
	}
	admit(t, g)
	if _, err := g.Offer(0, 1, nil); err != nil {
		t.Fatal(err)
	}
	mustFeed(t, g, TaskFinished(TaskID{Job: 1}, 1, time.Second, 0, 0))
	p.victims = []Victim{{Task: TaskID{Job: 1}, Node: topology.NoNode}, {Task: TaskID{Job: 1, Index: 1}, Node: 1}, {Task: TaskID{Job: 1, Index: 2}, Node: 1}, {}}
	var seen []int32
	err := g.Kill(0, func(v Victim) { seen = append(seen, v.Task.Index) })
	j := g.View().Job(1)
	if !errors.Is(err, ErrPolicy) || !slices.Equal(seen, []int32{0, 1}) || j.Pending(Map) != 3 || j.Running(Map) != 0 || j.Done(Map) != 0 || g.View().HasRoom(1, Map) != true {
		t.Errorf("%v; killed %v; %d pending, %d run, %d done", err, seen, j.Pending(Map), j.Running(Map), j.Done(Map))
	}
}

// TestFiguresAndNotes: those of the admission come first; who has none shows none.
func TestFiguresAndNotes(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 1}, nil)
	if g.Figures(0) != nil || g.Notes() != nil {
		t.Error(g.Figures(0), g.Notes())
	}
	g.SetAdmission(0, &deadly{value: 1})
	g.SetPolicy(0, &deadly{value: 2})
	want := []Figure{{"f", NoJob, 4}, {"f", NoJob, 5}}
	if d := cmp.Diff(want, g.Figures(3*time.Second)) + cmp.Diff([]string{"it lacks machines", "it lacks machines"}, g.Notes()); d != "" {
		t.Error(d)
	}
}

// TestPlaceDrivers: drivers lie apart, of equally many on the first node; who is banned from a node is not there; one that finds no place is passed
// over, also where it is of the size of one that was banned everywhere; and a driver never takes the last room that a task could have.
func TestPlaceDrivers(t *testing.T) {
	small, large := Demand{VCores: 1, MemoryMB: 1000}, Demand{VCores: 1, MemoryMB: 5000}
	for name, c := range map[string]struct {
		nodes int
		jobs  []JobSpec
		bans  map[JobID][]topology.NodeID
		want  map[JobID]topology.NodeID
	}{
		"apart":     {3, []JobSpec{{}, {}, {}, {}}, nil, map[JobID]topology.NodeID{0: 0, 1: 1, 2: 2, 3: 0}},
		"priority":  {2, []JobSpec{{}, {Priority: 1}, {}}, nil, map[JobID]topology.NodeID{1: 0, 0: 1, 2: 0}},
		"banned":    {3, []JobSpec{{}, {}}, map[JobID][]topology.NodeID{0: {0}, 1: {0, 1}}, map[JobID]topology.NodeID{0: 1, 1: 2}},
		"large":     {2, []JobSpec{{DriverDemand: large}, {}, {DriverDemand: large}, {}}, nil, map[JobID]topology.NodeID{1: 0, 3: 1}},
		"outcast":   {2, []JobSpec{{}, {}}, map[JobID][]topology.NodeID{0: {0, 1}}, map[JobID]topology.NodeID{1: 0}},
		"last room": {1, []JobSpec{{}, {}, {}, {}, {}}, nil, map[JobID]topology.NodeID{0: 0, 1: 0, 2: 0}},
	} {
		g := newTestEngine(t, 1, c.nodes, Capacity{VCores: 4, MemoryMB: 4000}, nil)
		for i := range c.jobs {
			s := &c.jobs[i]
			s.ID, s.Maps, s.HasDriver, s.MapDemand = JobID(i), 1, true, small
			if s.DriverDemand == (Demand{}) {
				s.DriverDemand = small
			}
			mustFeed(t, g, JobSubmitted(s))
			mustFeed(t, g, JobAdmitted(s.ID))
			for _, n := range c.bans[s.ID] {
				mustFeed(t, g, Ban(s.ID, n))
			}
		}
		got := map[JobID]topology.NodeID{}
		if err := g.PlaceDrivers(0, func(n topology.NodeID, d Decision) { got[d.Task.Job] = n }); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" || g.DriversWait() != (len(got) < len(c.jobs)) {
			t.Errorf("%s: %s, some wait %v", name, d, g.DriversWait())
		}
		if _, err := g.Offer(0, 0, func(d Decision) { t.Errorf("%s: %v is given at a report, too", name, d.Task) }); err != nil {
			t.Error(err)
		}
	}
}

// TestLesson: what a job teaches is of its finished tasks; a map that read nothing has no ratio.
func TestLesson(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 4, ReduceSlots: 1}, nil)
	var splits Splits
	splits.Add(70, 0)
	splits.Add(30, 0)
	splits.Add(0, 0)
	mustFeed(t, g, JobSubmitted(&JobSpec{ID: 1, Name: "sort", User: "ann", Maps: 3, Reduces: 1, Splits: splits, Work: time.Minute, Recurring: true, Slowstart: -1}))
	admit(t, g)
	if l := g.View().Job(1).Lesson(); l.Ratio != 0 || l.Samples != 0 || l.Input != 100 {
		t.Errorf("before the first end: %+v", l)
	}
	if _, err := g.Offer(0, 0, nil); err != nil {
		t.Fatal(err)
	}
	for i, m := range [][2]int64{{70, 35}, {30, 45}, {0, 9}} {
		if err := g.Feed(10*time.Second, TaskFinished(TaskID{Job: 1, Index: int32(i)}, 0, 0, m[0], m[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Feed(16*time.Second, TaskFinished(TaskID{Job: 1, Kind: Reduce}, 0, 0, 0, 0)); err != nil {
		t.Fatal(err)
	}
	want := &Lesson{
		Name: "sort", User: "ann", Recurring: true, Maps: 3, Reduces: 1, Input: 100, Work: time.Minute, Shuffle: 89,
		MapTime: 30 * time.Second, ReduceTime: 16 * time.Second, ReduceWork: 6 * time.Second, Ratio: (0.5 + 1.5) / 2, Samples: 2,
	}
	if d := cmp.Diff(want, g.View().Job(1).Lesson()); d != "" {
		t.Error(d)
	}
	if n := (&JobSpec{Input: Size{Bytes: 7, Known: true}, Splits: splits}).InputBytes(); n != 7 {
		t.Errorf("declared input of %d", n)
	}
}

// TestProgress: of a job that reports nothing maps and reduces are half each, and maps are all where there are no reduces.
func TestProgress(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 4, ReduceSlots: 4}, nil)
	mustFeed(t, g, JobSubmitted(&JobSpec{ID: 1, Maps: 4, Reduces: 2, Slowstart: -1}))
	mustFeed(t, g, JobSubmitted(&JobSpec{ID: 2, Maps: 4}))
	mustFeed(t, g, JobSubmitted(&JobSpec{ID: 3, HasDriver: true, Maps: 4}))
	admit(t, g)
	run := func(task TaskID) {
		mustFeed(t, g, Launched(task, 0, Anywhere, false))
		mustFeed(t, g, TaskFinished(task, 0, time.Second, 0, 0))
	}
	run(TaskID{Job: 1})
	run(TaskID{Job: 2})
	for i := range int32(3) {
		run(TaskID{Job: 1, Index: 1 + i})
	}
	run(TaskID{Job: 1, Kind: Reduce})
	for id, want := range map[JobID]float64{1: 75, 2: 25, 3: 0} {
		if got := g.View().Job(id).Progress(); got != want {
			t.Errorf("%v: %g %%, want %g", id, got, want)
		}
	}
	mustFeed(t, g, Progress(1, 33))
	if got := g.View().Job(1).Progress(); got != 33 {
		t.Errorf("reported 33 %%, is %g", got)
	}
}

// TestRanges: what a parameter may be, as its page says it.
func TestRanges(t *testing.T) {
	var f float64
	var d time.Duration
	var b bool
	var s string
	for want, p := range map[string]Param{
		"any":                  Float(&f, "", "", ""),
		"0..1":                 Float(&f, "", "", "").In(0, 1),
		"-1..1000000000":       Float(&f, "", "", "").In(-1, 1e9),
		"0..1e+10":             Float(&f, "", "", "").In(0, 1e10),
		"at least 2":           Float(&f, "", "", "").In(2, math.Inf(1)),
		"at least -3":          Float(&f, "", "", "").In(-3, 0),
		"> 0":                  Float(&f, "", "", "").Above0(0),
		"> 0, at most 1000000": Float(&f, "", "", "").Above0(1e6),
		"> 0, at most 1h0m0s":  Duration(&d, "", "", "").Above0(3600),
		"1s..1m0s":             Duration(&d, "", "", "").In(1, 60),
		"a|b":                  Choice(&s, []string{"a", "b"}, "", "", ""),
		"true|false":           Bool(&b, "", "", ""),
	} {
		if got := p.Range(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPerJob: what is known of a job is its own, until it is forgotten.
func TestPerJob(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{MapSlots: 1}, nil)
	for id := range JobID(3) {
		mustFeed(t, g, JobSubmitted(&JobSpec{ID: id, Maps: 1}))
	}
	var p PerJob[int]
	at := func(id JobID) *Job { return g.View().Job(id) }
	n := 7
	p.Set(at(1), &n)
	if p.Of(at(0)) != nil || p.Of(at(1)) != &n || p.Of(at(2)) != nil {
		t.Error("it is another's")
	}
	if p.Set(at(1), nil); p.Of(at(1)) != nil {
		t.Error("it is not forgotten")
	}
}
