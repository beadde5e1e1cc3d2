package jobpacker

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// order sorts jobs for planning (spec/jobpacker 3.6): a batch in sub-batches of
// similar demand, widest job first inside each; otherwise by arrival.
func (c *Config) order(jobs []*draft) []*draft {
	together := !slices.ContainsFunc(jobs, func(d *draft) bool { return d.arrival != jobs[0].arrival })
	if c.Order == "online" || c.Order == "auto" && !together {
		slices.SortStableFunc(jobs, func(a, b *draft) int { return cmp.Or(cmp.Compare(a.arrival, b.arrival), widestFirst(a, b)) })
		return jobs
	}
	return c.batch(jobs)
}

func widestFirst(a, b *draft) int {
	return cmp.Or(cmp.Compare(b.width, a.width), cmp.Compare(b.length, a.length), cmp.Compare(a.spec.ID, b.spec.ID))
}

func (c *Config) batch(jobs []*draft) []*draft {
	demands := make([]Demand, len(jobs))
	for i, d := range jobs {
		demands[i] = Demand{float64(d.profile.Shuffle), float64(d.profile.Maps), float64(d.profile.Reduces)}
	}
	groups := SubBatches(demands, c.SubBatches)
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	rng.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	out := make([]*draft, 0, len(jobs))
	for _, g := range groups {
		from := len(out)
		for _, i := range g {
			out = append(out, jobs[i])
		}
		slices.SortFunc(out[from:], widestFirst)
	}
	return out
}
