package lab

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

var capacityExperiments = []*Experiment{
	{
		ID: "capacity-locality", Title: "How many maps run beside their data, in all 32 experiments", Seconds: 90,
		Source:   "capacity.md 6, item 1",
		Question: "Which jobs find a slot on a node that holds their data, and do the settings of the scheduler matter for it?",
		Setup:    "30 nodes with 4 map and 4 reduce slots in one rack, 100 jobs of seven types in two sides, three replicas of each block of 64 MB; all 32 experiments. As a control one of them with one replica only.",
		Read:     "A job of one map takes the first slot offered, which holds its block with probability 3/30; a job of many maps can choose. The law says how many maps stay without local data; the long types have somewhat more of them, here as in the source. The settings hardly matter: the smallest and the largest share of a type in 32 experiments lie less than 15 points apart.",
		run:      capacityLocality,
	},
	{
		ID: "capacity-phased", Title: "User limits and response ratio when small jobs come last", Seconds: 15,
		Source:   "capacity.md 6, items 2, 3, 7",
		Question: "Long jobs come first, small ones later. Who waits, and what does the minimum user limit (MULP) change?",
		Setup:    "Experiments 1 to 8: two queues of 50 %, in each ten long jobs first, then forty small ones, one a second; settings a to h: with and without a cap, user limit factor 1 or 2, MULP 100 or 25.",
		Read:     "Response ratio is elapsed over execution time: 1 means that the job never waited. With MULP 100 the queue is first come, first served; with 25 four users share it, and late jobs gain most. Of the small types only the quotient of both limits is checked: here they wait longer than published under MULP 100, and less under 25.",
		run:      capacityPhased,
	},
	{
		ID: "capacity-separate", Title: "Queues of their own for small jobs, against shared ones", Seconds: 18,
		Source:   "capacity.md 6, items 3-5",
		Question: "Should small jobs have a queue of their own?",
		Setup:    "Four small jobs, then a long one, and so on; in one queue a side (experiments 17 to 24), or long jobs in queues of 40 % and small ones in queues of 10 %, with caps (experiments 26, 29, 30 and 32).",
		Read:     "With caps the long jobs cannot take the small jobs' slots, and no small type waits for more than about half of its execution time. In a shared queue with MULP 100 they wait longer than they run.",
		run:      capacitySeparate,
	},
	{
		ID: "capacity-unequal", Title: "Queues of 70 and 30 per cent with caps", Seconds: 6,
		Source:   "capacity.md 6, item 6",
		Question: "The same jobs in a queue of 70 % and in one of 30 %: how much worse off is the second?",
		Setup:    "Experiment 10: long jobs first as in capacity-phased, capacities of 70 and 30 %, caps at the capacity, MULP 100.",
		Read:     "The dot of the 30 % queue lies further right for every type. The makespans differ by a factor of about 1.6, less than the capacities.",
		run:      capacityUnequal,
	},
	{
		ID: "capacity-uncapped", Title: "Unequal queues without caps: the published numbers and the documented rule", Seconds: 10,
		Source:   "capacity.md 6 (last paragraph), 7.1",
		Question: "Without caps the source reports that a 30 % queue does as well as a 70 % queue, and that idle queues of 10 % starve. Can the documented order of queues do that?",
		Setup:    "Experiments 9, 25 and 28 with the documented order (least occupied share first) and with an order by backlog, which is our inference from the numbers and in no text. Experiment 9 has queues of 70 and 30 %; experiments 25 and 28 have two queues of 40 % for the long jobs and two of 10 % for the small ones.",
		Read:     "The documented rule comes near some of the published response ratios, but cannot give the published makespans: without caps an idle queue is served by the next slots that are freed. An order by backlog comes close to both. By the documented rule the small queues are done at about 300 s, in the source at about 1,200. The source's advice always to cap leans on this.",
		run:      capacityUncapped,
	},
	{
		ID: "capacity-inert", Title: "Settings that cannot matter do not", Seconds: 10,
		Source:   "capacity.md 6, items 7 and 8",
		Question: "A user limit factor above 1 lets a user exceed the queue's capacity. With a cap at the capacity it must change nothing.",
		Setup:    "Pairs of experiments that differ in the factor only, with the same random numbers, compared job by job. Then experiment 2 with and without its small jobs.",
		Read:     "Every point lies on the diagonal: each job ends at the same time in both experiments of a pair.",
		run:      capacityInert,
	},
	{
		ID: "capacity-variability", Title: "How much a job's execution time varies", Seconds: 12,
		Source:   "capacity.md 6, item 9",
		Question: "The same workload, other block placements and noise: how much does each type's execution time vary?",
		Setup:    "Experiments 2 (MULP 100) and 6 (MULP 25), both with a cap, in ten repetitions that differ in block placement and noise; the coefficient of variation of each job's execution time, averaged by type.",
		Read:     "Under MULP 25 small jobs vary most: one map or a few, local or not, beside a busy disk or not, are their whole run. Under MULP 100 a long type can vary as much as they do. The rows that are checked ask for directions; under MULP 25 types 5 and 6 vary far more here than published and type 7 less, and the reason is not known.",
		run:      capacityVariability,
	},
	{
		ID: "capacity-arithmetic", Title: "User limits and initialisation limits as numbers", Seconds: 1,
		Source:   "capacity.md 6, items 10 and 11",
		Question: "How many slots may one user of a queue hold, how many jobs may be under way at once, and do these limits hold in a run?",
		Setup:    "The formula of the user limit for ten cases that follow from the documented rule (\"60 slots\" is the queue's capacity, \"users\" are those with tasks to run). Then runs on 5 workers: two queues of 50 %, three users with a job of 75 maps and 1 reduce in each, with maximum-system-jobs 2, 4 and unlimited, and with limits on active tasks.",
		Read:     "A user gets an equal part of the queue, but never less than MULP per cent of it. Fewer jobs at once means longer waits.",
		run:      capacityArithmetic,
	},
	{
		ID: "capacity-small", Title: "The orderings of the small real cluster", Seconds: 2,
		Source:   "capacity.md 6, items 12 and 13",
		Question: "The source measured one setting at a time on five real workers. Does the simulator show the same directions?",
		Setup:    "5 workers with 2 map and 2 reduce slots; each queue has three users with a job of 75 maps and 1 reduce each, 1 s apart. The rows on MULP have one queue with four users whose jobs come together; the last two rows have one queue with three jobs of different priority. All jobs cost what the TeraSort of the source's simulator costs, whatever they are called.",
		Read:     "Only orderings are compared, and each row accepts a wide range: the source's data and machines differ. In the rows and in the chart 50-50 is two queues of 50 %, 90-10 two queues of 90 and 10 %.",
		run:      capacitySmall,
	},
	{
		ID: "capacity-pairs", Title: "Two reduces on one node", Seconds: 2,
		Source:   "capacity.md 6, item 14",
		Question: "Reduces that share a node's disk slow each other down. By how much?",
		Setup:    "Two reduces of 100 s that share one device, the second started later. Then, on 4 workers, the workload with which the source validated its simulator: four TeraSorts of 32 maps, each followed by a Sort of 16, with 1 and with 2 reduce slots on a node.",
		Read:     "Times are those of TeraSort reduces from the end of their job's last map on. A reduce that had company on its node needs longer on average; with one reduce slot on a node there is no company.",
		run:      capacityPairs,
	},
	{
		ID: "capacity-delay", Title: "Waiting for a node with the data (an extension)", Seconds: 3,
		Source:   "capacity.md 6, item 16 (not published)",
		Question: "Nearly every job of one map runs away from its data (capacity-locality). What if a job passed up such slots for a while?",
		Setup:    "Experiment 2, in which a job passes up to as many slots as there are nodes (30) before it takes a map that is only rack-local. Nothing of this was published; the expectation is arithmetic: 30 random nodes all miss the data with probability 0.9 to the power 30, about 4 %.",
		Read:     "Patience brings the small types to their data and costs little: the last row and the caption of the chart say by how much the response ratio of type 5 rises.",
		run:      capacityDelay,
	},
}

