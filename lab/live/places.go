package live

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// reads gives a job input in the block store: a block of so many bytes for each map.
func reads(j *sim.Job, each int64) {
	for range j.Spec.Maps {
		j.Spec.Splits.Add(each)
	}
	j.Spec.Input = scheduler.Bytes(each * int64(j.Spec.Maps))
}

// sends makes a job recurring, and gives it so many bytes to shuffle.
func sends(j *sim.Job, bytes int64) {
	j.Spec.Shuffle, j.Spec.Recurring = scheduler.Bytes(bytes), true
}

var locality = Laboratory{
	ID: "locality", Title: "Is it worth waiting for a machine that has the data?", Source: "spec/nas 3.11", Seconds: 30,
	Machines: Machines{Racks: 1, Classes: []Class{{Count: 6, Containers: 2}}, Links: topology.Links{NIC: topology.Mbps(16)}, Copies: 1},
	Arms:     []Arm{policy("fair", true), policy("delay", true), policy("fifo", false)},
	Jobs: func(quick bool) []*sim.Job {
		n := 10
		if quick {
			n = 6
		}
		var jobs []*sim.Job
		for i := range n {
			jobs = add(jobs, "job", time.Duration(300*i)*ms, shape{maps: 12, mapTime: 200 * ms})
			reads(jobs[i], 1<<20)
		}
		return jobs
	},
	Measures:   []Measure{mean("a job", every), share("maps beside their data", every, local)},
	Published:  "under delay maps run where their input is",
	Statements: []Statement{moreThan("delay", "maps beside their data", "fair", "spec/nas 3.11")},
}

// narrow is four racks of two machines with three containers each, with a fifth of what their machines could send.
func narrow() Machines {
	m := uniform(4, 8, 3)
	m.Links = topology.Links{NIC: topology.Mbps(40), Uplink: topology.Mbps(16)}
	return m
}

// heavyAndLight is jobs that recur, one in four with much to shuffle.
func heavyAndLight(quick bool) (jobs []*sim.Job) {
	n := 18
	if quick {
		n = 9
	}
	for i := range n {
		if i%4 == 0 {
			jobs = add(jobs, "heavy", time.Duration(i)*800*ms, shape{maps: 16, reduces: 4, mapTime: 400 * ms, reduceTime: 200 * ms})
			sends(jobs[i], 24e6)
		} else {
			jobs = add(jobs, "light", time.Duration(i)*800*ms, shape{maps: 8, reduces: 1, mapTime: 400 * ms, reduceTime: 200 * ms})
			sends(jobs[i], 200e3)
		}
	}
	return jobs
}

// nasArm is nas, or a part of it, with borders of light and heavy that fit these jobs.
func nasArm(name string, quick bool) Arm {
	return policy(name, quick, "light", "1000000", "heavy", "4000000")
}

var narrowLinks = Laboratory{
	ID: "narrow-links", Title: "Does it help to know the network?", Source: "spec/nas 4", Seconds: 150,
	Machines:  narrow(),
	Arms:      []Arm{policy("fair", true), nasArm("nas", true), policy("shufflewatcher", false), policy("sw-delay", false), policy("delay", false)},
	Jobs:      heavyAndLight,
	Measures:  []Measure{mean("a job", every), congested, crossed},
	Published: "nas completes jobs in 0.55 of fair's time on the source's cluster and in 0.62 in its simulator of that cluster, with fewer congestions",
	Statements: []Statement{
		is("nas", "a job", 0.554, "fair", "spec/nas 4.4"), is("sw-delay", "a job", 0.818, "fair", "spec/nas 4.4"), is("delay", "a job", 0.867, "fair", "spec/nas 4.4"),
		lessThan("nas", "congested", "fair", "spec/nas 4.4"), lessThan("sw-delay", "congested", "fair", "spec/nas 4.4"),
		lessThan("nas", "between racks", "fair", "spec/nas 4.4"), lessThan("sw-delay", "between racks", "fair", "spec/nas 4.4"),
	},
}

