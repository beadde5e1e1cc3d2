package live

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/sim"
)

// All are the laboratories, in the order in which a class may take them.
var All = []*Laboratory{&smallJobs, &marpCurve, &deadlines, &queues, &users, &locality, &narrowLinks, &nasParts, &twoClasses, &batches, &circuits, &adhoc, &table2, &fourDeadlines, &sixTeraSorts}

// policy is an arm without a limit for drivers; params are name and value by turns.
func policy(name string, quick bool, params ...string) Arm {
	return Arm{Name: name, Policy: chosen(name, params), Admission: drive.Named{Name: "unlimited"}, Quick: quick}
}

// admission is an arm of fair sharing.
func admission(label, name string, quick bool, params ...string) Arm {
	return Arm{Name: label, Policy: drive.Named{Name: "fair"}, Admission: chosen(name, params), Quick: quick}
}

func chosen(name string, params []string) drive.Named {
	n := drive.Named{Name: name}
	for i := 0; i+1 < len(params); i += 2 {
		if n.Params == nil {
			n.Params = map[string]string{}
		}
		n.Params[params[i]] = params[i+1]
	}
	return n
}

// shape is what a job is like.
type shape struct {
	maps, reduces       int
	mapTime, reduceTime time.Duration
}

// add appends a job. Its input is a MiB for each map, for policies that go by size.
func add(jobs []*sim.Job, name string, at time.Duration, s shape) []*sim.Job {
	times := func(n int, each time.Duration) (out []time.Duration) {
		for range n {
			out = append(out, each)
		}
		return out
	}
	return append(jobs, &sim.Job{
		Spec: &scheduler.JobSpec{
			ID: scheduler.JobID(len(jobs) + 1), Name: name, Pool: name, Submit: at, Maps: int32(s.maps), Reduces: int32(s.reduces),
			Input: scheduler.Bytes(int64(s.maps) << 20), Shuffle: scheduler.Bytes(int64(s.maps) << 10), MapTime: s.mapTime, ReduceTime: s.reduceTime,
		},
		Maps: times(s.maps, s.mapTime), Reduces: times(s.reduces, s.reduceTime),
	})
}

const ms = time.Millisecond

// bulk is a job of many short tasks: if others are to get its containers, some become free all the time, on a cluster
// and in the simulator alike. Long tasks end in waves, so that milliseconds decide whether a job just misses a wave.
func bulk(quick bool) shape {
	if quick {
		return shape{maps: 120, mapTime: 150 * ms}
	}
	return shape{maps: 240, mapTime: 150 * ms}
}

// little is a job that has its containers at once or waits for a bulk of others.
var little = shape{maps: 6, mapTime: 500 * ms}

var smallJobs = Laboratory{
	ID: "small-jobs", Title: "How long do small jobs wait beside a large one?", Source: "spec/slowdown 4", Seconds: 75,
	Machines: uniform(1, 4, 3),
	Arms: []Arm{
		policy("fifo", true), policy("fair", true), policy("srpt", false), policy("fbq", true, "limits", "10"),
		policy("tags", false, "limits", "10"), policy("sita", false, "limits", "10", "shares", "0.5,0.5"), policy("comp", false),
	},
	Jobs: func(quick bool) []*sim.Job {
		var jobs []*sim.Job
		// comp compares a job with the last one to end, and decides between equals at random: each small job is smaller
		// than those before it.
		for i := range 3 {
			jobs = add(jobs, "earlier", time.Duration(500*i)*ms, shape{maps: 8, mapTime: 500 * ms})
		}
		jobs = add(jobs, "large", 3*time.Second, bulk(quick))
		small := 5
		if quick {
			small = 3
		}
		for i := range small {
			jobs = add(jobs, "small", time.Duration(3500+500*i)*ms, shape{maps: 7 - i, mapTime: 500 * ms})
		}
		return jobs
	},
	Measures:  []Measure{mean("small jobs", named("small")), mean("the large job", named("large"))},
	Published: "small jobs fare worst under fifo and best under policies that go by size",
	Statements: []Statement{
		lessThan("fbq", "small jobs", "fifo", "spec/slowdown 4.4"), lessThan("sita", "small jobs", "fifo", "spec/slowdown 4.4"), lessThan("comp", "small jobs", "fifo", "spec/slowdown 4.4"),
		moreThan("sita", "the large job", "fifo", "spec/slowdown 4.4"),
	},
}

