package scheduler

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/topology"
)

// An EventKind says what happened.
type EventKind uint8

// The kinds of event. Beside each: the fields of Event it fills.
const (
	EvNone         EventKind = iota
	EvNodeUp                 // Node, Capacity: joined or came back
	EvNodeUpdated            // Node, Capacity: room changed
	EvNodeDraining           // Node: finishes what runs, takes nothing new
	EvNodeDown               // Node: dead; see Engine.NodeLost
	EvHeartbeat              // Node: reported, at its interval
	EvJobSubmitted           // Job, Spec; Flag: it came before, at Spec.Submit
	EvJobAdmitted            // Job
	EvJobReady               // Job, Spec (nil: as submitted): tasks are known; Flag: they were known before, so no admission is asked
	EvJobFinished            // Job
	EvJobFailed              // Job
	EvJobVanished            // Job: killed by its owner, or forgotten
	EvLaunched               // Task, Node, Locality, Second, Duration: how long it has already run unnoticed
	EvTaskFinished           // Task, Node, Duration, InBytes, OutBytes
	EvTaskFailed             // Task, Node: the job's fault; pending again
	EvTaskKilled             // Task, Node: not the job's fault; pending again
	EvTaskLost               // Task: output of a finished task is gone; pending again
	EvProgress               // Job, Value: percent 0..100
	EvNetSample              // Rack, Value (up), Value2 (down), Flag (congested)
	EvCPUSample              // Node (NoNode: whole cluster), Value: percent idle
	EvBan                    // Job, Node: the job takes nothing on this node
	EvUnban                  // Job, Node
	EvConfig                 // Text: "name=value", for policies that listen
	EvRestored               // Task, Node, Duration, InBytes, OutBytes, At: done before the driver was restarted
	EvTaught                 // Lesson: of a job that ended before
	EvLimit                  // Text: a user, Value: containers that they may hold, 0 for any number
	numEventKinds
)

var eventNames = [numEventKinds]string{
	"none", "node-up", "node-updated", "node-draining", "node-down", "heartbeat", "job-submitted", "job-admitted", "job-ready",
	"job-finished", "job-failed", "job-vanished", "launched", "task-finished", "task-failed", "task-killed", "task-lost",
	"progress", "net-sample", "cpu-sample", "ban", "unban", "config", "restored", "taught", "limit",
}

// String returns the kind's name, as written to decision logs.
func (k EventKind) String() string {
	if k < numEventKinds {
		return eventNames[k]
	}
	return fmt.Sprintf("event(%d)", uint8(k))
}

// An Event is one thing that happened in the cluster. It is a plain value: it
// can be compared, copied and written to a log. Build it with the functions
// below, which fill exactly the fields its kind uses.
type Event struct {
	Kind     EventKind
	Locality Locality
	Second   bool `json:"Speculative"` // as decision logs have it
	Flag     bool
	Job      JobID
	Task     TaskID
	Node     topology.NodeID
	Rack     topology.RackID
	Duration time.Duration
	At       time.Duration
	InBytes  int64
	OutBytes int64
	Value    float64
	Value2   float64
	Capacity Capacity
	Spec     *JobSpec
	Lesson   *Lesson
	Text     string

	_ even
}

// even pads a structure to a multiple of 16 bytes. Copies go by 16: without the padding the last two writes of a copy
// overlap, and the next copy waits until both have reached the cache.
type even [8]byte

// String names the event and what it is about.
func (e Event) String() string {
	switch e.Kind {
	case EvLaunched, EvTaskFinished, EvTaskFailed, EvTaskKilled, EvTaskLost, EvRestored:
		return fmt.Sprintf("%v %v on node %d", e.Kind, e.Task, e.Node)
	case EvJobSubmitted, EvJobAdmitted, EvJobReady, EvJobFinished, EvJobFailed, EvJobVanished, EvProgress:
		return fmt.Sprintf("%v %v", e.Kind, e.Job)
	case EvBan, EvUnban:
		return fmt.Sprintf("%v %v on node %d", e.Kind, e.Job, e.Node)
	case EvNetSample:
		return fmt.Sprintf("%v rack %d", e.Kind, e.Rack)
	case EvConfig, EvLimit:
		return fmt.Sprintf("%v %s", e.Kind, e.Text)
	}
	return fmt.Sprintf("%v node %d", e.Kind, e.Node)
}

func nodeEvent(k EventKind, n topology.NodeID) Event {
	return Event{Kind: k, Node: n, Job: NoJob, Rack: topology.NoRack}
}

func jobEvent(k EventKind, j JobID) Event {
	return Event{Kind: k, Job: j, Node: topology.NoNode, Rack: topology.NoRack}
}

func taskEvent(k EventKind, t TaskID, n topology.NodeID) Event {
	return Event{Kind: k, Job: t.Job, Task: t, Node: n, Rack: topology.NoRack}
}

// NodeUp says that node n joined, or came back, with room c.
func NodeUp(n topology.NodeID, c Capacity) Event {
	e := nodeEvent(EvNodeUp, n)
	e.Capacity = c
	return e
}

// NodeUpdated says that the room of n changed to c.
func NodeUpdated(n topology.NodeID, c Capacity) Event {
	e := nodeEvent(EvNodeUpdated, n)
	e.Capacity = c
	return e
}

