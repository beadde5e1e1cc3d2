package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"time"
)

// A Model generates traces: jobs come from clusters, each a cloud in the space of the
// logarithms of input, shuffle and output; arrivals follow the hours of a day.
type Model struct {
	Name     string
	Clusters []Cluster
	// Hours are the arrivals of each hour of the day, relative to their mean.
	Hours [24]float64
	// Gap is the mean time between jobs.
	Gap time.Duration
	// Burst is the squared coefficient of variation of gaps within an hour: 1 is
	// Poisson, more is burstier.
	Burst float64
}

// A Cluster is a kind of job. A dimension whose mean is 0 and that does not vary is
// always 0 bytes, as the shuffle of map-only jobs.
type Cluster struct {
	Weight float64    // share of jobs
	Mean   [3]float64 // of log(1+bytes): input, shuffle, output
	Root   [6]float64 // Cholesky root of the covariance, rows: a; b c; d e f
	Max    [3]float64 // largest log(1+bytes) seen: tails end there
}

// Generate makes n jobs. The same random source state makes the same trace.
func (m *Model) Generate(n int, rng *rand.Rand) []Job {
	choose := m.cumulative()
	jobs := make([]Job, n)
	var now time.Duration
	for i := range jobs {
		now += m.gap(now, rng)
		c := &m.Clusters[min(sort.SearchFloat64s(choose, rng.Float64()), len(m.Clusters)-1)]
		b := c.draw(rng)
		jobs[i] = Job{
			ID: fmt.Sprintf("job%d", i), Submit: now.Round(time.Second),
			InputBytes: b[0], ShuffleBytes: b[1], OutputBytes: b[2],
		}
	}
	return jobs
}

func (m *Model) cumulative() []float64 {
	out := make([]float64, len(m.Clusters))
	sum := 0.0
	for i, c := range m.Clusters {
		sum += c.Weight
		out[i] = sum
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// gap draws the time to the next job at the rate of the hour. Burstiness comes from a
// mixture of two exponential gaps with the wanted variation and the same mean.
func (m *Model) gap(now time.Duration, rng *rand.Rand) time.Duration {
	rate := max(m.Hours[int(now.Hours())%24], 0.01)
	x := rng.ExpFloat64()
	if m.Burst > 1 {
		p := 0.5 * (1 + math.Sqrt((m.Burst-1)/(m.Burst+1)))
		if rng.Float64() < p {
			x /= 2 * p
		} else {
			x /= 2 * (1 - p)
		}
	}
	return time.Duration(x / rate * float64(m.Gap))
}

func (c *Cluster) draw(rng *rand.Rand) (out [3]int64) {
	a, b, d := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
	r := &c.Root
	x := [3]float64{
		c.Mean[0] + r[0]*a,
		c.Mean[1] + r[1]*a + r[2]*b,
		c.Mean[2] + r[3]*a + r[4]*b + r[5]*d,
	}
	for i, v := range x {
		out[i] = int64(math.Expm1(min(max(v, 0), c.Max[i])))
	}
	return out
}
