package policies

import (
	"slices"
	"strings"
)

// An Input is something that a job says of itself and that policies read.
type Input struct {
	Flag   string   // of millrace run, of streaming, and of users' own programs
	Go     string   // field of mapreduce.Job
	API    string   // field of what job.submit takes, by JSON path
	Fields []string // of scheduler.JobSpec that it fills
	Absent string   // what is used if a job does not say it
	// Everyone says that it counts under every policy: containers are given out by it.
	Everyone bool
}

// Inputs lists all that a job can say of itself.
var Inputs = []Input{
	{"name", "Name", "name", []string{"Name"}, "the name of the built-in job, or \"job\"", false},
	{"user", "User", "user", []string{"User"}, "who submits it", false},
	{"queue", "Queue", "queue", []string{"Queue"}, "the queue \"default\"", false},
	{"pool", "Pool", "pool", []string{"Pool"}, "the pool \"default\"", false},
	{"priority", "Priority", "priority", []string{"Priority"}, "normal", false},
	{"weight", "Scheduling.Weight", "weight", []string{"Weight"}, "1", false},
	{"deadline", "Deadline", "deadline_ms", []string{"Deadline"}, "no goal: the job gets what is left", false},
	{"reduce-cost", "Scheduling.ReduceCost", "reduce_cost", []string{"ReduceCostRatio"}, "1", false},
	{"recurring", "Scheduling.Recurring", "recurring", []string{"Recurring"}, "not recurring: what was before is not trusted", false},
	{"expect-input", "Scheduling.Expect.InputBytes", "expect.input", []string{"Input"}, "the size of the input, where it is in the block store; else unknown until the job has its plan", false},
	{"expect-shuffle", "Scheduling.Expect.ShuffleBytes", "expect.shuffle", []string{"Shuffle"}, "of a recurring job, what those before it made; else unknown", false},
	{"expect-map-time", "Scheduling.Expect.MapTime", "expect.map_ms", []string{"MapTime"}, "of a recurring job, what those before it took; else unknown", false},
	{"expect-reduce-time", "Scheduling.Expect.ReduceTime", "expect.reduce_ms", []string{"ReduceTime"}, "of a recurring job, what those before it took; else unknown", false},
	{"slowstart", "Scheduling.Slowstart", "slowstart", []string{"Slowstart"}, "0.05 of the maps, or as the policy has it", false},
	{"map-vcores", "Scheduling.MapDemand.VCores", "vcores", []string{"MapDemand"}, "1", true},
	{"map-memory", "Scheduling.MapDemand.MemoryBytes", "memory_mb", []string{"MapDemand"}, "1024 MB", true},
	{"reduce-vcores", "Scheduling.ReduceDemand.VCores", "reduce.vcores", []string{"ReduceDemand"}, "as of a map", true},
	{"reduce-memory", "Scheduling.ReduceDemand.MemoryBytes", "reduce.memory_mb", []string{"ReduceDemand"}, "as of a map", true},
	{"driver-vcores", "Scheduling.DriverDemand.VCores", "driver.vcores", []string{"DriverDemand"}, "1", true},
	{"driver-memory", "Scheduling.DriverDemand.MemoryBytes", "driver.memory_mb", []string{"DriverDemand"}, "1024 MB", true},
}

const (
	groups   = "user queue pool"
	shares   = groups + " priority weight slowstart"
	sizes    = "name expect-input expect-map-time expect-reduce-time slowstart"
	shuffles = "name recurring expect-input expect-shuffle"
	planned  = shuffles + " expect-map-time expect-reduce-time"
)

// reads has the inputs of each policy, by flag, without those that count under every policy.
var reads = map[string]string{
	"fifo": "priority slowstart", "fair": shares, "delay": shares, "capacity": "user queue priority slowstart", "capacity-init": "user queue priority",
	"deadline-min": "deadline reduce-cost slowstart", "deadline-max": "deadline reduce-cost slowstart", "fbq": "slowstart", "tags": "slowstart",
	"sita": sizes, "comp": sizes, "srpt": sizes,
	"nas": groups + " " + shuffles, "nas-mts": groups + " " + shuffles, "nas-mts-ca": groups + " " + shuffles, "nas-no-both": groups + " " + shuffles,
	"nas-no-mct": groups + " " + shuffles, "nas-no-tt": groups + " " + shuffles, "shufflewatcher": groups, "sw-delay": groups,
	"jobpacker": planned, "jobpacker-adhoc-agg": planned, "corral": planned,
	"hybrid":    shares + " recurring expect-input expect-shuffle",
	"unlimited": "priority", "marp": "priority", "cbt": "priority", "cbtws": "priority", "cbtwat": "priority",
}

// InputsOf returns what the policy of that name reads of a job; what counts under every policy comes last.
func InputsOf(name string) (out []Input) {
	own := strings.Fields(reads[name])
	for _, i := range Inputs {
		if slices.Contains(own, i.Flag) || i.Everyone {
			out = append(out, i)
		}
	}
	return out
}
