package examine

import (
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
