package play

import (
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// event takes in something that happened to the cluster.
func (r *Recorder) event(v *scheduler.View, at int64, e *scheduler.Event) {
	switch e.Kind {
	case scheduler.EvNodeUp, scheduler.EvNodeUpdated:
		r.node(v, e.Node, e.Capacity)
	case scheduler.EvNodeDown:
		r.nodeDown(v, at, e.Node)
	case scheduler.EvJobSubmitted:
		r.submitted(at, e.Spec)
	case scheduler.EvJobReady:
		r.ready(at, e)
	case scheduler.EvJobFinished, scheduler.EvJobFailed, scheduler.EvJobVanished:
		r.jobEnded(at, e)
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

// node makes a machine known, with its room.
func (r *Recorder) node(v *scheduler.View, n topology.NodeID, c scheduler.Capacity) {
	t := v.Topology()
	for len(r.rec.Racks) < t.NumRacks() {
		r.rec.Racks = append(r.rec.Racks, t.Rack(topology.RackID(len(r.rec.Racks))).Name)
	}
	for len(r.nodes) <= int(n) {
		i := topology.NodeID(len(r.nodes))
		r.nodes = append(r.nodes, node{})
		r.rec.Nodes = append(r.rec.Nodes, Node{Name: t.Node(i).Name, Rack: int32(t.RackOf(i)), Class: t.Node(i).Class})
	}
	places := max(c.Containers, c.MapSlots+c.ReduceSlots)
	r.nodes[n].known = true
	r.rec.Nodes[n].Places = max(r.rec.Nodes[n].Places, places)
}

func (r *Recorder) submitted(at int64, s *scheduler.JobSpec) {
	if r.job(s.ID) >= 0 {
		return
	}
	name := s.Name
	if name == "" {
		name = s.ID.String()
	}
	r.jobs[s.ID] = int32(len(r.rec.Jobs))
	r.rec.Jobs = append(r.rec.Jobs, Job{Name: name, User: s.User, Queue: s.Queue, Pool: s.Pool, Maps: s.Maps, Reduces: s.Reduces, Submit: at, Deadline: s.Deadline.Milliseconds(), Admit: -1, End: -1})
}

// ready notes how many tasks a job has: where its driver plans them, nobody knew before.
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

func (r *Recorder) jobEnded(at int64, e *scheduler.Event) {
	how := Stopped
	if e.Kind == scheduler.EvJobFinished {
		how = Done
	}
	for k, i := range r.open {
		if k.task.Job == e.Job {
			r.close(at, k, i, how)
		}
	}
	delete(r.made, e.Job)
	i := r.job(e.Job)
	if i < 0 || r.rec.Jobs[i].End >= 0 {
		return
	}
	r.rec.Jobs[i].End, r.rec.Jobs[i].Failed = at, e.Kind != scheduler.EvJobFinished
	if e.Kind == scheduler.EvJobVanished {
		r.mark(at, "kill", r.rec.Jobs[i].Name+" is killed")
	}
}

// start adds an attempt, in the first place of its node that is free.
func (r *Recorder) start(v *scheduler.View, at int64, s *drive.Step) int32 {
	a, j := &r.rec.Attempts, r.job(s.Task.Job)
	if len(a.Job) >= maxAttempts || j < 0 || s.Node == topology.NoNode {
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
	a.Place = append(a.Place, r.take(s.Node))
	a.Start = append(a.Start, at-r.last.attempt)
	a.Took = append(a.Took, at) // its start, until it ends
	a.Near, a.How, a.Away = append(a.Near, uint8(s.Locality)), append(a.How, how), append(a.Away, 0)
	r.last.attempt = at
	r.open[attemptKey{s.Task, s.Node}] = i
	return i
}

// take takes a free place of a node.
func (r *Recorder) take(n topology.NodeID) int32 {
	taken := r.nodes[n].taken
	for i := range taken {
		if !taken[i] {
			taken[i] = true
			return int32(i)
		}
	}
	r.nodes[n].taken = append(taken, true)
	r.rec.Nodes[n].Places = max(r.rec.Nodes[n].Places, int32(len(taken)+1))
	return int32(len(taken))
}

// end ends an attempt that is known to run.
func (r *Recorder) end(at int64, t scheduler.TaskID, n topology.NodeID, how uint8) int32 {
	k := attemptKey{t, n}
	i, ok := r.open[k]
	if !ok {
		return -1
	}
	r.close(at, k, i, how)
	return i
}

func (r *Recorder) close(at int64, k attemptKey, i int32, how uint8) {
	a := &r.rec.Attempts
	a.Took[i] = at - a.Took[i]
	a.How[i] += how
	r.nodes[k.node].taken[a.Place[i]] = false
	delete(r.open, k)
}
