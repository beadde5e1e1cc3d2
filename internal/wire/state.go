package wire

// A JobState is how far a job has come.
type JobState string

// The states of a job.
const (
	Queued    JobState = "QUEUED"    // waits for admission, a driver or a plan
	Running   JobState = "RUNNING"   // its tasks are known
	Succeeded JobState = "SUCCEEDED" // its output is there, whole
	Failed    JobState = "FAILED"    // by its own fault; no output
	Cancelled JobState = "CANCELLED" // somebody asked for it; no output
)

// Ended reports whether nothing more happens to the job.
func (s JobState) Ended() bool { return s != Queued && s != Running }

// JobStates are all of them, in the order in which a job can come to them.
var JobStates = []JobState{Queued, Running, Succeeded, Failed, Cancelled}
