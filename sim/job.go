package sim

import (
	"time"

	"github.com/millrace/millrace/netmon"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Job is a job of the workload: what the scheduler is told, and what it is not.
type Job struct {
	Spec *scheduler.JobSpec // Spec.Submit is when it arrives
	// Maps and Reduces are the times of tasks, for models that use them; task i
	// takes element i modulo the length.
	Maps, Reduces []time.Duration
	// MapOutput is the bytes that map i hands to the reduces; nil means that
	// Spec.Shuffle is spread evenly.
	MapOutput []int64
	// Cost is for the model of devices.
	Cost Cost
	// StartUp replaces Config.DriverStart for this job.
	StartUp time.Duration
	// CleanUp is from the end of its last task to its own end.
	CleanUp time.Duration
	// Late is how much later the job arrives than planning policies are told.
	Late time.Duration
}

// Time returns the given length of a task; 0 where none is given.
func (j *Job) Time(t scheduler.TaskID) time.Duration {
	times := j.Maps
	if t.Kind == scheduler.Reduce {
		times = j.Reduces
	}
	if len(times) == 0 {
		return 0
	}
	return times[int(t.Index)%len(times)]
}

// length returns how long an attempt computes: the time of its task, more if it straggles.
func (j *Job) length(a Attempt) time.Duration {
	if a.Slow > 0 {
		return time.Duration(float64(j.Time(a.Task)) * a.Slow)
	}
	return j.Time(a.Task)
}

// output returns the bytes that map i makes.
func (j *Job) output(i int32) int64 {
	if len(j.MapOutput) > 0 {
		return j.MapOutput[int(i)%len(j.MapOutput)]
	}
	if j.Spec.Maps == 0 {
		return 0
	}
	return j.Spec.Shuffle.Bytes / int64(j.Spec.Maps)
}

// shuffled returns the bytes that all maps make.
func (j *Job) shuffled() (bytes int64) {
	if len(j.MapOutput) == 0 {
		return j.Spec.Shuffle.Bytes
	}
	for i := range j.Spec.Maps {
		bytes += j.output(i)
	}
	return bytes
}

// input returns the bytes that map i reads.
func (j *Job) input(i int32) int64 {
	if int(i) < len(j.Spec.Splits.Bytes) {
		return j.Spec.Splits.Bytes[i]
	}
	if j.Spec.Maps == 0 {
		return 0
	}
	return j.Spec.Input.Bytes / int64(j.Spec.Maps)
}

// An Attempt is one try of a task on a node.
type Attempt struct {
	Task  scheduler.TaskID
	Node  topology.NodeID
	Start time.Duration
	// Slow multiplies the time of a straggler, or on a slow machine; 0 means 1.
	Slow float64
	// Try tells attempts of the same task on the same node apart.
	Try      uint32
	Locality scheduler.Locality
	// Second attempts race another one of their task.
	Second bool

	_ [8]byte // padding: a multiple of 16 bytes is quicker to copy
}

// A JobResult is what became of a job.
type JobResult struct {
	Job       *Job
	Submitted time.Duration
	Admitted  time.Duration
	// FirstStart is the launch of its first map or reduce, driver not counted.
	FirstStart time.Duration
	FirstMap   time.Duration
	FirstRed   time.Duration
	MapsDone   time.Duration
	Finished   time.Duration
	Failed     bool // rejected
	// Local counts maps by where they ran, in order of scheduler.Locality.
	Local [3]int
	// Occupied is the time that its tasks held slots, reduces waiting for maps
	// included.
	Occupied time.Duration
	Attempts int
	started  bool
}

// Wait returns the time from submission to the first task.
func (r *JobResult) Wait() time.Duration { return r.FirstStart - r.Submitted }

// Completion returns the time from submission to the end.
func (r *JobResult) Completion() time.Duration { return r.Finished - r.Submitted }

// Execution returns the time from the first task to the end.
func (r *JobResult) Execution() time.Duration { return r.Finished - r.FirstStart }

// A Result is what became of a run.
type Result struct {
	Jobs     []JobResult // in the order they were given
	Makespan time.Duration
	Events   int64 // things that happened
	Launches int64
	// Busy is the time that slots were held, by kind.
	Busy [3]time.Duration
	// Killed counts attempts that ended without a result.
	Killed int64
	// Second counts second attempts; Won those that ended first.
	Second, Won int64
	// Network is what the network carried, nil where the model has none;
	// Congestion is what the monitor saw of it.
	Network    *Traffic
	Congestion netmon.Summary
	// Log has every ended attempt if Config.LogAttempts is set, and Timeline a sample every Config.Timeline.
	Log      []AttemptLog
	Timeline []Sample
}

// An AttemptLog is one attempt from its launch to its end.
type AttemptLog struct {
	Attempt
	End time.Duration
	OK  bool // it made the result of its task
}

// A Sample is the state of a cluster at one time.
type Sample struct {
	At            time.Duration
	Maps, Reduces int32   // attempts that run
	Jobs          int     // not ended
	Uplinks       float64 // mean smoothed utilisation of the racks' links
	Congested     int     // racks
}
