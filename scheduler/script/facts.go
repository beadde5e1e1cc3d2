package script

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Job is what a script may know of a job, as of the call in which the job was listed last.
type Job struct {
	ID                      scheduler.JobID
	Name, User, Queue, Pool string
	Priority                int32
	Weight                  float64
	Submitted, Deadline     float64 // seconds

	Total, Pending, Running, Done [2]int32 // maps, then reduces
	Held                          int32
	Input, Shuffle                int64 // bytes
	// On and Near count the maps that wait with input on the node that asks, and in its rack; only if Form.Local is
	// set.
	On, Near int32
}

// Node is what a script may know of the node that asks.
type Node struct {
	ID                topology.NodeID
	Name, Rack, Class string
	Running, Free     int32
	Congested         bool
}

// Cluster is what else a script that decides everything may know.
type Cluster struct {
	Containers, Free int32
	Waiting          int
}

// A Question is all that a script may see in one call. It holds no pointer into the state, and so can be asked in another
// process.
type Question struct {
	Now     time.Duration
	Node    Node
	Cluster Cluster
	Kind    scheduler.Kind // of a key: which jobs are compared
	// Jobs are those with a task of a kind that may start on the node, oldest first.
	Jobs [2][]Job
	// Ended are jobs that have ended since the last question.
	Ended []scheduler.JobID

	list func(scheduler.Kind) []Job // fills Jobs when somebody looks
}

// Fill lists the jobs that nobody has looked at yet, for a script in another process.
func (q *Question) Fill() {
	for k := range q.Jobs {
		q.jobs(scheduler.Kind(k))
	}
	q.list = nil
}

func (q *Question) jobs(k scheduler.Kind) []Job {
	if q.list != nil && q.Jobs[k] == nil {
		q.Jobs[k] = q.list(k)
	}
	return q.Jobs[k]
}

// An Answer is a job and the kind of its task or, if OK is false, why there is nothing for the node.
type Answer struct {
	OK   bool
	Job  scheduler.JobID
	Kind scheduler.Kind
	Say  string
}

// A Form is how a script wants to be asked.
type Form struct {
	Key   bool // it orders jobs by a key; otherwise it decides everything
	Local bool // it may ask where input is
}

// An Asker answers questions in order.
type Asker interface {
	Ask(q *Question) (Answer, error)
}

// describe fills in what a script may know of a job.
func (p *Policy) describe(out *Job, j *scheduler.Job, n topology.NodeID) {
	s, v := j.Spec(), p.view
	*out = Job{
		ID: j.ID(), Name: s.Name, User: s.User, Queue: s.Queue, Pool: s.Pool, Priority: int32(j.Priority()), Weight: j.Weight(),
		Submitted: j.Submitted().Seconds(), Deadline: s.Deadline.Seconds(), Held: j.Held(), Input: s.Input.Bytes, Shuffle: s.Shuffle.Bytes,
	}
	for k := range scheduler.Driver {
		out.Total[k], out.Pending[k], out.Running[k], out.Done[k] = j.Total(k), j.Pending(k), j.Running(k), j.Done(k)
	}
	if p.form.Local {
		out.On, out.Near = v.LocalOn(j, n), v.LocalIn(j, v.RackOf(n))
	}
}

// describeNode returns what a script may know of a node.
func (p *Policy) describeNode(n topology.NodeID) Node {
	v := p.view
	node, rack := v.Topology().Node(n), v.RackOf(n)
	return Node{
		ID: n, Name: node.Name, Rack: v.Topology().Rack(rack).Name, Class: node.Class,
		Running: v.Used(n).Work(), Free: v.FreeSlots(n, scheduler.Map), Congested: v.Net(rack).Congested,
	}
}
