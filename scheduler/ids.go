package scheduler

import "fmt"

// A JobID names one job. The driver hands them out; they are never reused.
type JobID int32

// NoJob is the id of no job.
const NoJob JobID = -1

// String prints the id as users type it: j7.
func (j JobID) String() string { return fmt.Sprintf("j%d", int32(j)) }

// A Kind is what a container runs.
type Kind uint8

// The kinds of task. Driver is the job's own coordinator (application master),
// which holds a container for the life of the job.
const (
	Map Kind = iota
	Reduce
	Driver
	NumKinds = 3
)

// String returns "map", "reduce" or "driver".
func (k Kind) String() string {
	switch k {
	case Map:
		return "map"
	case Reduce:
		return "reduce"
	case Driver:
		return "driver"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// A TaskID names one task of one job. A job's driver has index 0.
type TaskID struct {
	Job   JobID
	Index int32
	Kind  Kind
}

// String prints the task as j7/map/12.
func (t TaskID) String() string { return fmt.Sprintf("%v/%v/%d", t.Job, t.Kind, t.Index) }

// A Locality says how near a map task runs to its input. Its value is gamma of
// spec/nas 2.4: larger is farther.
type Locality uint8

// The localities. Anywhere is that of tasks without stored input: reduces,
// drivers, and maps whose split names no replica.
const (
	NodeLocal Locality = iota
	RackLocal
	Remote
	Anywhere
)

// String returns "node-local", "rack-local", "remote" or "anywhere".
func (l Locality) String() string {
	switch l {
	case NodeLocal:
		return "node-local"
	case RackLocal:
		return "rack-local"
	case Remote:
		return "remote"
	}
	return "anywhere"
}

// A Phase is how far a job has come. Comparison means progress.
type Phase uint8

// The phases of a job.
const (
	Waiting  Phase = iota // submitted; the admission policy has not let it start
	Admitted              // may start its driver; its tasks are not schedulable yet
	Ready                 // its map and reduce tasks may be assigned
	Ended                 // finished, failed or vanished
)

// String returns the phase's name.
func (p Phase) String() string {
	return [...]string{"waiting", "admitted", "ready", "ended"}[min(p, Ended)]
}

// A TaskState is how far a task has come. Comparison means progress.
type TaskState uint8

// The states of a task.
const (
	TaskPending TaskState = iota
	TaskRunning           // at least one attempt runs
	TaskDone              // one attempt finished; its output counts
)

// String returns the state's name.
func (s TaskState) String() string {
	return [...]string{"pending", "running", "done"}[min(s, TaskDone)]
}