var marpCurve = Laboratory{
	ID: "marp-curve", Title: "How many drivers may hold containers?", Source: "spec/marp 4", Seconds: 240,
	Machines: Machines{Racks: 1, Classes: []Class{{Count: 3, Containers: 4, Speed: 1}}}, // emulated, so that controllers see how idle they are
	Arms: []Arm{
		admission("marp 0.1", "marp", true, "marp", "0.1"), admission("marp 0.25", "marp", true, "marp", "0.25"), admission("marp 0.5", "marp", false, "marp", "0.5"),
		admission("marp 0.75", "marp", true, "marp", "0.75"), controller("cbt", true), controller("cbtws", false), controller("cbtwat", false),
		admission("unlimited", "unlimited", false), admission("capacity-init, 3 jobs", "capacity-init", false, "max-system-jobs", "3", "poll", "100ms"),
	},
	Jobs: func(quick bool) []*sim.Job {
		n := 9
		if quick {
			n = 6
		}
		var jobs []*sim.Job
		for range n {
			jobs = add(jobs, "job", 0, shape{maps: 6, reduces: 1, mapTime: time.Second, reduceTime: 1500 * ms})
		}
		return jobs
	},
	Measures:  []Measure{mean("a job", every), makespan},
	Published: "a curve with its best between the ends: few drivers leave containers idle, many leave none for tasks",
	Statements: []Statement{
		lessThan("marp 0.25", "all jobs", "marp 0.1", "spec/marp 2.3"), moreThan("marp 0.75", "all jobs", "marp 0.25", "spec/marp 2.3"),
		is("cbt", "all jobs", 0.89, "unlimited", "spec/marp 5.2"), is("cbtws", "all jobs", 0.82, "unlimited", "spec/marp 5.2"), is("cbtwat", "all jobs", 0.81, "unlimited", "spec/marp 5.2"),
	},
}

// controller is an adaptive admission policy, five times as fast as the source's, because the jobs are so much shorter.
func controller(name string, quick bool) Arm { return admission(name, name, quick, "time-scale", "5") }

var deadlines = Laboratory{
	ID: "deadlines", Title: "Who meets deadlines?", Source: "spec/deadline 4", Seconds: 60,
	Machines: uniform(1, 4, 3),
	Arms:     []Arm{policy("fifo", true), policy("fair", false), policy("deadline-min", true), policy("deadline-max", true)},
	Jobs: func(quick bool) []*sim.Job {
		jobs := add(nil, "patient", 0, bulk(quick))
		jobs[0].Spec.Deadline = time.Minute
		for i := range 3 {
			jobs = add(jobs, "urgent", time.Duration(500+500*i)*ms, little)
			jobs[i+1].Spec.Deadline = jobs[i+1].Spec.Submit + 1500*ms
		}
		return jobs
	},
	Measures:  []Measure{mean("urgent jobs", named("urgent")), mean("the patient job", named("patient")), inTime},
	Published: "a policy that knows deadlines meets those that fifo misses",
	Statements: []Statement{
		lessThan("deadline-min", "urgent jobs", "fair", "spec/deadline 4.5"), lessThan("deadline-max", "urgent jobs", "fair", "spec/deadline 4.6"),
		moreThan("deadline-min", "the patient job", "deadline-max", "spec/deadline 4.5"),
	},
}

var queues = Laboratory{
	ID: "queues", Title: "Does a queue keep its share?", Source: "spec/capacity 4", Seconds: 15,
	Machines: uniform(1, 4, 3),
	Arms:     []Arm{policy("fifo", true), policy("capacity", true, "queues", "large=75,small=25", "user-limit-factor", "*=4")},
	Jobs: func(quick bool) []*sim.Job {
		jobs := add(nil, "bulk", 0, bulk(quick))
		jobs[0].Spec.Queue = "large"
		for i := range 3 {
			jobs = add(jobs, "daily", time.Duration(500+1000*i)*ms, shape{maps: 2, mapTime: 600 * ms})
			jobs[i+1].Spec.Queue = "small"
		}
		return jobs
	},
	Measures:  []Measure{mean("queue small", queued("small")), mean("queue large", queued("large"))},
	Published: "jobs of a small queue do not wait for those of a large one",
}

// userLimit is capacity with one queue, of which a user who is not alone in it gets at least that percentage.
func userLimit(percent string) Arm {
	a := policy("capacity", true, "queues", "shared=100", "user-limit", "*="+percent)
	a.Name = "user limit " + percent
	return a
}

var users = Laboratory{
	ID: "users", Title: "Does a queue serve its users in turn, or all at once?", Source: "spec/capacity 5.1", Seconds: 30,
	Machines: uniform(1, 4, 3),
	Arms:     []Arm{userLimit("100"), userLimit("50"), userLimit("25")},
	Jobs: func(quick bool) (jobs []*sim.Job) {
		s := shape{maps: 80, mapTime: 150 * ms}
		if quick {
			s.maps = 48
		}
		for _, user := range []string{"ann", "bob", "cat", "dan"} {
			jobs = add(jobs, user, 0, s)
			last := jobs[len(jobs)-1].Spec
			last.User, last.Queue = user, "shared"
		}
		return jobs
	},
	Measures:  []Measure{mean("the first user's job", named("ann")), mean("the last user's job", named("dan")), mean("a job", every), makespan},
	Published: "with 25 per cent tasks of all users run beside each other: each waits less and takes longer; with 100 who came first is served first",
	Statements: []Statement{
		moreThan("user limit 25", "the first user's job", "user limit 100", "spec/capacity 5.1"), is("user limit 25", "all jobs", 1.2, "user limit 100", "spec/capacity 5.1"),
	},
}
