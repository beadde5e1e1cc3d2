package lab

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

var slowdownExperiments = []*Experiment{
	{
		ID: "slowdown-table2", Title: "The eight validation jobs alone on 60 + 20 slots", Seconds: 1,
		Source:   "slowdown.md 5, item 4",
		Question: "Does the model of a job, maps in waves and reduces that hold their slot from the first wave on, give the published run times?",
		Setup:    "Each job alone on 10 nodes with 6 map and 2 reduce slots. GREP 400/40 is a job of 400 maps and 40 reduces. The paper gives no task lengths; our specification found one length of maps and one of reduces for each job so that both published columns are met.",
		Read:     "Every row must agree to a tenth of a per cent: this tests the model of the job, not a policy. Occupancy counts slot-seconds, with the time that reduces wait in their slots; without that wait GREP 400/40 would need reduces of negative length.",
		run:      tableII,
	},
	{
		ID: "slowdown-policies", Title: "FIFO, FBQ, TAGS, SITA and COMP at loads 0.7 and 0.9", Seconds: 150,
		Source:   "slowdown.md 5, items 1-3, 6-12, 17, 20",
		Question: "Small jobs suffer behind large ones. Which policy makes slowdown, the time a job takes over the time it would take alone, small and even, and who pays?",
		Setup:    "100 nodes with 6 + 2 slots; 1,121 generated jobs with the published statistics of the paper's Facebook workload, which itself is not public; our specification calibrated the generator so that FIFO has its published level. Poisson arrivals; the same workload for every policy. Slow start 0.05 lets reduces wait in their slots, 1 does not; 0.05 and load 0.7 where a row says nothing, but items 6, 7, 11, 12 and 20 are at load 0.9.",
		Read:     "A row such as \"p95 FIFO / FBQ\" divides the mean 95th percentile of slowdown under FIFO by that under FBQ. In the distribution a curve further left is better, a steep one more even. In the scatter plot FIFO's small jobs (left) have the worst slowdowns; FBQ brings them down and raises a few of the large ones. The means by size should be flat.",
		run:      slowdownPolicies,
	},
	{
		ID: "slowdown-limits", Title: "How much the limits and partitions matter", Seconds: 240,
		Source:   "slowdown.md 5, items 13-16",
		Question: "FBQ, TAGS and SITA need a limit between small and large jobs, and TAGS and SITA a share of the nodes for the small ones (partition 1). How carefully must they be chosen?",
		Setup:    "The cluster and the jobs of slowdown-policies at load 0.7 (FBQ also at 0.9), slow start 0.05; the limit between the two queues, in slot-seconds, and the share of partition 1 are varied (\"SITA 30 %\"). The best limit is the one with the lowest V(95) whose median is at most 1.6 times FIFO's.",
		Read:     "A flat line means that the limit hardly matters. SITA's median grows with the limit, steeply from about 12,000 slot-seconds on, because ever more work goes to the partition for small jobs. For TAGS from 8,000 on a higher limit raises the median and lowers the variability; below 8,000 both get worse, probably because too much work goes to the other half of the nodes.",
		run:      slowdownLimits,
	},
	{
		ID: "slowdown-validation", Title: "Fifty jobs on the validation cluster", Seconds: 6,
		Source:   "slowdown.md 5, item 5 (the simulator's side)",
		Question: "What do the policies do on the small cluster on which the paper checked its simulator against reality?",
		Setup:    "50 jobs of the eight kinds of slowdown-table2, Poisson arrivals at load 0.7, 10 nodes with 6 + 2 slots; limits of 160 slot-seconds for FBQ, 120 for TAGS and 160 for SITA, both with 30 % of the nodes for small jobs; many arrival sequences.",
		Read:     "No numbers were published, so nothing is judged; the figures of our specification's own model stand beside ours. Under the chart stands which differs most. A median of 1 means that half of the jobs do not wait at all.",
		run:      slowdownValidation,
	},
	{
		ID: "slowdown-heartbeat", Title: "What periodic heartbeats cost", Seconds: 30,
		Source:   "slowdown.md 5, item 19",
		Question: "The paper's simulator lets a slot ask for work at once. What if nodes only ask every 3 s?",
		Setup:    "The cluster and the jobs of slowdown-policies at load 0.7, slow start 0.05, once with slots that ask at once and once with a heartbeat of 3 s.",
		Read:     "Slots idle between the end of a task and the next heartbeat, so every median should rise. Above 1 the median is worse with heartbeats.",
		run:      slowdownHeartbeat,
	},
	{
		ID: "slowdown-restart", Title: "TAGS that starts jobs again", Seconds: 12,
		Source:   "slowdown.md 5, item 21",
		Question: "TAGS comes from servers that kill a job and start it again elsewhere. What would that cost here?",
		Setup:    "TAGS on the cluster and the jobs of slowdown-policies at load 0.7, slow start 0.05: as published, keeping the work of jobs that move to the second queue, and with restart, which stops them and forgets what they have done.",
		Read:     "Work done twice is load added: the first row says by which factor the work grows. Most jobs are small and never move; the 95th percentile is where the jobs are that do.",
		run:      slowdownRestart,
	},
	{
		ID: "slowdown-analytic", Title: "One slot against queueing theory", Seconds: 75,
		Source:   "slowdown.md 5, item 18",
		Question: "Does the simulator agree with what is known exactly?",
		Setup:    "One map slot; 400,000 jobs of tasks of one second; the number of a job's tasks lies between 5 and 500 with a heavy tail (bounded Pareto with exponent 1.5); Poisson arrivals at loads 0.7 and 0.9.",
		Read:     "Nothing here was published by the paper: the second column is theory. The formula of Pollaczek and Khinchine gives FIFO's mean wait; processor sharing, which FAIR comes close to with one slot, gives every size the mean slowdown 1/(1 - load).",
		run:      slowdownAnalytic,
	},
}

