package drive

import (
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Do says what a step asks of the owner of the cluster.
type Do uint8

// What a step may ask for.
const (
	Launch Do = iota // start an attempt of Task on Node
	Stop             // end the attempt of Task on Node without a result
	Forget           // forget the result of Task: it runs again
	Start            // Task.Job is admitted: its driver, or its first task, may start
	Reject           // Task.Job can never start: it has failed
	Rest             // nothing to do: why Node, or with NoNode admission, gets no more; only in logs
)

// String names what is asked for.
func (d Do) String() string {
	return [...]string{"launch", "stop", "forget", "start", "reject", "rest"}[min(d, Rest)]
}

// A Step is one decision of a round. State and policies already know of it.
type Step struct {
	Do       Do
	Locality scheduler.Locality
	Second   bool // a second attempt
	Task     scheduler.TaskID
	Node     topology.NodeID
	Reason   scheduler.Reason
}

// same reports whether two steps decide the same. Reasons do not count: they point into the state they were made of.
func (s *Step) same(o *Step) bool {
	return s.Do == o.Do && s.Locality == o.Locality && s.Second == o.Second && s.Task == o.Task && s.Node == o.Node
}

// launched returns the step of a decision for a node.
func launched(n topology.NodeID, d *scheduler.Decision) Step {
	return Step{Do: Launch, Task: d.Task, Node: n, Locality: d.Locality, Second: d.Second, Reason: d.Reason}
}

// ended returns the step of a victim.
func ended(v *scheduler.Victim) Step {
	s := Step{Do: Stop, Task: v.Task, Node: v.Node, Reason: v.Reason}
	if v.Node == topology.NoNode {
		s.Do = Forget
	}
	return s
}

// judged returns the step of a verdict.
func judged(d *scheduler.AdmitDecision) Step {
	s := Step{Do: Start, Task: scheduler.TaskID{Job: d.Job}, Node: topology.NoNode, Reason: d.Reason}
	if d.Verdict == scheduler.Reject {
		s.Do = Reject
	}
	return s
}
