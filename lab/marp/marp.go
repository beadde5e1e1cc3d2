// Package marp runs the experiments of the thesis on how many jobs a cluster should run at once (spec/marp).
package marp

import (
	_ "embed"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

//go:embed words.md
var words string

// Document is the thesis with its experiments.
var Document = sync.OnceValue(func() *lab.Document {
	return lab.NewDocument("marp", words, nil,
		&lab.Experiment{ID: "marp-slots", Seconds: 1, Run: slots},
		&lab.Experiment{ID: "marp-controllers", Seconds: 1, Run: golden},
		&lab.Experiment{ID: "marp-terasort", Seconds: 3, Run: sixTeraSorts},
		&lab.Experiment{ID: "marp-fifo", Seconds: 1, Run: oneByOne},
		&lab.Experiment{ID: "marp-others", Seconds: 5, Run: others},
		&lab.Experiment{ID: "marp-profile", Seconds: 1, Run: profile},
		&lab.Experiment{ID: "marp-ablation", Seconds: 8, Run: ablation},
		&lab.Experiment{ID: "marp-sweep", Seconds: 30, Run: sweepStatic},
		&lab.Experiment{ID: "marp-size", Seconds: 15, Run: size},
		&lab.Experiment{ID: "marp-disk", Seconds: 3, Run: disk},
	)
})

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

// controllers are the three of the source; shownAs has them and PRJ as it writes them.
var (
	controllers = []string{"cbt", "cbtws", "cbtwat"}
	withPRJ     = append([]string{"prj"}, controllers...)
	shownAs     = map[string]string{"prj": "PRJ", "cbt": "CBT", "cbtws": "CBTwS", "cbtwat": "CBTwAT"}
)

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
			StartUp: lab.Seconds(15 * (1 + 0.12*(2*rng.Float64()-1))), CleanUp: 2 * time.Second,
			Reduces: []time.Duration{lab.Seconds(k.reduce * run * jitter(rng))},
		}
		for range k.maps {
			j.Maps = append(j.Maps, lab.Seconds(k.work*run*jitter(rng)))
		}
		jobs[i] = j
	}
	return jobs
}

func jitter(rng *rand.Rand) float64 { return max(0.1, 1+0.1*rng.NormFloat64()) }
