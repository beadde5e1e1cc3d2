package tracker

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// TestRecurringJobsAreKnown: of a job that recurs the policies know, before it has run, what those of its name and user took:
// the shuffle in proportion to its input, the mean times of maps and reduces. What the job says itself stands, jobs of other
// users and names and those that do not recur are not spoken for, and a restart forgets nothing.
func TestRecurringJobsAreKnown(t *testing.T) {
	s := newScene(t, 4, 3)
	for range 3 {
		for id := range s.n1.running {
			millis, out := int64(2000), int64(50)
			if id.Kind == wire.ReduceTask {
				millis, out = 4000, 1
			}
			s.say(s.n1, wire.Ended{ID: id, OK: true, Millis: millis, InBytes: 100, OutBytes: out})
		}
		s.say(s.n1)
	}
	for s.c.jobs[s.job].current().doneCount != [2]int32{4, 2} {
		for id := range s.n1.running {
			s.say(s.n1, wire.Ended{ID: id, OK: true, Millis: 2000, InBytes: 100, OutBytes: 50})
		}
		s.say(s.n1)
	}
	if err := s.c.Commit(s.now, runningDriver(s.c, s.job), ""); err != nil {
		t.Fatal(err)
	}
	lesson := s.c.lessons()[0]
	again, _ := reborn(t, s.c.Snapshot(s.now), s.now)
	for name, c := range map[string]*Tracker{"before a restart": s.c, "after it": again} {
		expected := func(spec wire.JobSpec) wire.Expected {
			t.Helper()
			spec.Stages, spec.Program = 1, wire.Program{Builtin: "sleep"}
			id, err := c.Submit(s.now, spec)
			if err != nil {
				t.Fatal(err)
			}
			sees := c.View().Job(c.jobs[id].current().sid).Spec()
			e := c.jobs[id].spec.Expect
			if sees.Shuffle.Bytes != e.Shuffle || sees.MapTime.Milliseconds() != e.MapMillis || sees.Recurring != spec.Recurring {
				t.Errorf("%s: the policies see %+v, expected is %+v", name, sees, e)
			}
			return e
		}
		got := expected(wire.JobSpec{Name: "j", User: "ann", Recurring: true, Expect: wire.Expected{Input: 2 * lesson.Input}})
		if got.Shuffle != 2*lesson.Shuffle || got.MapMillis != lesson.MapTime.Milliseconds()/4 || got.ReduceMillis != lesson.ReduceWork.Milliseconds()/2 || got.Shuffle == 0 || got.MapMillis == 0 {
			t.Errorf("%s: expected %+v, the job before was %+v", name, got, lesson)
		}
		if got := expected(wire.JobSpec{Name: "j", User: "ann", Recurring: true, Expect: wire.Expected{MapMillis: 7}}); got.MapMillis != 7 || got.Input != lesson.Input {
			t.Errorf("%s: what the job says itself is %+v", name, got)
		}
		for _, spec := range []wire.JobSpec{{Name: "j", User: "ann"}, {Name: "j", User: "bob", Recurring: true}, {Name: "k", User: "ann", Recurring: true}} {
			if got := expected(spec); got.MapMillis != 0 || got.Shuffle != 0 {
				t.Errorf("%s: expected %+v of %s of %s", name, got, spec.Name, spec.User)
			}
		}
	}
}

// taught is a tracker of which jobs that ended have taught that, one stage each, in this order.
func taught(t *testing.T, lessons ...scheduler.Lesson) *Tracker {
	t.Helper()
	c := newCore(t)
	for i := range lessons {
		id := wire.JobID(fmt.Sprint("job-", i+1))
		c.jobs[id] = &job{id: id, stages: []*stage{{doneAt: time.Duration(i), lesson: &lessons[i]}}}
	}
	return c
}

