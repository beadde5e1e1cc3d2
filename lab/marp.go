package lab

import (
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

const marpSetup = "Three nodes of 17 GB in one machine with 16 hardware threads and one disk; drivers of 2 GB, tasks of 1 GB; Fair Scheduler; a cost profile that was fitted to some of the published means."

var marpExperiments = []*Experiment{
	{
		ID: "marp-slots", Title: "How many drivers a MARP admits, and what drifts", Seconds: 1,
		Source:   "marp.md 6, items 1 and 3",
		Question: "MARP is the part of the cluster that drivers may hold. How many jobs is that, what happens to the count as controllers raise and lower it, and from where on can jobs lock each other up?",
		Setup:    "Arithmetic on a cluster of 52,224 MB with drivers of 2,048 MB; then one and 24 jobs under a static MARP; a run in which nothing can ever happen again is recognised and ended. The column \"published\" has what our specification derives from the settings of the source.",
		Read:     "The third decrease of a batch always starts one job that nobody planned. From 17 jobs on, drivers and waiting reduces can leave no room for a map.",
		run:      marpSlots,
	},
	{
		ID: "marp-controllers", Title: "The controllers decide as the scripts did", Seconds: 1,
		Source:   "marp.md 6, items 2 and 10",
		Question: "Do the controllers make the published scripts' decisions?",
		Setup:    "A worked example of 14 measurements: CBTwS and CBTwAT are shown the progress of the running jobs, with processors idle and jobs waiting. Then a first measurement with one job at any progress up to 50 points.",
		Read:     "The smoothed delta follows the raw one slowly. CBTwS starts a job where it rises by at least one point, CBTwAT where it rises by its threshold. At the first measurement the delta rises from 0, so that nearly any progress starts a job.",
		run:      marpControllers,
	},
	{
		ID: "marp-terasort", Title: "Six TeraSorts in parallel and under three controllers", Seconds: 3,
		Source:   "marp.md 6, items 4, 9, 13, 14, 18, 19",
		Question: "Six jobs are submitted together. Is it faster to run them all at once (PRJ), or to let a controller start the next one when the processors idle?",
		Setup:    marpSetup + " Six TeraSorts of 3 GB: 24 maps and one reduce each.",
		Read:     "Under PRJ six jobs share the disk and all end late. CBT starts a job whenever the processors idle; CBTwS and CBTwAT also ask whether progress gets faster. In the chart of tasks by node look for the staircase: the second job's maps begin when the first one's are done. Later steps may overlap, and two jobs may start together (a double start).",
		run:      marpTeraSort,
	},
	{
		ID: "marp-fifo", Title: "Four jobs one after the other and all at once", Seconds: 1,
		Source:   "marp.md 6, item 5",
		Question: "What does parallelism bring at all?",
		Setup:    marpSetup + " Four TeraSorts of 3 GB, one at a time (MARP 0.05) or together (0.25).",
		Read:     "Together they need about two thirds of the time: the jobs' start-ups and their single reduces run at the same time, while the maps share the processors in either case.",
		run:      marpFIFO,
	},
	{
		ID: "marp-others", Title: "Six WordCounts and six Sorts", Seconds: 5,
		Source:   "marp.md 6, items 6 and 7",
		Question: "Do the gains hold for other jobs?",
		Setup:    marpSetup + " Six WordCounts of 2 GB, six Sorts of 2.5 GB; for each program two parameters of the profile (the work of a map, the time of a reduce) were fitted again.",
		Read:     "The gains hold and are smaller for Sort. CBT gains more here than published, on Sort about as much as CBTwS.",
		run:      marpOthers,
	},
	{
		ID: "marp-profile", Title: "The processors under a single job", Seconds: 1,
		Source:   "marp.md 6, item 8",
		Question: "When does a single job leave the processors idle?",
		Setup:    marpSetup + " One TeraSort alone.",
		Read:     "Busy during the maps, mostly idle before and after: this is the room that a second job can use.",
		run:      marpProfile,
	},
	{
		ID: "marp-ablation", Title: "What the sleeps, the drops and the delay are good for", Seconds: 8,
		Source:   "marp.md 6, items 11, 12 and 15",
		Question: "Controllers sleep 30 s after an increase, lower MARP before a job ends (the drop), and wait 10 to 15 s for the scheduler to read its file (the reload delay). What if they did not?",
		Setup:    marpSetup + " Six TeraSorts; the drop, the sleep and the reload delay are taken away one at a time, and last the reload delay and the start-up of jobs together.",
		Read:     "Without the drop there are more double starts under CBTwS and CBTwAT, but batches end earlier, so the source's argument for it is weak. Without the reload delay CBT and CBTwS are faster. Without start-up as well CBTwS and CBTwAT gain more, and CBT loses nearly all that it had gained; in the specification's model it loses most of it. The reason is not known.",
		run:      marpAblation,
	},
	{
		ID: "marp-sweep", Title: "Every static MARP, for 6 and for 24 jobs", Seconds: 30,
		Source:   "marp.md 6, items 16 and 22",
		Question: "Is there a best MARP, and does it beat the controllers?",
		Setup:    marpSetup + " Six and 24 TeraSorts under static values; for 24 jobs also with each reduce held back until its job's last map is placed.",
		Read:     "The curve falls and rises again; for 24 jobs it has a second, shallow dip at 0.5. Past 0.667 the 24 jobs lock up unless reduces are held back. That a static 0.09 or 0.13 beats every controller contradicts the source, which saw no significant gain; it holds for this profile.",
		run:      marpSweep,
	},
	{
		ID: "marp-size", Title: "Larger batches and smaller jobs", Seconds: 15,
		Source:   "marp.md 6, items 17 and 21",
		Question: "From how many jobs on, and from which size of job on, does control pay?",
		Setup:    marpSetup + " 3 to 12 TeraSorts; and six whose work is cut to a quarter and a tenth. PRJ always has room for the whole batch.",
		Read:     "Control by CBTwS pays from five jobs on. Small jobs end within the delays of a controller, so that all lose at a tenth of the work and only CBT gains at a quarter.",
		run:      marpSize,
	},
	{
		ID: "marp-disk", Title: "How much disk a batch fills", Seconds: 3,
		Source:   "marp.md 6, item 20",
		Question: "Jobs keep their map output until they end. Does control keep the disks emptier?",
		Setup:    marpSetup + " Six and eight TeraSorts. Each finished map adds its 128 MB until its job ends.",
		Read:     "A controller lets some jobs end before others begin, so that less map output lies on disk at a time.",
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

const calibrated = "calibrated: the profile was fitted to the published means"

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
