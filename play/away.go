package play

import "github.com/millrace/millrace/scheduler"

// made is where the maps of a job have left their output, in bytes.
type made struct {
	byRack []int64
	all    int64
	maps   int32
}

// finished ends an attempt that succeeded, and counts what it read from other racks.
func (r *Recorder) finished(v *scheduler.View, at int64, e *scheduler.Event) {
	r.done = e.Task
	i := r.end(at, e.Task, e.Node, Done)
	if i < 0 {
		return
	}
	a := &r.rec.Attempts
	away := &a.Away[i]
	switch {
	case e.Task.Kind == scheduler.Map:
		r.output(v, a.Job[i], e)
		if a.Near[i] == uint8(scheduler.Remote) {
			*away = e.InBytes
		}
	case e.Task.Kind == scheduler.Reduce && r.made[a.Job[i]] != nil:
		*away = r.fetched(v, a.Job[i], e)
	}
}

// output records in which rack a map of a job has left its output.
func (r *Recorder) output(v *scheduler.View, job int32, e *scheduler.Event) {
	m := r.made[job]
	if m == nil {
		m = &made{byRack: make([]int64, v.Topology().NumRacks())}
		r.made[job] = m
	}
	rack := int(v.Topology().RackOf(e.Node))
	for len(m.byRack) <= rack {
		m.byRack = append(m.byRack, 0)
	}
	m.byRack[rack] += e.OutBytes
	m.all += e.OutBytes
	m.maps++
}

// fetched returns what a reduce of a job has read from other racks: the part of its input that maps made there. If its
// input is unknown, it is the reduce's share of what the job's maps make.
func (r *Recorder) fetched(v *scheduler.View, job int32, e *scheduler.Event) int64 {
	m, j := r.made[job], &r.rec.Jobs[job]
	if m.all == 0 {
		return 0
	}
	input := float64(e.InBytes)
	if input == 0 {
		input = float64(m.all) / float64(m.maps) * float64(j.Maps) / float64(max(1, j.Reduces))
	}
	here := int64(0)
	if rack := int(v.Topology().RackOf(e.Node)); rack < len(m.byRack) {
		here = m.byRack[rack]
	}
	return int64(input * float64(m.all-here) / float64(m.all))
}
