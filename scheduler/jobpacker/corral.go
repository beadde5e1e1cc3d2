package jobpacker

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// corral is the planner of the baseline (spec/jobpacker 3.13): each job gets r_j
// racks for itself, for maps and reduces alike. It starts with one rack for
// each job and widens the longest, one rack at a time, keeping the best of all
// allocations it saw.
type corral struct {
	cfg   *Config
	model Model
	racks []topology.RackID
	free  []time.Duration // by index in racks
}

var _ planner = (*corral)(nil)

func (c *corral) reset(v *scheduler.View) {
	k := packer{cfg: c.cfg}
	k.reset(v)
	c.model, c.racks, c.free = k.model, k.racks, make([]time.Duration, len(k.racks))
}

func (c *corral) reserve(p *plan) {
	for _, r := range p.racks[scheduler.Map] {
		if i, ok := slices.BinarySearch(c.racks, r); ok {
			c.free[i] = max(c.free[i], p.end)
		}
	}
}

func (c *corral) keep(now time.Duration, s *scheduler.JobSpec) *plan {
	p := kept(now, s)
	for _, r := range s.MapRacks {
		if i, ok := slices.BinarySearch(c.racks, r); ok {
			p.start = max(p.start, c.free[i])
		}
	}
	p.end = p.start + c.model.Same(&p.profile, len(s.MapRacks))
	c.reserve(p)
	return p
}

// A ranch is one job while Corral plans.
type ranch struct {
	*draft
	racks int           // r_j
	takes time.Duration // L_j(r_j)
}

func (c *corral) plan(now time.Duration, jobs []*scheduler.JobSpec) []*plan {
	if len(c.racks) == 0 {
		return nil
	}
	var all []*ranch
	batch := c.cfg.Order != "online"
	for _, s := range jobs {
		d := &draft{spec: s, profile: profileOf(s), arrival: max(now, s.Submit)}
		all = append(all, &ranch{draft: d, racks: 1, takes: c.model.Same(&d.profile, 1)})
		batch = batch && (c.cfg.Order == "batch" || d.arrival == all[0].arrival)
	}
	best, width := math.Inf(1), make([]int, len(all))
	line := slices.Clone(all)
	for {
		if cost := c.cost(line, batch); cost < best {
			best = cost
			for i, j := range all {
				width[i] = j.racks
			}
		}
		if !c.widen(all) {
			break
		}
	}
	for i, j := range all {
		j.racks, j.takes = width[i], c.model.Same(&j.profile, width[i])
	}
	return c.commit(line, batch)
}

// widen gives one more rack to the longest job that can have one.
func (c *corral) widen(all []*ranch) bool {
	var longest *ranch
	for _, j := range all {
		if j.racks < len(c.racks) && (longest == nil || j.takes > longest.takes) {
			longest = j
		}
	}
	if longest == nil {
		return false
	}
	longest.racks++
	longest.takes = c.model.Same(&longest.profile, longest.racks)
	return true
}

// sort puts the jobs in the order in which they choose racks.
func (c *corral) sort(line []*ranch, batch bool) {
	slices.SortFunc(line, func(a, b *ranch) int {
		arrival := 0
		if !batch {
			arrival = cmp.Compare(a.arrival, b.arrival)
		}
		return cmp.Or(arrival, cmp.Compare(b.racks, a.racks), cmp.Compare(b.takes, a.takes), cmp.Compare(a.spec.ID, b.spec.ID))
	})
}

// cost is the makespan of a batch, or the mean completion time, in seconds.
func (c *corral) cost(line []*ranch, batch bool) float64 {
	c.sort(line, batch)
	free := slices.Sorted(slices.Values(c.free))
	var last time.Duration
	sum := 0.0
	for _, j := range line {
		end := max(free[j.racks-1], j.arrival) + j.takes
		last = max(last, end)
		sum += (end - j.arrival).Seconds()
		occupy(free, j.racks, end)
	}
	if batch {
		return last.Seconds()
	}
	return sum / float64(len(line))
}

// occupy replaces the n smallest of the sorted times by end.
func occupy(free []time.Duration, n int, end time.Duration) {
	at, _ := slices.BinarySearch(free[n:], end)
	copy(free, free[n:n+at])
	for i := range n {
		free[at+i] = end
	}
}

// commit gives each job the racks that are free first. On each rack a later job
// starts later, so the order of the result is that of the planned starts.
func (c *corral) commit(line []*ranch, batch bool) []*plan {
	c.sort(line, batch)
	var plans []*plan
	for _, j := range line {
		order := make([]int, len(c.free))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.free[a], c.free[b]) })
		order = order[:j.racks]
		slices.Sort(order)
		p := &plan{spec: j.spec, profile: j.profile, arrival: j.arrival, start: j.arrival}
		for _, i := range order {
			p.start = max(p.start, c.free[i])
			p.racks[scheduler.Map] = append(p.racks[scheduler.Map], c.racks[i])
		}
		p.end = p.start + j.takes
		for _, i := range order {
			c.free[i] = p.end
		}
		if j.profile.Reduces > 0 {
			p.racks[scheduler.Reduce] = p.racks[scheduler.Map]
		}
		plans = append(plans, p)
	}
	return plans
}
