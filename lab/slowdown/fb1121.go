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

// fb1121 is the workload generator of spec/slowdown 4.5: 1,121 jobs with the statistics
// of the source's Facebook workload, arriving at load rho on 600 + 200 slots.
// Calibrated there to the published facts of the workload and to FIFO's level.
func fb1121(rng *rand.Rand, rho, slowstart float64) []*sim.Job {
	sizes := fbSizes(rng)
	n := len(sizes)
	rank := ranks(sizes)
	noise := make([]float64, n)
	for i, p := range rng.Perm(n) {
		noise[i] = stats.Normal((float64(p) + 0.5) / float64(n))
	}
	jobs := make([]*sim.Job, n)
	total := 0.0
	for i, size := range sizes {
		zs := stats.Normal((float64(rank[i]) + 0.5) / float64(n))
		jobs[i] = fbJob(rng, size, zs, noise[i])
		jobs[i].Spec.Slowstart = slowstart
		total += jobs[i].Spec.Work.Seconds()
	}
	lab.Arrive(rng, jobs, total/float64(n)/(rho*800))
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

// fbJob divides a size into tasks so that the job alone would take about its aimed
// reference time.
func fbJob(rng *rand.Rand, size, zs, ze float64) *sim.Job {
	aim := min(max(26*math.Exp(1.8*(0.85*zs+math.Sqrt(1-0.85*0.85)*ze)), 15), 20_000)
	f := 0.35 * (0.4 + 1.2*rng.Float64())
	dm := min(max(aim*(0.2+0.3*rng.Float64()), 4), 60, size*(1-f))
	nm := max(1, math.Round(size*(1-f)/dm))
	tm := math.Ceil(nm/600) * dm
	rd := min(max(aim-tm, 3), max(f*size, 2))
	nr := max(1, math.Round(f*size/rd))
	if nr > 100 {
		nr = 100
		nm = max(1, math.Round((size-100*rd)/dm))
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
