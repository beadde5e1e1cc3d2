package live

import (
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/sim"
)

// The laboratories below are workloads of documents, scaled to one machine of two cores: a hundredth or a two-hundredth of the times, and a
// fifth of the tasks of jobs that have many. docs/lab/live/ID.md has the scale of each.

// tableII are the eight kinds of job of Table II (spec/slowdown 4.3), as lab/slowdown has them: times over 100, and of jobs with 50 maps
// and more a fifth of the tasks.
var tableII = []struct {
	name string
	jobs int // of the fifty
	shape
}{
	{"grep-2", 26, shape{2, 1, 270 * ms, 91 * ms}},
	{"sort-4", 4, shape{4, 1, 92 * ms, 235 * ms}},
	{"wcount-4", 4, shape{4, 1, 280 * ms, 140 * ms}},
	{"grep-50", 4, shape{10, 1, 298 * ms, 131 * ms}},
	{"wcount-100", 3, shape{20, 2, 325 * ms, 219 * ms}},
	{"sort-200", 3, shape{40, 4, 122 * ms, 1011 * ms}},
	{"grep-400", 3, shape{80, 8, 290 * ms, 153 * ms}},
	{"wcount-600", 3, shape{120, 12, 260 * ms, 1066 * ms}},
}

// tableIIJobs are the fifty, or of a quick run every second, in the order and with the arrivals of a sequence.
func tableIIJobs(quick bool, sequence uint64) (jobs []*sim.Job) {
	var kinds []int
	for k := range tableII {
		for range tableII[k].jobs {
			kinds = append(kinds, k)
		}
	}
	rng := rand.New(rand.NewPCG(sequence, 50))
	rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	at := time.Duration(0)
	for i, k := range kinds {
		if quick && i%2 == 0 {
			continue
		}
		jobs = add(jobs, tableII[k].name, at, tableII[k].shape)
		at += time.Duration(581 * rng.ExpFloat64() * float64(ms))
	}
	return jobs
}

var table2 = Laboratory{
	ID: "table-ii", Title: "Do simulator and cluster agree on the fifty jobs of Table II?", Source: "spec/slowdown 5, item 5", Seconds: 200, Experiment: "slowdown-validation",
	Machines: uniform(1, 4, 6), // a fifth of 80 slots, and eight more for drivers, which the source's slots do not hold
	Arms: []Arm{
		driven(policy("fifo", true)), driven(policy("fbq", true, "limits", "1.6")), driven(policy("tags", false, "limits", "1.2", "shares", "0.3,0.7")),
		driven(policy("sita", false, "limits", "1.6", "shares", "0.3,0.7")), driven(policy("comp", false)),
	},
	Jobs:       func(quick bool) []*sim.Job { return tableIIJobs(quick, 1) },
	Drawn:      tableIIJobs,
	Measures:   []Measure{mean("a job", every), mean("jobs of 2 maps", named("grep-2")), mean("jobs of 600 maps", named("wcount-600")), slowdown("median slowdown", 0.5, 16), slowdown("p95 of slowdown", 0.95, 16), makespan},
	Published:  "simulator and cluster differ by less than 1 %",
	Statements: agree("median slowdown", "p95 of slowdown"),
}

// agree states that simulator and cluster agree, under the four policies that go by size.
func agree(measures ...string) (out []Statement) {
	for _, arm := range []string{"fbq", "tags", "sita", "comp"} {
		for _, m := range measures {
			out = append(out, is(arm, m, 1, simulator, "spec/slowdown 4.3").inWords("within 1 % of simulated"))
		}
	}
	return out
}

// driven returns an arm in which drivers hold at most half of the containers.
func driven(a Arm) Arm {
	a.Admission = chosen("marp", []string{"marp", "0.5"})
	return a
}

var fourDeadlines = Laboratory{
	ID: "four-deadline-jobs", Title: "Who meets the goals of the four jobs?", Source: "spec/deadline 5, items 1-5", Seconds: 110, Experiment: "deadline-goals",
	Machines: uniform(1, 4, 4), // a fifth of 60 slots, and one for each driver
	Arms:     []Arm{policy("fair", true), policy("deadline-min", true), policy("deadline-max", true)},
	Jobs: func(quick bool) (jobs []*sim.Job) {
		part := 1
		if quick {
			part = 2
		}
		jobs = add(jobs, "J1", 0, shape{1280 / part, 1, 160 * ms, 100 * ms})
		for i := range jobs[0].Maps { // they get longer
			jobs[0].Maps[i] = []time.Duration{91 * ms, 125 * ms, 167 * ms, 260 * ms}[4*i/len(jobs[0].Maps)]
		}
		jobs = add(jobs, "J2", 5*time.Second/time.Duration(part), shape{148 / part, 1, 450 * ms, 375 * ms})
		for i := range 2 {
			jobs = add(jobs, "Join", time.Duration(10+5*i)*time.Second/time.Duration(part), shape{40, 4, 100 * ms, 50 * ms})
		}
		for i, goal := range []time.Duration{30 * time.Second / time.Duration(part), 15 * time.Second / time.Duration(part), 750 * ms, 750 * ms} {
			jobs[i].Spec.Deadline = jobs[i].Spec.Submit + goal
		}
		return jobs
	},
	Measures:  []Measure{mean("the Joins", named("Join")), mean("J1", named("J1")), mean("J2", named("J2")), inTime},
	Published: "under min J1 misses its goal, under max it meets it; the Joins miss theirs under fair",
	Statements: []Statement{
		moreThan("fair", "the Joins", goal, "spec/deadline 4.7"), moreThan("deadline-min", "J1", goal, "spec/deadline 4.5"), lessThan("deadline-max", "J1", goal, "spec/deadline 4.6"),
		is("deadline-min", "J2", 1, goal, "spec/deadline 4.5").inWords("close to its goal"), is("deadline-max", "J2", 1, goal, "spec/deadline 4.6").inWords("close to its goal"),
	},
}

var sixTeraSorts = Laboratory{
	ID: "six-terasorts", Title: "How many of six TeraSorts should run at once?", Source: "spec/marp 6, items 4, 5, 16", Seconds: 40, Experiment: "marp-terasort",
	Machines: Machines{Racks: 1, Classes: []Class{{Count: 3, Containers: 8, Speed: 1}}}, // emulated, so that cbt sees how idle they are, and not this machine
	Arms: []Arm{
		admission("one by one", "marp", true, "marp", "0.05"), admission("two", "marp", true, "marp", "0.09"), admission("three", "marp", false, "marp", "0.13"),
		admission("all (PRJ)", "marp", true, "marp", "0.25"), controller("cbt", false),
	},
	Jobs: func(quick bool) (jobs []*sim.Job) {
		n := 6
		if quick {
			n = 4
		}
		for range n {
			jobs = add(jobs, "terasort", 0, shape{24, 1, 260 * ms, 1020 * ms})
		}
		return jobs
	},
	Measures:  []Measure{makespan, mean("a job", every)},
	Published: "one by one takes longest, all at once is beaten by the controllers: on one disk, which sleeping tasks do not share",
	Statements: []Statement{
		is("all (PRJ)", "all jobs", 0.634, "one by one", "spec/marp 5.1").inWords("0.63 of one by one (of four jobs)"), is("cbt", "all jobs", 0.89, "all (PRJ)", "spec/marp 5.2"),
	},
}
