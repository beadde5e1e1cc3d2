package trace

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Fit makes a model of a trace with up to k clusters, found by k-means in the space of
// logarithms after jobs have been parted by which of their three sizes are zero.
func Fit(name string, jobs []Job, k int, rng *rand.Rand) *Model {
	m := &Model{Name: name, Hours: hours(jobs), Gap: jobs[len(jobs)-1].Submit / time.Duration(max(1, len(jobs)-1))}
	m.Burst = burst(jobs)
	byZero := make([][][3]float64, 8)
	for _, j := range jobs {
		p := point(j)
		byZero[zeroes(p)] = append(byZero[zeroes(p)], p)
	}
	for _, group := range byZero {
		if len(group) == 0 {
			continue
		}
		share := float64(len(group)) / float64(len(jobs))
		n := max(1, int(math.Round(share*float64(k))))
		for _, members := range kmeans(group, n, rng) {
			if len(members) > 0 {
				m.Clusters = append(m.Clusters, clusterOf(members, len(jobs)))
			}
		}
	}
	return m
}

func point(j Job) [3]float64 {
	return [3]float64{
		math.Log1p(float64(j.InputBytes)), math.Log1p(float64(j.ShuffleBytes)), math.Log1p(float64(j.OutputBytes)),
	}
}

func zeroes(p [3]float64) (bits int) {
	for i, v := range p {
		if v == 0 {
			bits |= 1 << i
		}
	}
	return bits
}

// kmeans is Lloyd's algorithm from random members, a fixed number of rounds.
func kmeans(points [][3]float64, k int, rng *rand.Rand) [][][3]float64 {
	k = min(k, len(points))
	centres := make([][3]float64, k)
	for i, p := range rng.Perm(len(points))[:k] {
		centres[i] = points[p]
	}
	var groups [][][3]float64
	for range 50 {
		groups = make([][][3]float64, k)
		for _, p := range points {
			c := nearest(centres, p)
			groups[c] = append(groups[c], p)
		}
		for i, g := range groups {
			if len(g) > 0 {
				centres[i] = meanPoint(g)
			}
		}
	}
	return groups
}

func nearest(centres [][3]float64, p [3]float64) (best int) {
	dist := math.Inf(1)
	for i, c := range centres {
		d := 0.0
		for k := range 3 {
			d += (c[k] - p[k]) * (c[k] - p[k])
		}
		if d < dist {
			best, dist = i, d
		}
	}
	return best
}

func meanPoint(g [][3]float64) (m [3]float64) {
	for _, p := range g {
		for k := range 3 {
			m[k] += p[k] / float64(len(g))
		}
	}
	return m
}

func clusterOf(members [][3]float64, all int) Cluster {
	c := Cluster{Weight: float64(len(members)) / float64(all), Mean: meanPoint(members)}
	var cov [3][3]float64
	for _, p := range members {
		for i := range 3 {
			c.Max[i] = max(c.Max[i], p[i])
			for j := range 3 {
				cov[i][j] += (p[i] - c.Mean[i]) * (p[j] - c.Mean[j]) / float64(len(members))
			}
		}
	}
	c.Root = cholesky(cov)
	return c
}

// cholesky returns the lower root; directions without variation get 0.
func cholesky(m [3][3]float64) (r [6]float64) {
	root := func(v float64) float64 { return math.Sqrt(max(v, 0)) }
	div := func(a, b float64) float64 {
		if b < 1e-9 {
			return 0
		}
		return a / b
	}
	r[0] = root(m[0][0])
	r[1] = div(m[1][0], r[0])
	r[2] = root(m[1][1] - r[1]*r[1])
	r[3] = div(m[2][0], r[0])
	r[4] = div(m[2][1]-r[3]*r[1], r[2])
	r[5] = root(m[2][2] - r[3]*r[3] - r[4]*r[4])
	return r
}

// hours counts arrivals by hour of the day, relative to their mean.
func hours(jobs []Job) (h [24]float64) {
	for _, j := range jobs {
		h[int(j.Submit.Hours())%24]++
	}
	total := 0.0
	for _, n := range h {
		total += n
	}
	for i := range h {
		h[i] *= 24 / total
	}
	return h
}

// burst is the median over hours of the squared coefficient of variation of gaps.
func burst(jobs []Job) float64 {
	byHour := map[int][]float64{}
	for i, g := range gaps(jobs) {
		hour := int(jobs[i].Submit.Hours())
		byHour[hour] = append(byHour[hour], g)
	}
	var all []float64
	for _, g := range byHour {
		if m := mean(g); len(g) > 20 && m > 0 {
			var v float64
			for _, x := range g {
				v += (x - m) * (x - m) / float64(len(g))
			}
			all = append(all, v/(m*m))
		}
	}
	if len(all) == 0 {
		return 1
	}
	slices.Sort(all)
	return all[len(all)/2]
}
