package play

import (
	"cmp"
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// event records something that happened to the cluster.
func (r *Recorder) event(v *scheduler.View, now time.Duration, e *scheduler.Event) {
	at := now.Milliseconds()
	switch e.Kind {
	case scheduler.EvNodeUp, scheduler.EvNodeUpdated:
		r.node(v, e.Node, e.Capacity)
	case scheduler.EvNodeDown:
		r.nodeDown(v, at, e.Node)
	case scheduler.EvJobSubmitted:
		r.submitted(now, e.Spec)
	case scheduler.EvJobReady:
		r.ready(at, e)
	case scheduler.EvJobFinished, scheduler.EvJobFailed, scheduler.EvJobVanished:
		r.jobEnded(now, e)
	case scheduler.EvTaskFinished:
		r.finished(v, at, e)
	case scheduler.EvTaskFailed:
		r.end(at, e.Task, e.Node, Failed)
	case scheduler.EvTaskKilled:
		r.killed(v, at, e)
	case scheduler.EvNetSample:
		r.sample(v, at, e)
	}
}

// node adds a machine, with its room.
func (r *Recorder) node(v *scheduler.View, n topology.NodeID, c scheduler.Capacity) {
	t := v.Topology()
	for len(r.rec.Racks) < t.NumRacks() {
		r.rec.Racks = append(r.rec.Racks, t.Rack(topology.RackID(len(r.rec.Racks))).Name)
	}
	for len(r.nodes) <= int(n) {
		i := topology.NodeID(len(r.nodes))
		r.nodes = append(r.nodes, nil)
		r.rec.Nodes = append(r.rec.Nodes, Node{Name: t.Node(i).Name, Rack: int32(t.RackOf(i)), Class: t.Node(i).Class})
	}
	places := max(c.Containers, c.MapSlots+c.ReduceSlots)
	r.rec.Nodes[n].Places = max(r.rec.Nodes[n].Places, places)
}

func (r *Recorder) submitted(now time.Duration, s *scheduler.JobSpec) {
	if r.job(s.ID) >= 0 {
		return
	}
	name := r.newName(cmp.Or(s.Name, s.ID.String()))
	r.jobs[s.ID] = int32(len(r.rec.Jobs))
	r.ids, r.came, r.made = append(r.ids, s.ID), append(r.came, now), append(r.made, nil)
	r.rec.Jobs = append(r.rec.Jobs, Job{Name: name, User: s.User, Queue: s.Queue, Pool: s.Pool, Maps: s.Maps, Reduces: s.Reduces, Submit: now.Milliseconds(), Deadline: s.Deadline.Milliseconds(), Admit: -1, End: -1})
}

// newName returns a name that no other job of the recording has: the second job called sort is sort (2).
func (r *Recorder) newName(name string) string {
	one := name
	for r.names[one] > 0 {
		r.names[name]++
		one = fmt.Sprintf("%s (%d)", name, r.names[name])
	}
	r.names[one] = 1
	return one
}

// ready records how many tasks a job has: if its driver plans them, they were not known before.
func (r *Recorder) ready(at int64, e *scheduler.Event) {
	i := r.job(e.Job)
	if i < 0 {
		return
	}
	j := &r.rec.Jobs[i]
	if e.Spec != nil {
		j.Maps, j.Reduces = e.Spec.Maps, e.Spec.Reduces
	}
	if j.Admit < 0 {
		j.Admit = at
	}
}

func (r *Recorder) jobEnded(now time.Duration, e *scheduler.Event) {
	at, how := now.Milliseconds(), Stopped
	if e.Kind == scheduler.EvJobFinished {
		how = Done
	}
	r.closeAll(at, how, func(_ topology.NodeID, t scheduler.TaskID) bool { return t.Job == e.Job })
	i := r.job(e.Job)
	if i < 0 {
		return
	}
	r.made[i] = nil
	j := &r.rec.Jobs[i]
	if j.End >= 0 {
		return
	}
	j.End, j.Took, j.Failed = at, millis(now-r.came[i]), e.Kind != scheduler.EvJobFinished
	if e.Kind == scheduler.EvJobVanished {
		r.mark(at, "kill", j.Name+" is killed")
	}
}

// start adds an attempt, in the first free place of its node.
func (r *Recorder) start(v *scheduler.View, at int64, s *drive.Step) int32 {
	a, j := &r.rec.Attempts, r.job(s.Task.Job)
	if len(a.Job) >= maxAttempts || j < 0 {
		return -1
	}
	if int(s.Node) >= len(r.nodes) {
		r.node(v, s.Node, v.Capacity(s.Node))
	}
	if r.rec.Jobs[j].Admit < 0 {
		r.rec.Jobs[j].Admit = at
	}
	how := Running
	if s.Second {
		how += second
	}
	if len(a.Job) == 0 {
		a.reserve(r.expected)
	}
	i := int32(len(a.Job))
	a.Job, a.Kind, a.Task, a.Node = append(a.Job, j), append(a.Kind, uint8(s.Task.Kind)), append(a.Task, s.Task.Index), append(a.Node, int32(s.Node))
	a.Place = append(a.Place, r.take(s.Node, running{s.Task, i}))
	a.Start = append(a.Start, at-r.last.attempt)
	a.Took = append(a.Took, at) // its start, until the attempt ends
	a.Near, a.How, a.Away = append(a.Near, uint8(s.Locality)), append(a.How, how), append(a.Away, 0)
	r.last.attempt = at
	return i
}

// take takes a free place of a node.
func (r *Recorder) take(n topology.NodeID, what running) int32 {
	on := r.nodes[n]
	for i := range on {
		if on[i].attempt < 0 {
			on[i] = what
			return int32(i)
		}
	}
	r.nodes[n] = append(on, what)
	r.rec.Nodes[n].Places = max(r.rec.Nodes[n].Places, int32(len(on)+1))
	return int32(len(on))
}

// end ends an attempt that is known to run.
func (r *Recorder) end(at int64, t scheduler.TaskID, n topology.NodeID, how uint8) int32 {
	if n < 0 || int(n) >= len(r.nodes) {
		return -1
	}
	for i := range r.nodes[n] {
		if on := &r.nodes[n][i]; on.attempt >= 0 && on.task == t {
			return r.close(at, on, how)
		}
	}
	return -1
}

// closeAll ends the attempts for which which returns true.
func (r *Recorder) closeAll(at int64, how uint8, which func(topology.NodeID, scheduler.TaskID) bool) {
	for n, places := range r.nodes {
		for i := range places {
			if on := &places[i]; on.attempt >= 0 && which(topology.NodeID(n), on.task) {
				r.close(at, on, how)
			}
		}
	}
}

// close frees the place of an attempt that has ended, and returns the attempt.
func (r *Recorder) close(at int64, on *running, how uint8) int32 {
	a, i := &r.rec.Attempts, on.attempt
	a.Took[i] = at - a.Took[i]
	a.How[i] += how
	on.attempt = -1
	return i
}