// capType is a row of capacity.md Table 4.1.
type capType struct {
	count         int // jobs of a side
	maps, reduces int32
	cost          sim.Cost
}

var capTypes = []capType{
	{4, 100, 15, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 5, ReduceCycles: 40}},
	{3, 200, 1, sim.Cost{ShuffleRatio: 0.025, OutputRatio: 3, MapCycles: 40, ReduceCycles: 5}},
	{2, 400, 30, sim.Cost{ShuffleRatio: 3, OutputRatio: 0.025, MapCycles: 40, ReduceCycles: 40}},
	{1, 800, 8, sim.Cost{ShuffleRatio: 0.075, OutputRatio: 0.0005, MapCycles: 20, ReduceCycles: 20}},
	{24, 1, 1, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 1, ReduceCycles: 1}},
	{12, 2, 1, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 1, ReduceCycles: 1}},
	{4, 10, 1, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 1, ReduceCycles: 1}},
}

const longTypes = 4

// capSetting is one of the settings a to h of capacity.md 5.3.
type capSetting struct {
	capped    bool
	factor    int
	userLimit int
	name      string
}

var capSettings = []capSetting{
	{false, 1, 100, "a"},
	{true, 1, 100, "b"},
	{false, 2, 100, "c"},
	{false, 1, 25, "d"},
	{true, 2, 100, "e"},
	{true, 1, 25, "f"},
	{false, 2, 25, "g"},
	{true, 2, 25, "h"},
}

