package jobpacker

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A stage is a tentative placement of the tasks of one kind.
type stage struct {
	chosen []int       // indices of racks, ascending
	taken  []int       // containers of each of them; nil: as many of each
	free   []slotTimes // of all racks, afterwards
	end    time.Duration
}

// planHeavy tries every feasible pair and keeps the one that completes first,
// among equals the one with fewer racks (spec/jobpacker 3.7, heavy jobs). nil: no
// rack can run it.
func (k *packer) planHeavy(d *draft) *plan {
	var best [kinds]stage
	var pair Pair
	var maps stage
	wide, found := 0, false
	for _, w := range d.feasible {
		if w.Maps != wide {
			var ok bool
			if maps, ok = k.place(k.free[scheduler.Map], w.Maps, d.profile.Maps, d.arrival, d.profile.MapTime); !ok {
				break
			}
			wide = w.Maps
		}
		free := k.free[scheduler.Reduce]
		if k.shared {
			free = maps.free
		}
		reds, ok := k.place(free, w.Reduces, d.profile.Reduces, maps.end+k.model.ShuffleStage(&d.profile, w), d.profile.ReduceTime)
		if ok && (!found || reds.end < best[1].end || reds.end == best[1].end && w.Maps+w.Reduces < pair.Maps+pair.Reduces) {
			best, pair, found = [kinds]stage{maps, reds}, w, true
		}
	}
	if !found {
		return nil
	}
	return k.commit(d, best, true)
}

// place spreads tasks evenly over the width racks whose q-th place is free
// first.
func (k *packer) place(free []slotTimes, width, tasks int, from, length time.Duration) (stage, bool) {
	each := ceilDiv(k.provision(tasks), width)
	chosen := earliest(free, width, each)
	if len(chosen) < width {
		return stage{}, false
	}
	s := stage{chosen: chosen, free: slices.Clone(free), end: from}
	for _, i := range chosen {
		var last time.Duration
		s.free[i], last = free[i].fill(each, from, length)
		s.end = max(s.end, last)
	}
	return s, true
}

// earliest returns the width racks whose each-th place is free first, ascending
// by index; fewer if so many racks have no place.
func earliest(free []slotTimes, width, each int) []int {
	var racks []int
	at := make([]time.Duration, len(free))
	for i, s := range free {
		if len(s) > 0 {
			racks, at[i] = append(racks, i), s.nth(each)
		}
	}
	slices.SortStableFunc(racks, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	racks = racks[:min(width, len(racks))]
	slices.Sort(racks)
	return racks
}

// commit makes the stages the state of the plan.
func (k *packer) commit(d *draft, stages [kinds]stage, heavy bool) *plan {
	p := &plan{spec: d.spec, profile: d.profile, heavy: heavy, arrival: d.arrival, start: d.arrival}
	for kind, s := range stages {
		if len(s.chosen) == 0 {
			continue
		}
		p.racks[kind], p.taken[kind], p.end = k.named(s.chosen), s.taken, s.end
		if k.shared {
			k.free[scheduler.Map] = s.free
		} else {
			k.free[kind] = s.free
		}
	}
	return p
}

func (k *packer) named(chosen []int) []topology.RackID {
	out := make([]topology.RackID, len(chosen))
	for i, c := range chosen {
		out[i] = k.racks[c]
	}
	return out
}
