package nas

import (
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// unfetched counts the map output that lies on each node for unfinished jobs (spec/nas 6.8). What reduces have already
// fetched is not known here, so output counts until its job ends.
type unfetched struct {
	nodes []float64                       // bytes by node
	jobs  map[scheduler.JobID][]mapOutput // by map
}

type mapOutput struct {
	node  topology.NodeID
	bytes float64
}

func (u *unfetched) observe(e scheduler.Event, v *view) {
	j := v.Job(e.Job)
	switch {
	case j == nil:
		return
	case j.Phase() == scheduler.Ended:
		for _, o := range u.jobs[j.ID()] {
			u.add(o.node, -o.bytes)
		}
		delete(u.jobs, j.ID())
	case e.Task.Kind != scheduler.Map || j.Total(scheduler.Reduce) == 0:
		return
	case e.Kind == scheduler.EvTaskFinished:
		u.set(j, e.Task.Index, mapOutput{e.Node, float64(e.OutBytes)})
	case e.Kind == scheduler.EvTaskLost:
		u.set(j, e.Task.Index, mapOutput{})
	}
}

// set replaces what map i of j left behind.
func (u *unfetched) set(j *job, i int32, o mapOutput) {
	if u.jobs == nil {
		u.jobs = make(map[scheduler.JobID][]mapOutput)
	}
	outputs := u.jobs[j.ID()]
	if outputs == nil {
		outputs = make([]mapOutput, j.Total(scheduler.Map))
		u.jobs[j.ID()] = outputs
	}
	u.add(outputs[i].node, -outputs[i].bytes)
	outputs[i] = o
	u.add(o.node, o.bytes)
}

func (u *unfetched) add(n topology.NodeID, bytes float64) {
	for len(u.nodes) <= int(n) {
		u.nodes = append(u.nodes, 0)
	}
	u.nodes[n] += bytes
}

func (u *unfetched) on(n topology.NodeID) float64 {
	if int(n) < len(u.nodes) {
		return u.nodes[n]
	}
	return 0
}
