package lab

import (
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

const marpSetup = "Three nodes of 17 GB in one machine with 16 hardware threads and one disk; drivers of 2 GB, tasks of 1 GB; Fair Scheduler; the cost profile of marp.md Appendix A, which was fitted there to some of the published means."

var marpExperiments = []*Experiment{
	{
		ID: "marp-slots", Title: "How many drivers a MARP admits, and what drifts", Seconds: 1,
		Source:   "marp.md 6, items 1 and 3",
		Question: "MARP is the part of the cluster that drivers may hold. How many jobs is that, what happens to the count as controllers raise and lower it, and from where on can jobs lock each other up?",
		Setup:    "Arithmetic on a cluster of 52,224 MB with drivers of 2,048 MB; then 24 jobs under a static MARP.",
		Read:     "The third decrease of a batch always starts one job that nobody planned. From 17 jobs on, drivers and waiting reduces can leave no room for a map.",
		run:      marpSlots,
	},
	{
		ID: "marp-controllers", Title: "The controllers decide as the scripts did", Seconds: 1,
		Source:   "marp.md 6, items 2 and 10",
		Question: "Do the controllers make the published scripts' decisions?",
		Setup:    "The golden vector of marp.md 3.6, and random sequences of progress.",
		run:      marpControllers,
	},
	{
		ID: "marp-terasort", Title: "Six TeraSorts in parallel and under three controllers", Seconds: 3,
		Source:   "marp.md 6, items 4, 9, 13, 14, 18, 19",
		Question: "Six jobs are submitted together. Is it faster to run them all at once (PRJ), or to let a controller start the next one when the processors idle?",
		Setup:    marpSetup + " Six TeraSorts of 3 GB: 24 maps and one reduce each.",
		Read:     "Under PRJ six jobs share the disk and all end late. CBT starts a job whenever the processors idle; CBTwS and CBTwAT also ask whether progress still rises. In the Gantt charts look for the staircase.",
		run:      marpTeraSort,
	},
	{
		ID: "marp-fifo", Title: "Four jobs one after the other and all at once", Seconds: 1,
		Source:   "marp.md 6, item 5",
		Question: "What does parallelism bring at all?",
		Setup:    marpSetup + " Four TeraSorts of 3 GB, one at a time (MARP 0.05) or together (0.25).",
		run:      marpFIFO,
	},
	{
		ID: "marp-others", Title: "Six WordCounts and six Sorts", Seconds: 5,
		Source:   "marp.md 6, items 6 and 7",
		Question: "Do the gains hold for other jobs?",
		Setup:    marpSetup + " Two parameters of each benchmark are refitted in Appendix A.",
		run:      marpOthers,
	},
	{
		ID: "marp-profile", Title: "The processors under a single job", Seconds: 1,
		Source:   "marp.md 6, item 8",
		Question: "When does a single job leave the processors idle?",
		Setup:    marpSetup + " One TeraSort alone.",
		Read:     "Busy during the maps, idle before and after: this is the room that a second job can use.",
		run:      marpProfile,
	},
	{
		ID: "marp-ablation", Title: "What the sleeps, the drops and the delay are good for", Seconds: 8,
		Source:   "marp.md 6, items 11, 12 and 15",
		Question: "Controllers sleep 30 s after an increase, lower MARP before a job ends, and wait for the scheduler to read its file. What if they did not?",
		Setup:    marpSetup + " Six TeraSorts; one thing is taken away at a time.",
		run:      marpAblation,
	},
	{
		ID: "marp-sweep", Title: "Every static MARP, for 6 and for 24 jobs", Seconds: 30,
		Source:   "marp.md 6, items 16 and 22",
		Question: "Is there a best MARP, and does it beat the controllers?",
		Setup:    marpSetup + " Static values; for 24 jobs also with each reduce held back until its job's last map is placed.",
		Read:     "The curve falls and rises again. Past 0.667 the 24 jobs lock up unless reduces are held back. That a static 0.13 beats every controller contradicts the source.",
		run:      marpSweep,
	},
	{
		ID: "marp-size", Title: "Larger batches and smaller jobs", Seconds: 15,
		Source:   "marp.md 6, items 17 and 21",
		Question: "From how many jobs on, and from which size of job on, does control pay?",
		Setup:    marpSetup + " 3 to 12 TeraSorts; and six whose work is cut to a quarter and a tenth.",
		run:      marpSize,
	},
	{
		ID: "marp-disk", Title: "How much disk a batch fills", Seconds: 3,
		Source:   "marp.md 6, item 20",
		Question: "Jobs keep their map output until they end. Does control keep the disks emptier?",
		Setup:    marpSetup + " Each finished map adds its 128 MB until its job ends.",
		run:      marpDisk,
	},
}

const (
	clusterMB = 3 * 17 * 1024
	driverMB  = 2048
	taskMB    = 1024
)

// batchKind is a benchmark of the source, with the work of its tasks (Appendix A).
type batchKind struct {
	maps   int
	work   float64 // thread-seconds of a map
	reduce float64 // seconds of a reduce alone
}

var (
	teraSort3  = batchKind{24, 26, 102}
	wordCount2 = batchKind{16, 45, 120}
	sort25     = batchKind{20, 60, 70}
)

const calibrated = "calibrated: marp.md Appendix A fits its profile to these means"

// scaled cuts all work.
func (k batchKind) scaled(f float64) batchKind { return batchKind{k.maps, k.work * f, k.reduce * f} }

// batch makes n jobs that are submitted together, in an order that the seed chooses.
func (k batchKind) batch(n int, rng *rand.Rand) []*sim.Job {
	run := 1 + 0.03*rng.NormFloat64()
	jobs := make([]*sim.Job, n)
	for i := range jobs {
		j := &sim.Job{
			Spec: &scheduler.JobSpec{
				ID: scheduler.JobID(i), Maps: int32(k.maps), Reduces: 1, HasDriver: true,
				DriverDemand: scheduler.Demand{VCores: 1, MemoryMB: driverMB},
				MapDemand:    scheduler.Demand{VCores: 1, MemoryMB: taskMB},
				ReduceDemand: scheduler.Demand{VCores: 1, MemoryMB: taskMB},
			},
			StartUp: seconds(15 * (1 + 0.12*(2*rng.Float64()-1))), CleanUp: 2 * time.Second,
			Reduces: []time.Duration{seconds(k.reduce * run * jitter(rng))},
		}
		for range k.maps {
			j.Maps = append(j.Maps, seconds(k.work*run*jitter(rng)))
		}
		jobs[i] = j
	}
	return jobs
}

func jitter(rng *rand.Rand) float64 { return max(0.1, 1+0.1*rng.NormFloat64()) }