// TestForecasts: what jobs of a name and user were like is told as mean and deviation of the last ten, for each stage of a chain by itself, and
// expected of the next as means for each task, the shuffle in proportion to the input.
func TestForecasts(t *testing.T) {
	ms := time.Millisecond
	lessons := []scheduler.Lesson{
		{Name: "j", User: "ann", Maps: 4, Reduces: 2, Input: 100, Shuffle: 50, MapTime: 40 * ms, ReduceTime: 90 * ms, ReduceWork: 10 * ms},
		{Name: "j", User: "bob", Maps: 99},
		{Name: "j", User: "ann", Maps: 6, Reduces: 2, Input: 300, Shuffle: 250, MapTime: 180 * ms, ReduceTime: 90 * ms, ReduceWork: 30 * ms},
		{Name: "c/0", User: "ann", Maps: 1},
		{Name: "c/1", User: "ann", Maps: 2},
		{Name: "c/3", User: "ann", Maps: 3},
		{Name: "one", User: "ann", Maps: 3, Input: 7, Shuffle: 0, MapTime: 30 * ms},
		{Name: "quick", User: "ann", Maps: 3, Reduces: 2, Input: 7, MapTime: time.Millisecond, ReduceWork: 0},
	}
	c := taught(t, lessons...)
	f, err := c.Forecast("j", "ann")
	want := wire.Forecast{Name: "j", User: "ann", Stages: []wire.StageForecast{{
		Name: "j", Jobs: 2, Maps: wire.Spread{Mean: 5, Deviation: math.Sqrt2}, Reduces: wire.Spread{Mean: 2}, Input: wire.Spread{Mean: 200, Deviation: 100 * math.Sqrt2},
		Shuffle: wire.Spread{Mean: 150, Deviation: 100 * math.Sqrt2}, MapMillis: wire.Spread{Mean: 20, Deviation: 10 * math.Sqrt2},
		ReduceMillis: wire.Spread{Mean: 10, Deviation: 5 * math.Sqrt2},
	}}}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
	if d := cmp.Diff(want, f, near); d != "" || err != nil {
		t.Error(d, err)
	}
	if f, err := c.Forecast("c", "ann"); err != nil || len(f.Stages) != 2 || f.Stages[0].Maps.Mean != 1 || f.Stages[1].Name != "c/1" || f.Stages[1].Maps != (wire.Spread{Mean: 2}) {
		t.Errorf("of a chain: %+v, %v", f, err)
	}
	if _, err := c.Forecast("c", "bob"); wire.KindOf(err) != wire.NotFound {
		t.Errorf("of nobody: %v", err)
	}
	for _, x := range []struct {
		name  string
		input int64
		want  wire.Expected
	}{
		{"j", 0, wire.Expected{Input: 200, Shuffle: 150, MapMillis: 22, ReduceMillis: 10}},
		{"j", 800, wire.Expected{Input: 200, Shuffle: 600, MapMillis: 22, ReduceMillis: 10}},
		{"one", 14, wire.Expected{Input: 7, MapMillis: 10}},
		{"c/0", 14, wire.Expected{MapMillis: 1}},                             // it had no input
		{"quick", 0, wire.Expected{Input: 7, MapMillis: 1, ReduceMillis: 1}}, // 0 would be: nobody knows
	} {
		if got := forecastOf(c.lessonsOf(x.name, "ann"), x.input); got != x.want {
			t.Errorf("%s with %d bytes: %+v, want %+v", x.name, x.input, got, x.want)
		}
	}
	if got := forecastOf([]*scheduler.Lesson{{Input: 1, Shuffle: 1 << 40}}, 1<<50); got.Shuffle != absurdBytes {
		t.Errorf("%d bytes of shuffle are expected", got.Shuffle)
	}
	for _, x := range []struct{ in, want scheduler.JobSpec }{
		{scheduler.JobSpec{}, scheduler.JobSpec{Input: sizeOf(200), Shuffle: sizeOf(150), MapTime: 22 * ms, ReduceTime: 10 * ms}},
		{scheduler.JobSpec{Input: sizeOf(800), MapTime: 1}, scheduler.JobSpec{Input: sizeOf(800), Shuffle: sizeOf(600), MapTime: 1, ReduceTime: 10 * ms}},
		{scheduler.JobSpec{Shuffle: sizeOf(7), ReduceTime: 1}, scheduler.JobSpec{Input: sizeOf(200), Shuffle: sizeOf(7), MapTime: 22 * ms, ReduceTime: 1}},
	} {
		got := x.in
		got.Name, got.User = "j", "ann"
		c.recall(&got)
		if got.Input != x.want.Input || got.Shuffle != x.want.Shuffle || got.MapTime != x.want.MapTime || got.ReduceTime != x.want.ReduceTime {
			t.Errorf("%+v is seen as %+v", x.in, got)
		}
	}
	many := make([]scheduler.Lesson, 15)
	for i := range many {
		many[i] = scheduler.Lesson{Name: "j", User: "ann", Maps: int32(i)}
	}
	if last := taught(t, many...).lessonsOf("j", "ann"); len(last) != 10 || last[0].Maps != 5 || last[9].Maps != 14 {
		t.Errorf("%d lessons from %d to %d", len(last), last[0].Maps, last[len(last)-1].Maps)
	}
}

