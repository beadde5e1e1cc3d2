package play

import (
	"encoding/binary"
	"maps"
	"slices"
)

// Attempts are most of a page: a simulation of a thousand jobs has hundreds of thousands. With more than fineAttempts,
// lengths are rounded down, and only attempts that a decision is about have the number of their task.
const (
	fineAttempts = 60_000
	coarseGrain  = 64 // milliseconds
)

func grainOf(a *Attempts) int64 {
	if len(a.Job) > fineAttempts {
		return coarseGrain
	}
	return 1
}

// alike numbers the tasks by job and kind, whose attempts are alike, and returns how many numbers there may be.
func alike(a *Attempts) (of func(i int) int, most int) {
	const kinds = 4
	for _, j := range a.Job {
		most = max(most, kinds*(int(j)+1))
	}
	return func(i int) int { return kinds*int(a.Job[i]) + int(a.Kind[i])%kinds }, most
}

// named returns which of so many attempts decisions are about.
func named(about []int32, attempts int) []bool {
	out := make([]bool, attempts)
	for _, i := range about {
		if i >= 0 {
			out[i] = true
		}
	}
	return out
}

// lengths are the lengths of attempts in grains, and how much they differ from what a reader expects.
type lengths struct {
	grain        int64
	took, differ []int64
}

// lengthsOf returns the lengths of a recording. A task is expected to take as long as in the recordings before, which
// is often true.
func lengthsOf(a *Attempts, grain int64, before map[taskOf]int64) lengths {
	l := lengths{grain, make([]int64, len(a.Took)), make([]int64, len(a.Took))}
	for i, took := range a.Took {
		l.took[i], l.differ[i] = took/grain, took/grain
		if grain > 1 {
			continue
		}
		task := taskOf{a.Job[i], a.Task[i], a.Kind[i]}
		l.differ[i] -= before[task]
		before[task] = took
	}
	return l
}

func (p *packer) attempts(a *Attempts, l lengths, named []bool) {
	n, starts := len(a.Job), sumsOf(a.Start)
	p.recent(a.Job)
	p.out = append(append(append(p.out, a.Kind...), a.Near...), a.How...)
	of, most := alike(a)
	next := make([]int32, most) // tasks mostly start in order
	for i := range n {
		if l.grain == 1 || named[i] {
			p.out = binary.AppendVarint(p.out, int64(a.Task[i]-next[of(i)]))
			next[of(i)] = a.Task[i] + 1
		}
	}
	p.starts(a.Node, starts)
	put(p, n, func(i int) int64 { return l.differ[i] })
	p.placesOf(a, starts, l)
	away := make([]int64, most)
	put(p, n, func(i int) int64 {
		d := a.Away[i] - away[of(i)]
		away[of(i)] = a.Away[i]
		return d
	})
}

// recent appends how many other jobs were served since the last time: a policy that takes turns has the same number
// again and again. A new job has the number of all before it.
func (p *packer) recent(list []int32) {
	var last []int32 // the latest first
	for _, job := range list {
		at := slices.Index(last, job)
		if at < 0 {
			at = len(last)
			last = append(last, job)
			p.out = binary.AppendUvarint(p.out, uint64(at))
			p.out = binary.AppendUvarint(p.out, uint64(job))
		} else {
			p.out = binary.AppendUvarint(p.out, uint64(at))
		}
		copy(last[1:at+1], last[:at])
		last[0] = job
	}
}

// starts appends when and on which machine attempts start. Machines report at times of their own in each period. starts
// writes those times down, and for each start how many of them it is later than the one before; the time gives the
// machine.
func (p *packer) starts(nodes []int32, starts []int64) {
	period := reportPeriod(nodes, starts)
	place := map[int64]int64{}
	for _, at := range starts {
		place[at%period] = 0
	}
	phases := slices.Sorted(maps.Keys(place))
	p.out = binary.AppendUvarint(binary.AppendUvarint(p.out, uint64(period)), uint64(len(phases)))
	for i, phase := range phases {
		place[phase] = int64(i)
		p.out = binary.AppendUvarint(p.out, uint64(phase))
	}
	before := int64(0)
	for _, at := range starts {
		step := at/period*int64(len(phases)) + place[at%period]
		p.out = binary.AppendUvarint(p.out, uint64(step-before))
		before = step
	}
	last := map[int64]int32{}
	put(p, len(nodes), func(i int) int32 {
		phase := starts[i] % period
		d := nodes[i] - last[phase]
		last[phase] = nodes[i]
		return d
	})
}

// reportPeriod returns the period in which machines report: the one after which the same machine comes most often.
func reportPeriod(list []int32, starts []int64) (best int64) {
	most := -1
	for _, period := range []int64{1000, 100, 200, 250, 500, 2000, 3000, 5000, 10_000} {
		last, hits := map[int64]int32{}, 0
		for i := range list[:min(len(list), 5000)] {
			phase := starts[i] % period
			if n, known := last[phase]; known && n == list[i] {
				hits++
			}
			last[phase] = list[i]
		}
		if hits > most {
			best, most = period, hits
		}
	}
	return best
}

// placesOf appends the places on a machine: most attempts take the first free one.
func (p *packer) placesOf(a *Attempts, starts []int64, l lengths) {
	var until [][]int64 // by node
	put(p, len(a.Place), func(i int) int32 {
		for int(a.Node[i]) >= len(until) {
			until = append(until, nil)
		}
		ends := until[a.Node[i]]
		first := slices.IndexFunc(ends, func(end int64) bool { return end <= starts[i] })
		if first < 0 {
			first = len(ends)
		}
		for int(a.Place[i]) >= len(ends) {
			ends = append(ends, 0)
		}
		ends[a.Place[i]] = starts[i] + l.took[i]*l.grain
		until[a.Node[i]] = ends
		return a.Place[i] - int32(first)
	})
}
