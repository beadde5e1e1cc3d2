package examine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// TestDescribe: a situation in which a promise was broken is told whole: machines, jobs with all that is not as usual, what goes wrong
// and with which chance; and of what is as usual nothing.
func TestDescribe(t *testing.T) {
	s := &Situation{Racks: 2, PerRack: 3, Node: scheduler.Capacity{Containers: 4, VCores: 1, MemoryMB: 1}}
	plain := &scheduler.JobSpec{ID: 0, Maps: 1}
	full := &scheduler.JobSpec{
		ID: 1, Maps: 2, Reduces: 1, Submit: 3 * time.Second, HasDriver: true, User: "ann", Queue: "q", Pool: "p", Name: "n",
		Priority: scheduler.High, Weight: 2.5, Deadline: 9 * time.Second, Slowstart: 0.5, Recurring: true, MapTime: time.Second,
		MapDemand: scheduler.Demand{MemoryMB: 7},
	}
	full.Splits.Add(1, 4)
	full.Splits.Add(1, topology.NodeID(5))
	s.Jobs = []*scheduler.JobSpec{plain, full}
	const begin = "- 6 nodes in 2 racks, each with 4 containers, 1 vcore, 1 MB\n- at 0s: j0, 1 map, 0 reduces\n" +
		"- at 3s: j1, 2 maps, 1 reduce, with a driver, its input on nodes [4 5], user ann, queue q, pool p, name n, priority high, weight 2.5, " +
		"deadline at 9s, slow start 0.5, recurring, sizes and times known, maps that need {Slots:0 VCores:0 MemoryMB:7}\n"
	if got := s.describe("- "); got != begin {
		t.Errorf("%s\nwant\n%s", got, begin)
	}
	s.Faults = Faults{Fail: 0.1, Refuse: 0.2, Vanish: 0.3, Lose: 0.4, Drain: 0.5, Stale: 0.6}
	s.Limit, s.Replace = 5, true
	const end = "- attempts fail (chance 0.1)\n- attempts are refused (chance 0.2)\n- jobs vanish (chance 0.3)\n- nodes die (chance 0.4)\n" +
		"- nodes drain (chance 0.5)\n- reports come late or twice (chance 0.6)\n- alice and bob may hold 5 containers each\n" +
		"- a fresh policy takes over half-way\n"
	if got := s.describe("- "); got != begin+end {
		t.Errorf("%s\nwant\n%s", got, begin+end)
	}
	s.Node = scheduler.Capacity{MapSlots: 1, ReduceSlots: 2}
	if got, _, _ := strings.Cut(s.describe(""), "\n"); got != "6 nodes in 2 racks, each with 1 map slot, 2 reduce slots" {
		t.Error(got)
	}
}

// TestSituationsVary: situations that are drawn have everything in them that a policy may meet, and the same seed has the same.
func TestSituationsVary(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(300) {
		s := Draw(seed, false)
		text := s.describe("")
		if again := Draw(seed, false); again.describe("") != text {
			t.Fatalf("seed %d: %s\nand then\n%s", seed, text, again.describe(""))
		}
		for _, word := range []string{
			"with a driver", "its input on nodes", "user alice", "queue a", "pool b", "name a", "priority high", "weight 2", "deadline at",
			"slow start -1", "slow start 0.5", "recurring", "sizes and times known", "MemoryMB:2048", "Slots:3", "map slot", "container", "vcore", "MB",
		} {
			seen[word] = seen[word] || strings.Contains(text, word)
		}
	}
	for word, met := range seen {
		if !met {
			t.Errorf("%s: in none of 300 situations", word)
		}
	}
}

// TestReductions: a situation has smaller ones, each smaller in one thing; one of a single job without anything has none.
func TestReductions(t *testing.T) {
	s := &Situation{Racks: 3, PerRack: 4, Node: scheduler.Capacity{Containers: 4}, Replace: true, Limit: 3, Faults: Faults{Fail: 0.1, Lose: 0.2}}
	for i := range scheduler.JobID(4) {
		s.Jobs = append(s.Jobs, &scheduler.JobSpec{ID: i, Maps: 4, Reduces: 2, HasDriver: true, User: "ann", Submit: time.Second})
	}
	s.Jobs[3].Splits.Add(1, 0)
	before := s.describe("")
	got := map[string]int{}
	for _, r := range s.reductions() {
		for what, is := range map[string]bool{
			"one rack": r.Racks == 1, "a rack less": r.Racks == 2, "one node": r.PerRack == 1, "a node less": r.PerRack == 3, "no other policy": !r.Replace,
			"no limit": r.Limit == 0, "no faults": r.Faults == Faults{}, "no failures": r.Faults == Faults{Lose: 0.2}, "no losses": r.Faults == Faults{Fail: 0.1},
			"half of the jobs": len(r.Jobs) == 2, "a job less": len(r.Jobs) == 3,
			"no maps": maps(r, 0) == 1, "half of the maps": maps(r, 2) == 1, "a map less": maps(r, 3) == 1,
		} {
			if is {
				got[what]++
			}
		}
		for i, j := range r.Jobs {
			if j.ID != scheduler.JobID(i) {
				t.Errorf("job %d is %v", i, j.ID)
			}
		}
	}
	for what, want := range map[string]int{
		"one rack": 1, "a rack less": 1, "one node": 1, "a node less": 1, "no other policy": 1, "no limit": 1, "no faults": 1, "no failures": 1, "no losses": 1,
		"half of the jobs": 2, "a job less": 4, "no maps": 3, "half of the maps": 3, "a map less": 3, // that with splits keeps its maps until it has none
	} {
		if got[what] != want {
			t.Errorf("%s: %d, want %d", what, got[what], want)
		}
	}
	if s.describe("") != before {
		t.Errorf("the situation has changed:\n%s", s.describe(""))
	}
	last := &Situation{Racks: 1, PerRack: 1, Node: scheduler.Capacity{Containers: 4}, Jobs: []*scheduler.JobSpec{{}}}
	if r := last.reductions(); len(r) != 0 {
		t.Errorf("%d are smaller than the smallest", len(r))
	}
}