// slotted is a cluster of one rack with map and reduce slots.
func slotted(nodes int, maps, reduces int32) (sim.Config, error) {
	topo, err := topology.Uniform(1, nodes, 0, 0)
	return sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{MapSlots: maps, ReduceSlots: reduces},
		State: scheduler.DefaultConfig(), Model: sim.NewFixed(),
	}, err
}

func tableII(r *Recorder) error {
	r.seeds(1, 1)
	var watch *Watcher // of the last and largest
	for _, c := range tableIIJobs {
		cfg, err := slotted(10, 6, 2)
		if err != nil {
			return err
		}
		if cfg.Policy, err = policies.Policy("fifo", nil); err != nil {
			return err
		}
		watch = &Watcher{Keys: []string{"maps", "reduces (waiting until all maps are done)"}, Of: byKind}
		watch.Attach(&cfg)
		res, err := sim.Run(cfg, []*sim.Job{{
			Spec: &scheduler.JobSpec{Maps: c.maps, Reduces: c.reduces},
			Maps: []time.Duration{seconds(c.m)}, Reduces: []time.Duration{seconds(c.r)},
		}})
		if err != nil {
			return err
		}
		why := "task lengths calibrated by our specification"
		if c.name == "GREP 50/5" {
			why += "; the paper prints an occupancy of 155.32 slot-seconds, a decimal slip: 55 tasks of this run time cannot come from so little work"
		}
		r.within("4: "+c.name+" run time, s", res.Jobs[0].Execution().Seconds(), c.run, 0.001*c.run, why)
		r.within("4: "+c.name+" occupancy, s", res.Jobs[0].Occupied.Seconds(), c.size, 0.001*c.size, "in slot-seconds; "+why)
	}
	drawTableII(r)
	last := tableIIJobs[len(tableIIJobs)-1]
	area := watch.Area("Slots held by "+last.name+" alone", seconds(last.run))
	area.Y.Label = "slots"
	r.figure("waves", "Ten waves of 60 maps. Twenty reduces take their slots after the first wave and wait there until the last map is done; then three waves of reduces follow.", area)
	return nil
}

// tableIIJobs are the rows of Table II with the task lengths of slowdown.md 4.3, and how
// many of the fifty validation jobs are of each.
var tableIIJobs = []struct {
	name            string
	maps, reduces   int32
	m, r, size, run float64
	jobs            int
}{
	{"GREP 2/1", 2, 1, 27.04, 9.06, 63.14, 36.10, 26},
	{"SORT 4/1", 4, 1, 9.17, 23.53, 60.20, 32.70, 4},
	{"WCOUNT 4/1", 4, 1, 28.03, 14.01, 126.14, 42.04, 4},
	{"GREP 50/5", 50, 5, 29.76, 13.07, 1553.2, 42.83, 4},
	{"WCOUNT 100/10", 100, 10, 32.47, 21.86, 3790.46, 86.80, 3},
	{"SORT 200/20", 200, 20, 12.20, 101.11, 5194.64, 149.92, 3},
	{"GREP 400/40", 400, 40, 29.01, 15.27, 15697.18, 233.63, 3},
	{"WCOUNT 600/60", 600, 60, 25.98, 106.65, 26662.53, 579.73, 3},
}