// TestExpectedTasks: how many tasks a job will have follows from its input and the places of the workers that are up; what it says stands.
func TestExpectedTasks(t *testing.T) {
	c := planner(t, "fifo", 2)
	const split = 64 << 20
	for _, x := range []struct {
		in           wire.JobSpec
		maps, reduce int32
	}{
		{wire.JobSpec{}, 0, 0},
		{wire.JobSpec{Shape: wire.Shape{Reducers: 3}}, 0, 3},
		{wire.JobSpec{Shape: wire.Shape{Reducers: 3, MapOnly: true}}, 0, 0},
		{wire.JobSpec{Shape: wire.Shape{Reducers: 3}, Expect: wire.Expected{Reduces: 2}}, 0, 2},
		{wire.JobSpec{Shape: wire.Shape{Reducers: 1 << 30}}, 0, int32(c.cfg.MaxTasks)},
		{wire.JobSpec{Shape: wire.Shape{Reducers: 1, SplitBytes: split}, Expect: wire.Expected{Input: 1}}, 1, 1},
		{wire.JobSpec{Shape: wire.Shape{Reducers: 1, SplitBytes: split}, Expect: wire.Expected{Input: 2 * split}}, 2, 1},
		{wire.JobSpec{Shape: wire.Shape{Reducers: 1, SplitBytes: split}, Expect: wire.Expected{Input: 2*split + 1}}, 3, 1},
		{wire.JobSpec{Shape: wire.Shape{Reducers: 1, SplitBytes: split}, Expect: wire.Expected{Input: 2 * split, Maps: 9}}, 9, 1},
		{wire.JobSpec{Expect: wire.Expected{Input: 64 * split, Maps: 1}}, 1, 3}, // 9/10 of the places
		{wire.JobSpec{Shape: wire.Shape{MapOnly: true}, Expect: wire.Expected{Input: 64 * split, Maps: 1, Reduces: 2}}, 1, 2},
		{wire.JobSpec{Shape: wire.Shape{Reducers: 1, SplitBytes: 1}, Expect: wire.Expected{Input: 1 << 40}}, int32(c.cfg.MaxTasks), 1},
	} {
		got := x.in
		if c.expect(&got); got.Expect.Maps != x.maps || got.Expect.Reduces != x.reduce {
			t.Errorf("%+v, %+v: %d maps and %d reduces, want %d and %d", x.in.Shape, x.in.Expect, got.Expect.Maps, got.Expect.Reduces, x.maps, x.reduce)
		}
	}
	for _, x := range []struct{ r, usual, want wire.Demand }{
		{wire.Demand{}, wire.Demand{VCores: 1, MemoryMB: 2}, wire.Demand{VCores: 1, MemoryMB: 2}},
		{wire.Demand{VCores: 3}, wire.Demand{VCores: 1, MemoryMB: 2}, wire.Demand{VCores: 3, MemoryMB: 2}},
		{wire.Demand{MemoryMB: 4}, wire.Demand{VCores: 1, MemoryMB: 2}, wire.Demand{VCores: 1, MemoryMB: 4}},
	} {
		if got := demand(x.r, x.usual); got != (scheduler.Demand{VCores: x.want.VCores, MemoryMB: x.want.MemoryMB}) {
			t.Errorf("%+v beside %+v: %+v", x.r, x.usual, got)
		}
	}
}

// TestPercent: a stage has come 5 % with its plan and 95 with its tasks, maps and reduces half each where there are both.
func TestPercent(t *testing.T) {
	at := func(kind wire.TaskKind, index int32, done float64, second bool) *attempt {
		return &attempt{id: wire.AttemptID{Kind: kind, Index: index}, done: done, second: second}
	}
	for _, x := range []struct {
		total, done [2]int32
		runs        []*attempt
		want        float64
	}{
		{[2]int32{}, [2]int32{}, nil, 95},
		{[2]int32{4, 0}, [2]int32{1, 0}, nil, 27.5},
		{[2]int32{0, 4}, [2]int32{0, 1}, nil, 27.5},
		{[2]int32{4, 2}, [2]int32{4, 1}, nil, 72.5},
		{[2]int32{4, 2}, [2]int32{3, 0}, []*attempt{at(wire.MapTask, 0, 0.5, false), at(wire.ReduceTask, 0, 0.5, false), at(wire.DriverTask, 0, 1, false)}, 5 + 45*3.5/4 + 45*0.25},
		{[2]int32{2, 1}, [2]int32{}, []*attempt{at(wire.MapTask, 0, 0.5, false), at(wire.MapTask, 0, 0.25, true), at(wire.MapTask, 1, 0.5, true)}, 5 + 22.5}, // the first attempt of the second map is gone,
	} {
		st := &stage{plan: &plan{}, total: x.total, doneCount: x.done, running: map[*attempt]bool{}, maps: make([]task, x.total[0]), reduces: make([]task, x.total[1])}
		for _, a := range x.runs {
			st.running[a] = true
			if set := st.tasks(a.id.Kind); len(set) > 0 && a.id.Kind != wire.DriverTask {
				set[a.id.Index].live++
			}
		}
		if got := st.percent(); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%+v: %g, want %g", x, got, x.want)
		}
	}
	if got := (&stage{total: [2]int32{1, 1}}).percent(); got != 0 {
		t.Errorf("without a plan it is %g", got)
	}
}
