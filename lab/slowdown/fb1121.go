package slowdown

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// fb1121 is how the workload of spec/slowdown 4.5 is drawn: 1,121 jobs with the statistics
// of the source's Facebook workload, arriving at load rho on 600 + 200 slots.
// Calibrated there to the published facts of the workload and to FIFO's level.
type fb1121 struct {
	// reduces is the most that a job has; the rest of its work goes to maps.
	reduces float64
	// part is the mean part of a job's work for its reduces, before the rest of it goes to maps. 0: 0.35.
	part float64
	// pool is the seed of one set of jobs that every workload permutes, as the source did (V-C). 0: each workload draws
	// its own set.
	pool uint64
}

var drawn = fb1121{reduces: 100}

// arrival is the load at which jobs come to so many nodes, and when their reduces may start.
type arrival struct {
	load      float64
	nodes     int
	slowstart float64
}

// workload returns jobs with their arrivals.
func (f fb1121) workload(seed uint64, a arrival) []*sim.Job {
	rng := rand.New(rand.NewPCG(seed, 1121))
	from := rng
	if f.pool > 0 {
		from = rand.New(rand.NewPCG(f.pool, 1121))
	}
	jobs := f.jobs(from)
	if f.pool > 0 {
		rng.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	}
	total := 0.0
	for _, j := range jobs {
		j.Spec.Slowstart = a.slowstart
		total += j.Spec.Work.Seconds()
	}
	lab.Arrive(rng, jobs, total/float64(len(jobs))/(a.load*8*float64(a.nodes)))
	return jobs
}

// jobs draws the jobs without arrivals.
func (f fb1121) jobs(rng *rand.Rand) []*sim.Job {
	sizes := fbSizes(rng)
	n := len(sizes)
	rank := ranks(sizes)
	noise := make([]float64, n)
	for i, p := range rng.Perm(n) {
		noise[i] = stats.Normal((float64(p) + 0.5) / float64(n))
	}
	jobs := make([]*sim.Job, n)
	for i, size := range sizes {
		zs := stats.Normal((float64(rank[i]) + 0.5) / float64(n))
		jobs[i] = f.job(rng, size, zs, noise[i])
	}
	return jobs
}

// fbSizes draws the job sizes, stratified, in random order.
func fbSizes(rng *rand.Rand) []float64 {
	var sizes []float64
	class := func(count int, f func(u float64) float64) {
		for i := range count {
			sizes = append(sizes, f((float64(i)+0.5)/float64(count)))
		}
	}
	class(112, func(u float64) float64 { return 10 * math.Pow(100, u) })
	class(919, func(u float64) float64 { return max(10, -8200*math.Log(1-u)) })
	s2 := math.Log1p(0.46 * 0.46)
	class(90, func(u float64) float64 { return 85_000 * math.Exp(math.Sqrt(s2)*stats.Normal(u)-s2/2) })
	rng.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	return sizes
}

// ranks returns the place of each value in order.
func ranks(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	rank := make([]int, len(x))
	for place, i := range order {
		rank[i] = place
	}
	return rank
}

// job divides a size into tasks so that the job alone would take about its aimed
// reference time.
func (f fb1121) job(rng *rand.Rand, size, zs, ze float64) *sim.Job {
	aim := min(max(26*math.Exp(1.8*(0.85*zs+math.Sqrt(1-0.85*0.85)*ze)), 15), 20_000)
	part := cmp.Or(f.part, 0.35) * (0.4 + 1.2*rng.Float64()) // of the work, for reduces
	dm := min(max(aim*(0.2+0.3*rng.Float64()), 4), 60, size*(1-part))
	nm := max(1, math.Round(size*(1-part)/dm))
	tm := math.Ceil(nm/600) * dm
	rd := min(max(aim-tm, 3), max(part*size, 2))
	nr := max(1, math.Round(part*size/rd))
	if nr > f.reduces {
		nr = f.reduces
		nm = max(1, math.Round((size-nr*rd)/dm))
	}
	j := &sim.Job{Spec: &scheduler.JobSpec{Maps: int32(nm), Reduces: int32(nr)}}
	j.Maps = taskTimes(rng, int(nm), dm)
	j.Reduces = taskTimes(rng, int(nr), rd)
	for _, d := range append(slices.Clone(j.Maps), j.Reduces...) {
		j.Spec.Work += d
	}
	return j
}

func taskTimes(rng *rand.Rand, n int, mean float64) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = lab.Seconds(stats.Lognormal(rng, mean, 0.2))
	}
	return out
}