// maps counts the jobs of a situation that have so many maps.
func maps(s *Situation, n int32) (jobs int) {
	for _, j := range s.Jobs {
		if j.Maps == n {
			jobs++
		}
	}
	return jobs
}

// TestShadowRules: each rule that a launch may break is named, by the promise that it is of.
func TestShadowRules(t *testing.T) {
	why := scheduler.Reason{Code: scheduler.Chosen, Say: "test"}
	for _, tt := range []struct {
		what    string
		do      func(s *shadow, d *scheduler.Decision)
		promise Promise
	}{
		{"nothing", func(*shadow, *scheduler.Decision) {}, ""},
		{"gone", func(_ *shadow, d *scheduler.Decision) { d.Task.Job = 9 }, Allowed},
		{"dead", func(s *shadow, _ *scheduler.Decision) { delete(s.alive, 0) }, Standing},
		{"draining", func(s *shadow, _ *scheduler.Decision) { s.draining[0] = true }, Standing},
		{"done", func(s *shadow, d *scheduler.Decision) { s.finish(d.Task) }, Once},
		{"lost", func(s *shadow, d *scheduler.Decision) {
			s.finish(d.Task)
			s.finish(d.Task)
			s.lose(d.Task)
			s.lose(d.Task)
		}, ""},
		{"running", func(s *shadow, d *scheduler.Decision) { s.running[d.Task] = []topology.NodeID{1} }, Once},
		{"a second", func(s *shadow, d *scheduler.Decision) { s.running[d.Task], d.Second = []topology.NodeID{1}, true }, ""},
		{"stopped", func(s *shadow, d *scheduler.Decision) {
			s.running[d.Task] = []topology.NodeID{1, 2}
			s.stop(d.Task, 2)
			s.stop(d.Task, 7)
			s.stop(d.Task, 1)
		}, ""},
		{"one of two stopped", func(s *shadow, d *scheduler.Decision) {
			s.running[d.Task] = []topology.NodeID{1, 2}
			s.stop(d.Task, 2)
		}, Once},
		{"a second alone", func(_ *shadow, d *scheduler.Decision) { d.Second = true }, Allowed},
		{"no words", func(_ *shadow, d *scheduler.Decision) { d.Reason.Say = "" }, Reasons},
		{"no code", func(_ *shadow, d *scheduler.Decision) { d.Reason.Code = scheduler.Unspecified }, Reasons},
		{"full", func(s *shadow, _ *scheduler.Decision) {
			s.running[scheduler.TaskID{Job: 1, Index: 8}] = []topology.NodeID{0}
			s.running[scheduler.TaskID{Job: 1, Index: 9}] = []topology.NodeID{0}
		}, Places},
		{"almost full", func(s *shadow, _ *scheduler.Decision) {
			s.running[scheduler.TaskID{Job: 1, Index: 8}] = []topology.NodeID{0}
		}, ""},
	} {
		p := Draw(1, false)
		p.Node = scheduler.Capacity{Containers: 2}
		s := newShadow(p, scheduler.DefaultConfig())
		s.specs[1] = &scheduler.JobSpec{ID: 1, Maps: 14}
		s.alive[0] = true
		d := scheduler.Run(scheduler.TaskID{Job: 1}, scheduler.Remote, why)
		tt.do(s, &d)
		err := s.launch(d, 0)
		var b *breach
		if tt.promise == "" && err != nil || tt.promise != "" && (!errors.As(err, &b) || b.promise != tt.promise) {
			t.Errorf("%s: %v, want %q", tt.what, err, tt.promise)
		}
	}
	for promises, want := range map[*Promises]time.Duration{{}: 10 * time.Minute, {Patience: time.Hour}: time.Hour} {
		if got := promises.patience(); got != want {
			t.Errorf("%v of patience, want %v", got, want)
		}
	}
}