var nasParts = Laboratory{
	ID: "nas-parts", Title: "Which part of nas does it?", Source: "spec/nas 4", Seconds: 170,
	Machines: narrow(),
	Arms: []Arm{
		policy("fair", true), nasArm("nas", true), nasArm("nas-mts", false), nasArm("nas-mts-ca", false), nasArm("nas-no-tt", false), nasArm("nas-no-mct", false),
		nasArm("nas-no-both", true),
	},
	Jobs:      heavyAndLight,
	Measures:  []Measure{mean("a job", every), congested, crossed},
	Published: "each mechanism adds throughput: nas-mts, then nas-mts-ca, then nas; without thresholds racks are congested more often (the figures count how often, not how long)",
	Statements: []Statement{
		is("nas", "a job", 0.554, "fair", "spec/nas 4.4"), lessThan("nas-mts-ca", "a job", "nas-mts", "spec/nas 4.4"),
		lessThan("nas", "congested", "fair", "spec/nas 4.4"), lessThan("nas", "between racks", "fair", "spec/nas 4.4"),
		is("nas-no-tt", "congested", 1.22, "nas", "spec/nas 4.4"), is("nas-no-mct", "congested", 1.07, "nas", "spec/nas 4.4"), is("nas-no-both", "congested", 1.31, "nas", "spec/nas 4.4"),
		lessThan("nas-mts-ca", "between racks", "nas-mts", "spec/nas 4.4"),
	},
}

var twoClasses = Laboratory{
	ID: "two-classes", Title: "Where should small jobs run?", Source: "spec/hybrid 4", Seconds: 60,
	Machines: Machines{
		Racks: 3, Placement: "two-plus-one", Copies: 3,
		Classes: []Class{{Name: "scale-up", Count: 1, Containers: 6, Speed: 1}, {Name: "scale-out", Count: 4, Containers: 3, Speed: 0.5}},
	},
	Arms: []Arm{
		policy("fair", true), hybridArm("hybrid", true), hybridArm("hybrid without stealing", false, "steal", "false"),
	},
	Jobs: func(quick bool) []*sim.Job {
		maps := 90
		if quick {
			maps = 45
		}
		jobs := add(nil, "large", 0, shape{maps: maps, reduces: 2, mapTime: 300 * ms, reduceTime: 100 * ms})
		reads(jobs[0], 512<<10)
		small := func(at time.Duration) {
			jobs = add(jobs, "small", at, shape{maps: 4, reduces: 1, mapTime: 300 * ms, reduceTime: 100 * ms})
			reads(jobs[len(jobs)-1], 64<<10)
		}
		for i := range maps / 15 { // one after the other beside the large job
			small(time.Duration(300+600*i) * ms)
		}
		for range maps / 7 { // all at once after it
			small(time.Duration(maps) * 75 * ms)
		}
		return jobs
	},
	Measures: []Measure{
		mean("small jobs", named("small")), mean("the large job", named("large")),
		share("tasks of small jobs on strong machines", named("small"), strong), share("maps beside their data", every, local), mean("a job", every),
	},
	Published: "small jobs, on strong machines of their own, end sooner than under fair sharing of all; stealing uses weak machines that are idle",
	Statements: []Statement{
		{Arm: "hybrid", Measure: "small jobs", Of: "fair", Factor: 0.45, way: less, At: "spec/hybrid 4.3"},
		is("hybrid", "the large job", 0.9, "fair", "spec/hybrid 4.3").inWords("0.8 to 1 of fair"), is("hybrid", "a job", 0.49, "fair", "spec/hybrid 4.3"),
		is("hybrid without stealing", "a job", 1.19, "hybrid", "spec/hybrid 4.4"),
	},
}

