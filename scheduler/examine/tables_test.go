package examine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fifo"
	"github.com/millrace/millrace/topology"
)

var why = scheduler.Reason{Code: scheduler.NoWork, Say: "test"}

// full is a situation that has something of everything.
func full() *Situation {
	s := &Situation{
		Seed: 7, Racks: 2, PerRack: 3, Node: scheduler.Capacity{MapSlots: 6, ReduceSlots: 4, MemoryMB: 4096}, Replace: true, Limit: 2,
		Faults: Faults{Fail: 0.5, Refuse: 0.25, Vanish: 0.125, Lose: 0.01, Drain: 0.02, Stale: 0.03},
	}
	one := &scheduler.JobSpec{
		Maps: 2, Reduces: 1, HasDriver: true, User: "ann", Queue: "q", Pool: "p", Name: "n", Priority: scheduler.High, Weight: 2, Deadline: time.Minute,
		Slowstart: 0.5, Recurring: true, MapTime: time.Second, MapDemand: scheduler.Demand{Slots: 3},
	}
	one.Splits.Add(5, 1, 2)
	one.Splits.Add(5)
	s.Jobs = []*scheduler.JobSpec{one, {ID: 1, Submit: 3 * time.Second, Maps: 1}}
	return s
}

// TestSituationsInWords: a finding shows all that its situation has, and nothing that it has not.
func TestSituationsInWords(t *testing.T) {
	want := `> 6 nodes in 2 racks, each with 6 map slots, 4 reduce slots, 4096 MB
> at 0s: j0, 2 maps, 1 reduce, with a driver, its input on nodes [1 2], user ann, queue q, pool p, name n, priority high, weight 2, deadline at 1m0s, slow start 0.5, recurring, sizes and times known, maps that need {Slots:3 VCores:0 MemoryMB:0}
> at 3s: j1, 1 map, 0 reduces
> attempts fail (chance 0.5)
> attempts are refused (chance 0.25)
> jobs vanish (chance 0.125)
> nodes die (chance 0.01)
> nodes drain (chance 0.02)
> reports come late or twice (chance 0.03)
> alice and bob may hold 2 containers each
> a fresh policy takes over half-way
`
	if got := full().describe("> "); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	plain := &Situation{Racks: 1, PerRack: 1, Node: scheduler.Capacity{Containers: 1, VCores: 2}, Jobs: []*scheduler.JobSpec{{}}}
	want = "1 node in 1 rack, each with 1 container, 2 vcores\nat 0s: j0, 0 maps, 0 reduces\n"
	if got := plain.describe(""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	f := &Finding{Promise: Ends, Err: errors.New("it rests"), Situation: plain}
	for i := range 10 {
		f.Log = append(f.Log, fmt.Sprint("line ", i))
	}
	want = "broken: every job ends\n  it rests\n  in the smallest situation found (seed 0):\n    " + strings.ReplaceAll(strings.TrimSuffix(want, "\n"), "\n", "\n    ") +
		"\n  last decisions:\n    line 2\n    line 3\n    line 4\n    line 5\n    line 6\n    line 7\n    line 8\n    line 9\n"
	if got := f.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestStepsToSmaller: every step takes one thing away, leaves the situation it was taken from alone, and there is a step for each thing.
func TestStepsToSmaller(t *testing.T) {
	s := full()
	before := s.describe("")
	var got []string
	for _, c := range s.reductions() {
		lines := strings.Split(strings.TrimSpace(before), "\n")
		var change []string
		for l := range strings.SplitSeq(strings.TrimSpace(c.describe("")), "\n") {
			if i := slices.Index(lines, l); i >= 0 {
				lines = slices.Delete(lines, i, i+1)
			} else {
				change = append(change, l)
			}
		}
		got = append(got, fmt.Sprint("-", len(lines), " ", strings.Join(change, "; ")))
	}
	const rest = "user ann, queue q, pool p, name n, priority high, weight 2, deadline at 1m0s, slow start 0.5, recurring, sizes and times known, maps that need {Slots:3 VCores:0 MemoryMB:0}"
	const each = ", each with 6 map slots, 4 reduce slots, 4096 MB"
	want := []string{
		"-1 3 nodes in 1 rack" + each, "-1 3 nodes in 1 rack" + each, // all racks but one, and one
		"-1 2 nodes in 2 racks" + each,
		"-1 4 nodes in 2 racks" + each,
		"-2 at 3s: j0, 1 map, 0 reduces", "-1 ", // jobs
		"-1 ", "-1 ", // the fresh policy, the limit
		"-6 ", "-1 ", "-1 ", "-1 ", "-1 ", "-1 ", "-1 ", // faults
		"-1 at 0s: j0, 2 maps, 1 reduce, with a driver, " + rest,
		"-1 at 0s: j0, 2 maps, 0 reduces, with a driver, its input on nodes [1 2], " + rest,
		"-1 at 0s: j0, 2 maps, 0 reduces, with a driver, its input on nodes [1 2], " + rest,
		"-1 at 0s: j0, 2 maps, 1 reduce, its input on nodes [1 2], " + rest,
		"-1 at 0s: j0, 2 maps, 1 reduce, with a driver, its input on nodes [1 2]",
		"-1 at 3s: j1, 0 maps, 0 reduces", "-1 at 3s: j1, 0 maps, 0 reduces", "-1 at 3s: j1, 0 maps, 0 reduces",
		"-1 at 0s: j1, 1 map, 0 reduces",
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("step %d: got %q, want %q", i, got[i:min(i+1, len(got))], want[i:min(i+1, len(want))])
		}
	}
	if after := s.describe(""); after != before {
		t.Errorf("the situation is now\n%s", after)
	}
	least := &Situation{Racks: 1, PerRack: 1, Jobs: []*scheduler.JobSpec{{}}}
	if steps := least.reductions(); len(steps) != 0 {
		t.Errorf("from the least situation there are %d steps", len(steps))
	}
}

// TestDriversLeaveRoom: no more jobs have drivers than a quarter of the places.
func TestDriversLeaveRoom(t *testing.T) {
	for _, tc := range []struct {
		node  scheduler.Capacity
		nodes int
		want  int
	}{
		{scheduler.Capacity{Containers: 1}, 3, 0},
		{scheduler.Capacity{Containers: 1}, 4, 1},
		{scheduler.Capacity{Containers: 6}, 2, 3},
		{scheduler.Capacity{MapSlots: 6, ReduceSlots: 2}, 4, 2},
		{scheduler.Capacity{VCores: 8}, 1, 2},
		{scheduler.Capacity{Containers: 8}, 9, 5},
	} {
		s := &Situation{Racks: 1, PerRack: tc.nodes, Node: tc.node}
		for i := range 5 {
			s.Jobs = append(s.Jobs, &scheduler.JobSpec{ID: scheduler.JobID(i), HasDriver: true})
		}
		s.settle()
		got := 0
		for i, j := range s.Jobs {
			if j.HasDriver {
				if got++; got != i+1 {
					t.Errorf("%+v: a later job keeps its driver", tc)
				}
			}
		}
		if got != tc.want {
			t.Errorf("%+v: %d drivers", tc, got)
		}
	}
}

// TestShadowsBooks: each rule holds to the last place, and a place that was given back can be given again.
func TestShadowsBooks(t *testing.T) {
	job := func(user string, d scheduler.Demand) *scheduler.JobSpec {
		return &scheduler.JobSpec{User: user, Maps: 9, Reduces: 9, MapDemand: d, ReduceDemand: d, DriverDemand: d}
	}
	const full, limit, gone, twice, done, dead, drains, first, mute = "node 0 holds", "holds 2 containers", "the job is gone", "while it runs on [0]", "after it was done", "dead", "draining", "without a first", "without a reason"
	for _, tc := range []struct {
		name  string
		node  scheduler.Capacity
		job   *scheduler.JobSpec
		limit int32
		do    string // what happens, a word each; the last must break what want says, unless that is ""
		want  string
	}{
		{"map slots", scheduler.Capacity{MapSlots: 2, ReduceSlots: 1}, job("", scheduler.Demand{}), 0, "m0 m1 r0", ""},
		{"one map too many", scheduler.Capacity{MapSlots: 2, ReduceSlots: 1}, job("", scheduler.Demand{}), 0, "m0 m1 m2", full},
		{"one reduce too many", scheduler.Capacity{MapSlots: 2, ReduceSlots: 1}, job("", scheduler.Demand{}), 0, "r0 r1", full},
		{"large maps", scheduler.Capacity{MapSlots: 6}, job("", scheduler.Demand{Slots: 3}), 0, "m0 m1", ""},
		{"large maps, one too many", scheduler.Capacity{MapSlots: 6}, job("", scheduler.Demand{Slots: 3}), 0, "m0 m1 m2", full},
		{"containers", scheduler.Capacity{Containers: 3}, job("", scheduler.Demand{}), 0, "m0 r0 d0", ""},
		{"one container too many", scheduler.Capacity{Containers: 3}, job("", scheduler.Demand{}), 0, "m0 r0 d0 m1", full},
		{"cores", scheduler.Capacity{VCores: 8}, job("", scheduler.Demand{VCores: 4}), 0, "m0 m1", ""},
		{"one core too many", scheduler.Capacity{VCores: 8}, job("", scheduler.Demand{VCores: 3}), 0, "m0 r0 m2", full},
		{"memory", scheduler.Capacity{MemoryMB: 4096}, job("", scheduler.Demand{MemoryMB: 2048}), 0, "m0 r0", ""},
		{"memory, too much", scheduler.Capacity{MemoryMB: 4096}, job("", scheduler.Demand{MemoryMB: 2049}), 0, "m0 r0", full},
		{"given back", scheduler.Capacity{Containers: 1}, job("", scheduler.Demand{}), 0, "m0 stop:m0 m1", ""},
		{"tried again", scheduler.Capacity{Containers: 1}, job("", scheduler.Demand{}), 0, "m0 stop:m0 m0", ""},
		{"twice", scheduler.Capacity{Containers: 2}, job("", scheduler.Demand{}), 0, "m0 m0", twice},
		{"a second attempt", scheduler.Capacity{Containers: 2}, job("", scheduler.Demand{}), 0, "m0 second:m0", ""},
		{"a second without a first", scheduler.Capacity{Containers: 2}, job("", scheduler.Demand{}), 0, "m1 second:m0", first},
		{"one of two stops", scheduler.Capacity{Containers: 2}, job("", scheduler.Demand{}), 0, "m0 second:m0 stop:m0 m0", twice},
		{"done", scheduler.Capacity{Containers: 2}, job("", scheduler.Demand{}), 0, "m0 stop:m0 done:m0 m0", done},
		{"lost after it was done", scheduler.Capacity{Containers: 2}, job("", scheduler.Demand{}), 0, "m0 stop:m0 done:m0 done:m0 lose:m0 lose:m0 m0", ""},
		{"a job that is gone", scheduler.Capacity{Containers: 2}, job("", scheduler.Demand{}), 0, "m0 forget:m0 m1", gone},
		{"a dead node", scheduler.Capacity{Containers: 2}, job("", scheduler.Demand{}), 0, "dies:m0 m1", dead},
		{"a node that drains", scheduler.Capacity{Containers: 2}, job("", scheduler.Demand{}), 0, "drains:m0 m1", drains},
		{"no reason", scheduler.Capacity{Containers: 2}, job("", scheduler.Demand{}), 0, "mute:m0", mute},
		{"at the limit", scheduler.Capacity{Containers: 9}, job("bob", scheduler.Demand{}), 2, "m0 m1", ""},
		{"beyond the limit", scheduler.Capacity{Containers: 9}, job("bob", scheduler.Demand{}), 2, "m0 m1 m2", limit},
		{"beyond, with a reduce", scheduler.Capacity{Containers: 9}, job("alice", scheduler.Demand{}), 2, "m0 m1 r2", limit},
		{"a large map alone", scheduler.Capacity{Containers: 9}, job("alice", scheduler.Demand{Slots: 3}), 2, "m0", ""},
		{"a large map beside a reduce", scheduler.Capacity{Containers: 9}, job("alice", scheduler.Demand{Slots: 3}), 2, "r0 m0", ""},
		{"a large reduce beside a map", scheduler.Capacity{Containers: 9}, job("alice", scheduler.Demand{Slots: 3}), 2, "m0 r0", limit},
		{"two large reduces", scheduler.Capacity{Containers: 9}, job("alice", scheduler.Demand{Slots: 3}), 2, "r0 r1", limit},
		{"a driver is no task", scheduler.Capacity{Containers: 9}, job("alice", scheduler.Demand{Slots: 3}), 2, "d0", limit},
		{"nobody's limit", scheduler.Capacity{Containers: 9}, job("carol", scheduler.Demand{}), 2, "m0 m1 m2", ""},
	} {
		s := newShadow(&Situation{Racks: 1, PerRack: 1, Node: tc.node, Limit: tc.limit}, scheduler.DefaultConfig())
		s.specs[1] = tc.job
		words := strings.Fields(tc.do)
		for i, word := range words {
			err := s.do(word)
			if last := i == len(words)-1; !last && err != nil || last && (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %s: %v, want %q", tc.name, word, err, tc.want)
			}
		}
		if n := s.doneMaps[1]; strings.Contains(tc.do, "lose") && n != 0 || strings.HasPrefix(tc.name, "done") && n != 1 {
			t.Errorf("%s: %d maps are done", tc.name, n)
		}
	}
}

// do is a word of a table: a task to launch on node 0, or what happens to it.
func (s *shadow) do(word string) error {
	verb, task, found := strings.Cut(word, ":")
	if !found {
		verb, task = "", word
	}
	id := scheduler.TaskID{Job: 1, Kind: scheduler.Kind(strings.IndexByte("mrd", task[0])), Index: int32(task[1] - '0')}
	d := scheduler.Run(id, scheduler.Remote, why)
	switch verb {
	case "stop":
		s.stop(id, 0)
		return nil
	case "done":
		s.finish(id)
		return nil
	case "lose":
		s.lose(id)
		return nil
	case "forget":
		s.forget(id.Job)
		return nil
	case "dies":
		s.alive[0] = false
		return nil
	case "drains":
		s.draining[0] = true
		return nil
	case "second":
		d.Second = true
	case "mute":
		d.Reason.Say = ""
	}
	return s.launch(d, 0)
}

// TestDiffer finds the first decision that differs.
func TestDiffer(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", -1}, {"a b", "a b", -1}, {"a b", "a c", 1}, {"x b", "a b", 0}, {"a", "a b", 1}, {"a b c", "a b", 2}} {
		if got := Differ(strings.Fields(tc.a), strings.Fields(tc.b)); got != tc.want {
			t.Errorf("%q and %q differ at %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// TestEnoughIsEnough: after some situations in which a promise breaks no more are tried, and a promise is told once.
func TestEnoughIsEnough(t *testing.T) {
	looked := 0
	found := Policy(func() scheduler.Policy {
		return newBent(func(_ time.Duration, d scheduler.Decision, _ topology.NodeID, _ *scheduler.View) scheduler.Decision {
			d.Reason = scheduler.Reason{}
			return d
		})
	}, Promises{}, 50, func(i int) {
		if i != looked {
			t.Errorf("situation %d comes at %d", i, looked)
		}
		looked++
	})
	if len(found) != 1 || found[0].Promise != Reasons || looked != enough+1 {
		t.Errorf("%d situations, found %v", looked, found)
	}
}

// TestSecondRunThatBreaks: a policy that keeps its promises only once is found, with the decisions of the second run.
func TestSecondRunThatBreaks(t *testing.T) {
	runs := 0
	f := Check(Draw(3, false), func() scheduler.Policy {
		runs++
		run := runs
		return newBent(func(_ time.Duration, d scheduler.Decision, _ topology.NodeID, _ *scheduler.View) scheduler.Decision {
			if run > 1 && d.OK && d.Task.Index == 1 {
				panic("worn out")
			}
			return d
		})
	}, Promises{})
	if f == nil || f.Promise != Sound || f.Err.Error() != "it panics: worn out" || len(f.Log) == 0 || runs != 2 {
		t.Errorf("after %d runs %+v", runs, f)
	}
}

// TestPatience: a job that rests is starved when four times the time is over that one place and every patience would need.
func TestPatience(t *testing.T) {
	s := &Situation{Racks: 1, PerRack: 1, Node: scheduler.Capacity{Containers: 1}, Jobs: []*scheduler.JobSpec{{Maps: 3, Reduces: 1}, {ID: 1, Submit: time.Hour}}}
	for _, tc := range []struct {
		p    Promises
		want time.Duration
	}{
		{Promises{}, 4 * (time.Hour + 10*time.Minute + 2*21*time.Second)}, // the second job comes later than all that the first may need
		{Promises{Patience: 2 * time.Hour}, 4 * (3*time.Hour + 2*21*time.Second)},
		{Promises{PerTask: time.Hour}, 4 * (10*time.Minute + 8*time.Hour + 8*21*time.Second)},
	} {
		w, err := newWorld(s, func() scheduler.Policy { return fifo.New(scheduler.DefaultReduceRule()) }, nil, tc.p)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.deadline(); got != tc.want {
			t.Errorf("%+v: %v, want %v", tc.p, got, tc.want)
		}
	}
}