// capOrder returns the types of a side's fifty jobs in the order they are submitted.
func capOrder(phased bool) []int {
	var long, small []int
	for i, t := range capTypes {
		for range t.count {
			if i < longTypes {
				long = append(long, i)
			} else {
				small = append(small, i)
			}
		}
	}
	if phased {
		return append(long, small...)
	}
	var out []int
	for i, l := range long {
		out = append(append(out, small[4*i:4*i+4]...), l)
	}
	return out
}

const (
	capNodes  = 30
	capBlock  = 64 << 20
	capCopies = 3
)

// capJobs makes both sides' jobs; queue names a job's queue by side and type.
func capJobs(phased bool, o capOptions, queue func(side, typ int) string, rng *rand.Rand) []*sim.Job {
	var jobs []*sim.Job
	for side := range 2 {
		for i, typ := range capOrder(phased) {
			if o.longOnly && typ >= longTypes {
				continue
			}
			t := capTypes[typ]
			id := scheduler.JobID(len(jobs))
			spec := &scheduler.JobSpec{
				ID: id, Name: fmt.Sprint("type ", typ+1), User: fmt.Sprint("u", id), Queue: queue(side, typ),
				Submit: time.Duration(i) * time.Second, Maps: t.maps, Reduces: t.reduces,
			}
			for range t.maps {
				spec.Splits.Add(capBlock, replicas(rng, o.copies)...)
			}
			jobs = append(jobs, &sim.Job{Spec: spec, Cost: t.cost})
		}
	}
	return jobs
}

func replicas(rng *rand.Rand, copies int) []topology.NodeID {
	var out []topology.NodeID
	for _, n := range rng.Perm(capNodes)[:copies] {
		out = append(out, topology.NodeID(n))
	}
	return out
}

// capGroup is a row of capacity.md 5.3: a pattern with its capacities.
type capGroup struct {
	first     int // number of its experiment a
	phased    bool
	queues    map[string]int
	queueName func(side, typ int) string
}

func bySide(side, _ int) string { return fmt.Sprint("q", side+1) }

func bySize(side, typ int) string {
	if typ < longTypes {
		return fmt.Sprint("long", side+1)
	}
	return fmt.Sprint("small", side+1)
}

var capGroups = []capGroup{
	{1, true, map[string]int{"q1": 50, "q2": 50}, bySide},
	{9, true, map[string]int{"q1": 70, "q2": 30}, bySide},
	{17, false, map[string]int{"q1": 50, "q2": 50}, bySide},
	{25, false, map[string]int{"long1": 40, "long2": 40, "small1": 10, "small2": 10}, bySize},
}

// params writes the queues as the policy wants them.
func (g capGroup) params(s capSetting, lag string) map[string]string {
	queues, caps := "", ""
	for _, name := range []string{"q1", "q2", "long1", "long2", "small1", "small2"} {
		if share, ok := g.queues[name]; ok {
			queues += fmt.Sprintf(",%s=%d", name, share)
			caps += fmt.Sprintf(",%s=%d", name, share)
		}
	}
	p := map[string]string{
		"queues": queues[1:], "user-limit": fmt.Sprintf("*=%d", s.userLimit),
		"user-limit-factor": fmt.Sprintf("*=%d", s.factor), "usage-lag": lag,
	}
	if s.capped {
		p["max-capacity"] = caps[1:]
	}
	return p
}

// capOptions are what experiments vary beside the settings.
type capOptions struct {
	lag      string
	copies   int
	longOnly bool              // without the small jobs
	params   map[string]string // of the policy, further ones
	watch    *Watcher          // of the first repetition
}

// capBase is the base configuration of capacity.md 6.
func capBase() capOptions { return capOptions{lag: capLag, copies: capCopies} }
