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
		Setup:    "60 workers with one map and one reduce slot. J1 (6,400 simulations, goal 6,000 s) comes at 0, J2 (WordCount, 738 maps, goal 3,000 s) at 1,000 s, two Joins (1,000 short maps, goal 150 s) at 2,000 and 3,000 s. Task lengths are those of deadline.md 4.3, calibrated there so that each job alone takes as long as published.",
		Read:     "The charts of slots are figures 4 to 7 of the source. Under min J1 falls to about 20 slots, because its first tasks are short, and is late when the long ones come. Under max it uses what nobody else needs and is early. Under fair without weights the Joins get a third of the slots and miss their goals.",
		run:      deadlineGoals,
	},
	{
		ID: "deadline-estimator", Title: "How well a job's completion is foreseen from its own tasks", Seconds: 3,
		Source:   "deadline.md 5, items 8-10",
		Question: "A job's end is foreseen from the mean length of its finished tasks. How wrong is that, and when is it right?",
		Setup:    "Each application runs alone on 60 slots; every 3 s its forecast is compared with what really happened.",
		Read:     "Above 0 the forecast is too late, below too early. Regular tasks (WordCount) are foreseen within 5 %; tasks that get longer (Simulator) make the forecast optimistic almost to the end; a slow first wave (Join) makes it pessimistic at first.",
		run:      deadlineEstimator,
	},
	{
		ID: "deadline-late", Title: "Jobs that have missed their goals share what there is", Seconds: 1,
		Source:   "deadline.md 5, item 13",
		Question: "Two jobs cannot meet their goals any more. Does one of them starve?",
		Setup:    "600 maps of 8 to 12 s each, goals of 10 and 60 s, 60 slots, max.",
		Read:     "Both lines should run together once both are late, so that both end about equally late.",
		run:      deadlineLate,
	},
	{
		ID: "deadline-rules", Title: "The order of states, and weights from slack", Seconds: 1,
		Source:   "deadline.md 5, items 12 and 14",
		Question: "Do the rules give the numbers that the document derives from them?",
		Setup:    "The weight formula of 3.8 on the published times; three jobs, one in each state, that ask for one slot at a time.",
		run:      deadlineRules,
	},
	{
		ID: "deadline-shrink", Title: "A third of the workers leave in the middle", Seconds: 4,
		Source:   "deadline.md 5, item 17 (not in the source: robustness)",
		Question: "Do goals survive when the cluster shrinks?",
		Setup:    "As deadline-goals, but 20 of 60 workers are taken away at 2,500 s; the output of their finished maps stays readable, what they run starts again elsewhere.",
		Read:     "After 2,500 s no more than 40 slots are in use, and the policy gives J2 what it now needs.",
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
