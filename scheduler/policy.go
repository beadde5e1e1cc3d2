package scheduler

import (
	"time"

	"github.com/millrace/millrace/topology"
)

// A Policy decides which task runs next on a node with room. One goroutine
// drives it; it never blocks, and keeps no pointer into the View but *Job and
// *Group, and those of a job only until it has observed the job's end.
type Policy interface {
	// Observe tells the policy what happened, after State has applied it. Events
	// that State refused are not shown.
	Observe(now time.Duration, e Event, v *View)
	// Assign names at most one task for node n. It is called again after the
	// task was launched, until it names none. Such a round follows every
	// Heartbeat of n; on a live cluster others come between two heartbeats, when
	// something has ended: View.Fresh tells them apart. Every Decision, a
	// refusal too, carries a Reason.
	Assign(now time.Duration, n topology.NodeID, v *View) Decision
}

// A Decision is one answer of a Policy.
type Decision struct {
	OK       bool
	Locality Locality // filled in by Engine.Offer
	Second   bool     // a second attempt of a running task
	Task     TaskID
	Reason   Reason
}

// Run is the decision to launch t.
func Run(t TaskID, l Locality, r Reason) Decision {
	if r.Code == Unspecified {
		r.Code = Chosen
	}
	return Decision{OK: true, Task: t, Locality: l, Reason: r}
}

// Idle is the decision to leave the node as it is.
func Idle(r Reason) Decision { return Decision{Reason: r} }

// An Admission decides which waiting job may start its driver. The rules of
// Policy apply.
type Admission interface {
	Observe(now time.Duration, e Event, v *View)
	// Admit judges at most one waiting job. It is called again until its
	// verdict is Hold.
	Admit(now time.Duration, v *View) AdmitDecision
}

// A Verdict is what becomes of a waiting job.
type Verdict uint8

// The verdicts.
const (
	Hold   Verdict = iota // nobody may start now
	Admit                 // Job may start its driver
	Reject                // Job can never start; the driver fails it
)

// An AdmitDecision is one answer of an Admission.
type AdmitDecision struct {
	Verdict Verdict
	Job     JobID
	Reason  Reason
}

// A Judge is an admission that looks at a job again when its driver has planned it, because its limits count
// tasks and only the plan says how many there are.
type Judge interface {
	// Judge says whether the tasks of j, which are those of s, may be scheduled now. On Hold the job waits, with
	// its driver, and is judged again at each Admit; on Reject it fails.
	Judge(now time.Duration, j *Job, s *JobSpec, v *View) AdmitDecision
}

// A Ticker is a policy, admission or other part with periodic work.
type Ticker interface {
	// Interval is how often Tick wants to be called; it may change, and is read
	// around each Tick. Zero or less: not now.
	Interval() time.Duration
	// Tick does the periodic work. It is called at the start and then every
	// Interval, or as soon after that as the driver can.
	Tick(now time.Duration, v *View)
}

// An Abstainer is a policy that can say cheaply that it has nothing for a node. A
// driver that knows of nodes with room may then leave out their heartbeats.
type Abstainer interface {
	// Abstains reports that Assign would name nothing for n now.
	Abstains(now time.Duration, n topology.NodeID, v *View) bool
}

// A Planner plans recurring jobs before they arrive.
type Planner interface {
	// Plan replaces the plan for the jobs expected next (Spec.Submit says when)
	// and returns where their input should be stored.
	Plan(now time.Duration, expected []*JobSpec, v *View) []Placement
}

// A Placement says in which racks a planned job will run.
type Placement struct {
	Job                   JobID
	Name                  string
	MapRacks, ReduceRacks []topology.RackID
	Why                   string `json:"-"` // why it is so many racks
}

// A Follower is a Planner that says which plan an arrived job follows, announced or not.
type Follower interface {
	// Follows returns false for a job that follows no plan.
	Follows(j JobID, v *View) (Placement, bool)
}

// A Killer is a policy that stops running attempts or throws results away.
type Killer interface {
	// Kill names at most one victim. It is called again until ok is false.
	Kill(now time.Duration, v *View) (k Victim, ok bool)
}

// A Victim is an attempt to stop or, with Node NoNode, a finished task whose
// result is to be forgotten.
type Victim struct {
	Task   TaskID
	Node   topology.NodeID
	Reason Reason
}

// A ShuffleGate is a policy that holds shuffle transfers back so that they can
// be sent together.
type ShuffleGate interface {
	// Release reports whether map output of job j may now go from rack src to
	// rack dst; avail is how much of it is ready and not sent. It is asked when
	// a map finishes, a reduce is placed, and at each Tick.
	Release(now time.Duration, j JobID, src, dst topology.RackID, avail int64, v *View) bool
}

// An Explainer can say why a job is not getting more.
type Explainer interface {
	Explain(now time.Duration, j JobID, v *View) Reason
}
