// Package deadline runs the experiments of the paper on jobs with goals (spec/deadline).
package deadline

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

//go:embed words.md
var words string

// Document is the paper with its experiments.
var Document = sync.OnceValue(func() *lab.Document {
	return lab.NewDocument("deadline", words, []lab.Table{goalTable()},
		&lab.Experiment{ID: "deadline-goals", Seconds: 8, Run: fourGoals},
		&lab.Experiment{ID: "deadline-estimator", Seconds: 3, Run: estimator},
		&lab.Experiment{ID: "deadline-late", Seconds: 1, Run: late},
		&lab.Experiment{ID: "deadline-rules", Seconds: 1, Run: rules},
		&lab.Experiment{ID: "deadline-shrink", Seconds: 4, Run: shrink},
	)
})

// The jobs of spec/deadline 4.2; times of 4.3, in launch order, calibrated there so that
// isolated run times match.
func simulatorJob(rng *rand.Rand) *sim.Job {
	j := &sim.Job{Spec: &scheduler.JobSpec{Name: "simulator", Reduces: 1}, Reduces: []time.Duration{20 * time.Second}}
	for _, block := range []float64{18.2, 25, 33.4, 52} {
		for range 1600 {
			j.Maps = append(j.Maps, lab.Seconds(min(stats.Lognormal(rng, block, 0.5), 4*block)))
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
		j.Maps = append(j.Maps, lab.Seconds(low+(high-low)*rng.Float64()))
	}
	return j
}

func joinJob(rng *rand.Rand) *sim.Job {
	j := &sim.Job{Spec: &scheduler.JobSpec{Name: "join", Reduces: 4}, Reduces: []time.Duration{10 * time.Second}}
	for i := range 1000 {
		d := min(stats.Lognormal(rng, 4, 0.8), 25)
		if i < 60 {
			d = 15 + 10*rng.Float64()
		}
		j.Maps = append(j.Maps, lab.Seconds(d))
	}
	return j
}

// goalSeconds are the goals of the four jobs, from their submission.
var goalSeconds = []float64{6000, 3000, 150, 150}

// goals sets up the workload of experiments two to four.
func goals(seed uint64) []*sim.Job {
	rng := rand.New(rand.NewPCG(seed, 4))
	jobs := []*sim.Job{simulatorJob(rng), wordCountJob(rng), joinJob(rng), joinJob(rng)}
	for i, goal := range goalSeconds {
		s := jobs[i].Spec
		s.ID, s.Maps = scheduler.JobID(i), int32(len(jobs[i].Maps))
		s.Submit = time.Duration(i) * 1000 * time.Second
		s.Deadline = s.Submit + lab.Seconds(goal)
		s.Pool = []string{"j1", "j2", "joins", "joins"}[i]
	}
	return jobs
}

// goalTable is the four jobs, from what the runs use.
func goalTable() lab.Table {
	t := lab.Table{
		Title: "The four jobs of deadline-goals and deadline-shrink.",
		Head:  []string{"job", "application", "maps", "reduces", "submitted, s", "goal, s from submission", "goal as a time, s", "alone, published, s"},
	}
	alone := []string{"3,549", "1,264", "101", "101"}
	for i, j := range goals(1) {
		s := j.Spec
		t.Rows = append(t.Rows, []string{
			fmt.Sprint("J", i+1), s.Name, fmt.Sprint(s.Maps), fmt.Sprint(s.Reduces), stats.Text(s.Submit.Seconds()), stats.Text(goalSeconds[i]), stats.Text(s.Deadline.Seconds()), alone[i],
		})
	}
	return t
}

// ownNodes is the size of the source's cluster.
const ownNodes = 60

// workers returns a cluster whose workers have one map and one reduce slot and report every 3 s, or sooner when a task
// ends.
func workers(n int, policy string, params map[string]string, seed uint64) (sim.Config, error) {
	cfg, err := lab.Slotted(n, 1, 1, policy, params)
	cfg.Heartbeat, cfg.OutOfBand, cfg.Seed = 3*time.Second, true, seed
	return cfg, err
}
