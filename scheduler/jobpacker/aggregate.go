package jobpacker

import (
	"cmp"
	"math"
	"slices"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// widths is the mean over planned heavy jobs of racks per task, by kind: what
// the rejected variant guesses the widths of ad-hoc jobs from (spec/jobpacker
// 3.12).
type widths struct {
	sum [kinds]float64
	n   [kinds]int
}

func (w *widths) add(q *plan) {
	tasks := [kinds]int{q.profile.Maps, q.profile.Reduces}
	for k := range tasks {
		if q.heavy && tasks[k] > 0 {
			w.sum[k] += float64(len(q.racks[k])) / float64(tasks[k])
			w.n[k]++
		}
	}
}

// guess returns W_map or W_reduce for a job with n tasks, at least 1 and at
// most racks; all racks before any job was planned.
func (w *widths) guess(k scheduler.Kind, n, racks int) int {
	if w.n[k] == 0 {
		return racks
	}
	return min(max(int(math.Round(float64(n)*w.sum[k]/float64(w.n[k]))), 1), racks)
}

// confine chooses the racks with most room for an ad-hoc job in the rejected variant; for maps only among those with
// data, if there are any.
func (p *Policy) confine(j *job, v *scheduler.View) *plan {
	out := &plan{spec: j.Spec(), job: j}
	for k := range kinds {
		kind := scheduler.Kind(k)
		var racks, near []topology.RackID
		for r := range topology.RackID(v.Topology().NumRacks()) {
			if v.RackTotal(r).Slots[k] > 0 {
				racks = append(racks, r)
				if kind == scheduler.Map && v.LocalIn(j, r) > 0 {
					near = append(near, r)
				}
			}
		}
		if len(near) > 0 {
			racks = near
		}
		room := func(r topology.RackID) int32 { return v.RackTotal(r).Slots[k] - v.RackUsed(r).Work() }
		slices.SortStableFunc(racks, func(a, b topology.RackID) int { return cmp.Compare(room(b), room(a)) })
		if total := int(j.Total(kind)); total > 0 {
			racks = racks[:min(len(racks), p.widths.guess(kind, total, len(p.seq)))]
			slices.Sort(racks)
			out.racks[k] = racks
		}
	}
	if len(out.racks[0]) == 0 && j.Total(scheduler.Map) > 0 || len(out.racks[1]) == 0 && j.Total(scheduler.Reduce) > 0 {
		return nil
	}
	return out
}

// mayRun reports whether an ad-hoc job may use a rack: always, except in the rejected variant. There reduces leave a
// place for their own maps, which cannot run elsewhere.
func (p *Policy) mayRun(j *job, r topology.RackID, k scheduler.Kind, v *scheduler.View) bool {
	q := p.record(j).limit
	switch {
	case q == nil:
		return true
	case !slices.Contains(q.racks[k], r):
		return false
	case k == scheduler.Map || j.Pending(scheduler.Map) == 0 || !slices.Contains(q.racks[scheduler.Map], r):
		return true
	}
	total := v.RackTotal(r)
	return total.Slots[scheduler.Driver] == 0 || total.Slots[scheduler.Map] > v.RackUsed(r).Containers()+1
}

// Scatter says where the rejected variant stores the blocks of an ad-hoc job of
// so many maps: first replicas in racks chosen by seed, further ones in others
// (spec/jobpacker 3.12).
func (p *Policy) Scatter(maps int32, shuffle func(n int, swap func(i, j int)), v *scheduler.View) (first, others []topology.RackID) {
	racks := make([]topology.RackID, v.Topology().NumRacks())
	for i := range racks {
		racks[i] = topology.RackID(i)
	}
	shuffle(len(racks), func(i, j int) { racks[i], racks[j] = racks[j], racks[i] })
	w := p.widths.guess(scheduler.Map, int(maps), len(racks))
	return racks[:w:w], racks[w:min(2*w, len(racks))]
}
