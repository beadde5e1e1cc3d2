package wire

// A JobState is how far a job has come.
type JobState string

// The states of a job.
const (
	Queued    JobState = "QUEUED"    // waits for admission, a driver or a plan
	Running   JobState = "RUNNING"   // its tasks are known
	Succeeded JobState = "SUCCEEDED" // its output is complete
	Failed    JobState = "FAILED"    // by its own fault; no output
	Cancelled JobState = "CANCELLED" // somebody asked for it; no output
)

// Ended reports whether the job has ended.
func (s JobState) Ended() bool { return s != Queued && s != Running }

// JobStates are all states, in the order in which a job can reach them.
var JobStates = []JobState{Queued, Running, Succeeded, Failed, Cancelled}
