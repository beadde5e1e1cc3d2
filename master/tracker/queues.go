package tracker

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/internal/wire"
)

// Queues returns the state of the queues that have jobs, and of the default queue.
func (c *Tracker) Queues() []wire.QueueStatus {
	const unnamed = "default"
	by := map[string]*wire.QueueStatus{unnamed: {Queue: unnamed}}
	for _, j := range c.jobs {
		name := cmp.Or(j.spec.Queue, unnamed)
		q := by[name]
		if q == nil {
			q = &wire.QueueStatus{Queue: name}
			by[name] = q
		}
		switch {
		case j.state == Succeeded:
			q.Succeeded++
		case j.state.Ended():
			q.Failed++
		case j.state == Running:
			q.Running++
		default:
			q.Waiting++
		}
		if st := j.current(); st != nil && !j.state.Ended() {
			q.Tasks += len(st.running)
			q.Pending += len(st.maps) + len(st.reduces) - int(st.doneCount[0]+st.doneCount[1])
		}
	}
	out := make([]wire.QueueStatus, 0, len(by))
	for _, q := range by {
		out = append(out, *q)
	}
	slices.SortFunc(out, func(a, b wire.QueueStatus) int { return cmp.Compare(a.Queue, b.Queue) })
	return out
}
