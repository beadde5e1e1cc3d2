package jobpacker

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// planLight gives a job that is not shuffle-heavy the containers that are free
// first, wherever they are (spec/jobpacker 3.7). nil: nothing can run it.
func (k *packer) planLight(d *draft) *plan {
	maps, ok := k.scatter(k.free[scheduler.Map], d.profile.Maps, d.profile.MapTime, func([]int) time.Duration { return d.arrival })
	if !ok {
		return nil
	}
	stages := [kinds]stage{maps}
	if d.profile.Reduces > 0 {
		free := k.free[scheduler.Reduce]
		if k.shared {
			free = maps.free
		}
		stages[1], ok = k.scatter(free, d.profile.Reduces, d.profile.ReduceTime, func(chosen []int) time.Duration {
			return maps.end + k.model.electricalShuffle(&d.profile, Pair{len(maps.chosen), len(chosen)})
		})
		if !ok {
			return nil
		}
	}
	return k.commit(d, stages, false)
}

// scatter takes the containers with the smallest times, in waves if there are
// more tasks than containers. from says when they may start, once the racks of
// the first wave are known, which are all racks if there is a second.
func (k *packer) scatter(free []slotTimes, tasks int, length time.Duration, from func(chosen []int) time.Duration) (stage, bool) {
	s := stage{free: slices.Clone(free)}
	var start time.Duration
	for left := k.provision(tasks); left > 0; {
		take := smallest(s.free, left)
		if len(take) == 0 {
			return stage{}, false
		}
		if s.chosen == nil {
			for _, t := range take {
				s.chosen = append(s.chosen, t.rack)
			}
			s.taken = make([]int, len(take))
			start = from(s.chosen)
			s.end = start
		}
		for _, t := range take {
			var last time.Duration
			s.free[t.rack], last = s.free[t.rack].wave(t.n, start, length)
			s.end = max(s.end, last)
			s.taken[slices.Index(s.chosen, t.rack)] += t.n
			left -= t.n
		}
	}
	return s, true
}

type share struct{ rack, n int }

// smallest says how many of the n containers with the smallest times each rack
// has, ascending by rack; all of them if there are fewer. Equal times are taken
// rack by rack, so that small jobs stay together.
func smallest(free []slotTimes, n int) []share {
	type item struct {
		run
		rack int
	}
	var all []item
	for i, s := range free {
		for _, r := range s {
			all = append(all, item{r, i})
		}
	}
	slices.SortStableFunc(all, func(a, b item) int { return cmp.Compare(a.at, b.at) })
	count := make([]int, len(free))
	for _, it := range all {
		take := min(n, it.n)
		count[it.rack] += take
		if n -= take; n == 0 {
			break
		}
	}
	var out []share
	for i, c := range count {
		if c > 0 {
			out = append(out, share{i, c})
		}
	}
	return out
}