// NodeDraining says that n finishes what it runs and takes nothing new.
func NodeDraining(n topology.NodeID) Event { return nodeEvent(EvNodeDraining, n) }

// NodeDown says that n is dead. Its attempts stay on the books until they are
// reported killed; Engine.NodeLost does both.
func NodeDown(n topology.NodeID) Event { return nodeEvent(EvNodeDown, n) }

// Heartbeat says that n reported, as it does at its interval. A round of Assign calls
// for n follows; others may come before the next.
func Heartbeat(n topology.NodeID) Event { return nodeEvent(EvHeartbeat, n) }

// JobSubmitted says that a job arrived. State keeps s.
func JobSubmitted(s *JobSpec) Event {
	e := jobEvent(EvJobSubmitted, s.ID)
	e.Spec = s
	return e
}

// JobReturned is JobSubmitted for a job that came at s.Submit, before the driver of the engine was restarted.
func JobReturned(s *JobSpec) Event {
	e := JobSubmitted(s)
	e.Flag = true
	return e
}

// JobAdmitted says that j may start its driver.
func JobAdmitted(j JobID) Event { return jobEvent(EvJobAdmitted, j) }

// JobReady says that j's driver runs and its tasks are known. s, if not nil,
// replaces the submitted spec: splits are often computed by the driver.
func JobReady(j JobID, s *JobSpec) Event {
	e := jobEvent(EvJobReady, j)
	e.Spec = s
	return e
}

// JobResumed is JobReady for a job whose tasks were already scheduled by a driver of the engine that was restarted: no
// admission is asked again.
func JobResumed(j JobID, s *JobSpec) Event {
	e := JobReady(j, s)
	e.Flag = true
	return e
}

// JobFinished says that j succeeded.
func JobFinished(j JobID) Event { return jobEvent(EvJobFinished, j) }

// JobFailed says that j gave up.
func JobFailed(j JobID) Event { return jobEvent(EvJobFailed, j) }

// JobVanished says that j is gone for another reason.
func JobVanished(j JobID) Event { return jobEvent(EvJobVanished, j) }

// Launched says that an attempt of t started on n.
func Launched(t TaskID, n topology.NodeID, l Locality, second bool) Event {
	e := taskEvent(EvLaunched, t, n)
	e.Locality, e.Second = l, second
	return e
}

// Found says that an attempt of t runs on n that began d ago without the driver of the engine being told.
func Found(t TaskID, n topology.NodeID, d time.Duration) Event {
	e := Launched(t, n, Anywhere, false)
	e.Duration = d
	return e
}

// TaskFinished says that the attempt of t on n succeeded. d is its length as
// measured by the worker; 0 means now minus its launch.
func TaskFinished(t TaskID, n topology.NodeID, d time.Duration, in, out int64) Event {
	e := taskEvent(EvTaskFinished, t, n)
	e.Duration, e.InBytes, e.OutBytes = d, in, out
	return e
}

// TaskFailed says that the attempt of t on n failed by the job's own fault.
func TaskFailed(t TaskID, n topology.NodeID) Event { return taskEvent(EvTaskFailed, t, n) }

// TaskKilled says that the attempt of t on n ended without a result and
// without blame.
func TaskKilled(t TaskID, n topology.NodeID) Event { return taskEvent(EvTaskKilled, t, n) }

// TaskLost says that the output of the finished task t is gone.
func TaskLost(t TaskID) Event { return taskEvent(EvTaskLost, t, topology.NoNode) }

// Restored says that t was done on n, at at, before its job was taken over from a driver that was restarted. Policies
// that count attempts have seen none for it. Maps are restored before reduces.
func Restored(t TaskID, n topology.NodeID, at, d time.Duration, in, out int64) Event {
	e := taskEvent(EvRestored, t, n)
	e.At, e.Duration, e.InBytes, e.OutBytes = at, d, in, out
	return e
}

// Progress says that j is percent done.
func Progress(j JobID, percent float64) Event {
	e := jobEvent(EvProgress, j)
	e.Value = percent
	return e
}

// NetSample gives the utilisation of rack r's link to the core, up and down,
// 1 being full.
func NetSample(r topology.RackID, up, down float64, congested bool) Event {
	e := nodeEvent(EvNetSample, topology.NoNode)
	e.Rack, e.Value, e.Value2, e.Flag = r, up, down, congested
	return e
}

// CPUSample gives the idle percentage of node n's processors, or with NoNode
// of the whole cluster's.
func CPUSample(n topology.NodeID, idlePercent float64) Event {
	e := nodeEvent(EvCPUSample, n)
	e.Value = idlePercent
	return e
}

// Ban says that j takes nothing on n until Unban.
func Ban(j JobID, n topology.NodeID) Event {
	e := jobEvent(EvBan, j)
	e.Node = n
	return e
}

// Unban ends a Ban.
func Unban(j JobID, n topology.NodeID) Event {
	e := jobEvent(EvUnban, j)
	e.Node = n
	return e
}

// UserLimit says how many containers the jobs of a user may hold together; 0 means any number.
func UserLimit(user string, containers int32) Event {
	e := nodeEvent(EvLimit, topology.NoNode)
	e.Text, e.Value = user, float64(containers)
	return e
}

// ConfigChanged carries "name=value" to policies that listen.
func ConfigChanged(text string) Event {
	e := nodeEvent(EvConfig, topology.NoNode)
	e.Text = text
	return e
}
