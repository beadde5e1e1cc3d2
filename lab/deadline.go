package lab

import (
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

var deadlineExperiments = []*Experiment{
	{
		ID: "deadline-goals", Title: "Four jobs with goals under min, max and fair", Seconds: 8,
		Source:   "deadline.md 5, items 1-7, 11",
		Question: "A job has a goal: a time by which it should be done. Is it better to give it just as many slots as it seems to need (min), or to hand out all slots and order jobs by how much they lack (max)? And can weights of a fair scheduler do the same?",
		Setup:    "60 workers with one map and one reduce slot. J1 (6,400 simulations, goal 6,000 s) comes at 0, J2 (WordCount, 738 maps, goal 3,000 s) at 1,000 s, two Joins (1,000 short maps, goal 150 s) at 2,000 and 3,000 s. Goals count from a job's submission. Task lengths were chosen so that each job alone takes as long as published.",
		Read:     "The charts of slots correspond to figures 4 to 7 of the source. Under min J1 falls to about 20 slots, because its first tasks are short, and is late when the long ones come. Under max it uses what nobody else needs and is early. Under fair without weights the Joins get a third of the slots and take nearly twice their goals. Under min and max they end about a tenth after their goals, and with the tail reserve about at them (min) or before them (max).",
		run:      deadlineGoals,
	},
	{
		ID: "deadline-estimator", Title: "How well a job's completion is foreseen from its own tasks", Seconds: 3,
		Source:   "deadline.md 5, items 8-10",
		Question: "A job's end is foreseen from the mean length of its finished maps. How wrong is that, and when is it right?",
		Setup:    "Each application runs alone on 60 slots; every 3 s between its first and its last finished map the forecast is compared with what really happened.",
		Read:     "Above 0 the forecast is too late, below too early. Regular tasks (WordCount) are foreseen within 5 % for most of the run; tasks that get longer (Simulator) make the forecast optimistic until late in the run; a slow first wave (Join) makes it pessimistic at first.",
		run:      deadlineEstimator,
	},
	{
		ID: "deadline-late", Title: "Jobs that have missed their goals share what there is", Seconds: 1,
		Source:   "deadline.md 5, item 13",
		Question: "Two jobs cannot meet their goals any more. Does one of them starve?",
		Setup:    "Both come at 0, with 600 maps of 8 to 12 s each and goals of 10 and 60 s; 60 slots, max. All their work takes more than 200 s.",
		Read:     "What is made equal is not the number of slots but the lateness. From 10 to 60 s only one job is late; once the first maps of the other have ended (at about 20 s), the late one holds all slots. From 60 s on both are: the job with the goal of 60 s has more work left and would be later, so it gets more slots (about 38 of 60). It ends later on the clock, but both end about equally late after their own goals: the first row has the difference, the caption of the chart both times (first repetition).",
		run:      deadlineLate,
	},
	{
		ID: "deadline-rules", Title: "The order of states, and weights from slack", Seconds: 1,
		Source:   "deadline.md 5, items 12 and 14",
		Question: "Do the rules give the weights that the paper used, and are jobs served in the order of their states?",
		Setup:    "A job's weight is the largest slack of all jobs over its own; slack is the goal minus the time alone: 6,000 - 3,549, 3,000 - 1,264 and 20 s. Then 50 runs with one slot and three jobs: one that has passed its goal, one that is new, and one that has finished tasks.",
		Read:     "In the chart of tasks the job with data runs its first map alone; then the late job runs all of its maps, then the new one, then the rest of the job with data.",
		run:      deadlineRules,
	},
	{
		ID: "deadline-shrink", Title: "A third of the workers leave in the middle", Seconds: 4,
		Source:   "deadline.md 5, item 17 (not in the source: robustness)",
		Question: "Do jobs still meet their goals when the cluster shrinks?",
		Setup:    "As deadline-goals, but 20 of 60 workers are taken away at 2,500 s; the output of their finished maps stays readable, what they run starts again elsewhere.",
		Read:     "After 2,500 s no more than 40 slots are in use, and max gives J2 what it now needs: its goal of 3,000 s counts from its submission at 1,000 s, so its maps may run until 4,000 s on the time axis. J1 ends about at its goal under max and well after it under min. Nothing of this was published.",
		run:      deadlineShrink,
	},
}

// The jobs of deadline.md 4.2; times of 4.3, in launch order, calibrated there so that
// isolated run times match.
func simulatorJob(rng *rand.Rand) *sim.Job {
	j := &sim.Job{Spec: &scheduler.JobSpec{Name: "simulator", Reduces: 1}, Reduces: []time.Duration{20 * time.Second}}
	for _, block := range []float64{18.2, 25, 33.4, 52} {
		for range 1600 {
			j.Maps = append(j.Maps, seconds(min(lognormal(rng, block, 0.5), 4*block)))
		}
	}
	return j
}

func wordCountJob(rng *rand.Rand) *sim.Job {
	j := &sim.Job{Spec: &scheduler.JobSpec{Name: "wordcount", Reduces: 1}, Reduces: []time.Duration{75 * time.Second}}
	for i := range 738 {
		low, high := 80.0, 100.0
		if i < 60 {
			low, high = 95, 110
		}
		j.Maps = append(j.Maps, seconds(low+(high-low)*rng.Float64()))
	}
	return j
}

func joinJob(rng *rand.Rand) *sim.Job {
	j := &sim.Job{Spec: &scheduler.JobSpec{Name: "join", Reduces: 4}, Reduces: []time.Duration{10 * time.Second}}
	for i := range 1000 {
		d := min(lognormal(rng, 4, 0.8), 25)
		if i < 60 {
			d = 15 + 10*rng.Float64()
		}
		j.Maps = append(j.Maps, seconds(d))
	}
	return j
}