// hybridArm is hybrid with the border between small and large at 1.7 MB.
func hybridArm(name string, quick bool, params ...string) Arm {
	a := policy("hybrid", quick, append(params, "scale", "0.0001")...)
	a.Name = name
	return a
}

// daily is jobs that recur, each with 4 MB to shuffle.
func daily(quick bool) (jobs []*sim.Job) {
	n := 12
	if quick {
		n = 6
	}
	for i := range n {
		jobs = add(jobs, fmt.Sprint("daily-", i), time.Duration(i)*300*ms, shape{maps: 6, reduces: 2, mapTime: 400 * ms, reduceTime: 200 * ms})
		sends(jobs[i], 4e6)
	}
	return jobs
}

var batches = Laboratory{
	ID: "batches", Title: "Does it help to plan recurring jobs?", Source: "spec/jobpacker 4", Seconds: 30,
	Machines: narrow(), Announced: true,
	Arms:       []Arm{policy("fair", true), policy("corral", true), policy("jobpacker", false)},
	Jobs:       daily,
	Measures:   []Measure{mean("a job", every), crossed},
	Published:  "plans keep the shuffle of a job in few racks: corral in one, jobpacker between two for which it needs circuits",
	Statements: []Statement{lessThan("corral", "between racks", "fair", "spec/jobpacker 3.13")},
}

// joined is machines with an optical switch between their racks, ten times as fast as their links. What is above nine times what a
// circuit carries in a dark time is an elephant (spec/jobpacker 2.1).
func joined(m Machines) Machines {
	m.Links.Optical = topology.OCS{Rate: 10 * m.Links.Uplink, Interval: 500 * ms, Reconfig: 10 * ms}
	m.Links.Optical.Threshold = int64(float64(m.Links.Optical.Rate) * 0.09)
	return m
}

var circuits = Laboratory{
	ID: "circuits", Title: "What do circuits between racks change?", Source: "spec/jobpacker 4", Seconds: 90,
	Machines: joined(narrow()), Announced: true,
	Arms:       []Arm{policy("fair", true), policy("corral", false), policy("jobpacker", true)},
	Jobs:       daily,
	Measures:   []Measure{mean("a job", every), crossed, medianJob},
	Published:  "jobpacker, whose shuffles go by circuits, takes less time than fair on the same network",
	Statements: []Statement{is("corral", "the median job", 0.79, "fair", "spec/jobpacker 4.2"), is("jobpacker", "the median job", 0.58, "fair", "spec/jobpacker 4.2")},
}

// recurs is jobs that somebody can plan.
func recurs(j *sim.Job) bool { return j.Spec.Recurring }

var adhoc = Laboratory{
	ID: "ad-hoc", Title: "Should jobs that nobody planned be packed, too?", Source: "spec/jobpacker 4", Seconds: 15,
	Machines: joined(narrow()), Announced: true,
	Arms: []Arm{policy("jobpacker", true), policy("jobpacker-adhoc-agg", true)},
	Jobs: func(quick bool) []*sim.Job {
		jobs, n := daily(quick), 5
		if quick {
			n = 3
		}
		for i := range n {
			jobs = add(jobs, "once", time.Duration(150+600*i)*ms, shape{maps: 12, reduces: 2, mapTime: 200 * ms, reduceTime: 100 * ms})
		}
		slices.SortStableFunc(jobs, func(a, b *sim.Job) int { return cmp.Compare(a.Spec.Submit, b.Spec.Submit) })
		for i, j := range jobs {
			j.Spec.ID = scheduler.JobID(i + 1)
		}
		return jobs
	},
	Measures:  []Measure{mean("jobs without a plan", named("once")), mean("recurring jobs", recurs), crossed},
	Published: "it is not better for the others",
	Statements: []Statement{
		moreThan("jobpacker-adhoc-agg", "jobs without a plan", "jobpacker", "spec/jobpacker 4.2"), moreThan("jobpacker-adhoc-agg", "recurring jobs", "jobpacker", "spec/jobpacker 4.2"),
	},
}
