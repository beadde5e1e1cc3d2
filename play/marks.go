package play

import (
	"fmt"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// kills are the attempts of the last mark of a kill.
type kills struct {
	at   int64
	node topology.NodeID
	many int
	mark int // the mark's place
}

func (r *Recorder) mark(at int64, what, text string) {
	if len(r.rec.Marks) < maxMarks {
		r.rec.Marks = append(r.rec.Marks, Mark{at, what, text})
	}
}

// nameOf returns a task as users read it.
func (r *Recorder) nameOf(t scheduler.TaskID) string {
	return fmt.Sprintf("%v %d of %s", t.Kind, t.Index, r.jobName(t.Job))
}

// jobName returns what the recording calls a job.
func (r *Recorder) jobName(id scheduler.JobID) string {
	if i := r.job(id); i >= 0 {
		return r.rec.Jobs[i].Name
	}
	return id.String()
}

// killed ends an attempt that was killed, and marks it. Attempts killed at the same time on one machine share a mark: a
// lost machine has many.
func (r *Recorder) killed(v *scheduler.View, at int64, e *scheduler.Event) {
	if r.end(at, e.Task, e.Node, Stopped) < 0 {
		return // a policy stopped it, with a mark and a reason
	}
	text := r.nameOf(e.Task) + " is killed on " + v.Topology().Node(e.Node).Name
	if e.Task == r.done {
		r.mark(at, "race", text+": another attempt was faster")
		return
	}
	k := &r.kills
	if k.many > 0 && k.at == at && k.node == e.Node && k.mark == len(r.rec.Marks)-1 {
		k.many++
		r.rec.Marks[k.mark].Text = fmt.Sprintf("%d attempts are killed on %s", k.many, v.Topology().Node(e.Node).Name)
		return
	}
	k.at, k.node, k.many, k.mark = at, e.Node, 1, len(r.rec.Marks)
	r.mark(at, "kill", text)
	if k.mark == len(r.rec.Marks) { // there was no space for it
		k.many = 0
	}
}

// nodeDown ends what ran on a lost machine. Its attempts were killed and marked just before: the mark of the machine
// replaces theirs.
func (r *Recorder) nodeDown(v *scheduler.View, at int64, n topology.NodeID) {
	r.closeAll(at, Stopped, func(on topology.NodeID, _ scheduler.TaskID) bool { return on == n })
	text := v.Topology().Node(n).Name + " is gone"
	if k := &r.kills; k.many > 0 && k.at == at && k.node == n && k.mark == len(r.rec.Marks)-1 {
		text += fmt.Sprintf(", and %d attempts with it", k.many)
		r.rec.Marks = r.rec.Marks[:k.mark]
		k.many = 0
	}
	r.mark(at, "node", text)
}

// sample records how full the links of a rack are, and marks where a congestion begins.
func (r *Recorder) sample(v *scheduler.View, at int64, e *scheduler.Event) {
	n := &r.rec.Net
	if len(n.At) >= maxSamples {
		return
	}
	n.At = append(n.At, at-r.last.net)
	r.last.net = at
	n.Rack = append(n.Rack, int32(e.Rack))
	n.Up, n.Down = append(n.Up, int32(1000*e.Value)), append(n.Down, int32(1000*e.Value2))
	congested := uint8(0)
	if e.Flag {
		congested = 1
	}
	if e.Flag && !r.congested[e.Rack] {
		r.mark(at, "congestion", fmt.Sprintf("the links of %s are congested", v.Topology().Rack(e.Rack).Name))
	}
	r.congested[e.Rack] = e.Flag
	n.Congested = append(n.Congested, congested)
}
