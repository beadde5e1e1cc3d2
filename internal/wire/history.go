package wire

import "github.com/millrace/millrace/internal/priority"

// A PastKind says what happened.
type PastKind string

// What happens to jobs and attempts. Kinds that the journal has come first.
const (
	PastSubmitted  PastKind = "submitted"
	PastPlanned    PastKind = "planned"
	PastDone       PastKind = "done" // an attempt's result counts
	PastOutputLost PastKind = "output-lost"
	PastCommitting PastKind = "committing"
	PastStageDone  PastKind = "stage-done"
	PastEnded      PastKind = "ended" // the job
	PastAdmitted   PastKind = "admitted"
	PastLaunched   PastKind = "launched"
	PastFailed     PastKind = "failed"  // an attempt, by the job's fault
	PastLost       PastKind = "lost"    // an attempt, by the machine's fault
	PastStopped    PastKind = "stopped" // an attempt, because nobody needs it any more
	PastHeld       PastKind = "held"    // the job gets nothing, for another reason than before
)

// PastKinds lists the kinds by their number in stored values, so only append.
var PastKinds = []PastKind{
	PastSubmitted, PastPlanned, PastDone, PastOutputLost, PastCommitting, PastStageDone, PastEnded,
	PastAdmitted, PastLaunched, PastFailed, PastLost, PastStopped, PastHeld,
}

// A PastEvent is one thing that happened to a job. Fields that a kind does not need are zero.
type PastEvent struct {
	At    int64    `json:"at_ns"` // since the cluster's birth
	Kind  PastKind `json:"kind"`
	Stage int      `json:"stage,omitempty"`

	// Of an attempt:
	Task     TaskKind `json:"task,omitempty"`
	Index    int32    `json:"index,omitempty"`
	Try      uint64   `json:"try,omitempty"`
	Number   int      `json:"number,omitempty"` // of this try among those of its task, from 0
	Node     NodeName `json:"node,omitempty"`
	Locality string   `json:"locality,omitempty"` // node, rack or remote
	Second   bool     `json:"speculative,omitempty"`
	Millis   int64    `json:"ms,omitempty"`
	In       int64    `json:"in,omitempty"`
	Out      int64    `json:"out,omitempty"`
	Counts   Counts   `json:"counts,omitempty"`

	// Of a plan:
	Maps    int32 `json:"maps,omitempty"`
	Reduces int32 `json:"reduces,omitempty"`

	State JobState `json:"state,omitempty"` // of a job that ended
	Text  string   `json:"text,omitempty"`
}

// A PastJob is what the history says about a job as a whole. Wall times are milliseconds since 1970,
// others nanoseconds since the cluster's birth.
type PastJob struct {
	Job           JobID    `json:"job"`
	Name          string   `json:"name"`
	User          string   `json:"user"`
	Queue         string   `json:"queue,omitempty"`
	Pool          string   `json:"pool,omitempty"`
	Program       string   `json:"program,omitempty"`
	Output        string   `json:"output,omitempty"`
	Stages        int      `json:"stages"`
	State         JobState `json:"state"`
	Error         string   `json:"error,omitempty"`
	Submitted     int64    `json:"submitted_ns"`
	SubmittedWall int64    `json:"submitted_wall_ms"`
	Deadline      int64    `json:"deadline_ms,omitempty"` // after the submission
	Admitted      int64    `json:"admitted_ns,omitempty"`
	Planned       int64    `json:"planned_ns,omitempty"` // the first stage
	Ended         int64    `json:"ended_ns,omitempty"`
	EndedWall     int64    `json:"ended_wall_ms,omitempty"`
	Stage         int      `json:"stage"` // number of stages with a plan
	Maps          int      `json:"maps"`  // of all stages
	Reduces       int      `json:"reduces"`
	Attempts      int      `json:"attempts"`
	Counts        Counts   `json:"counters,omitempty"`

	Priority  priority.Priority `json:"priority,omitempty"`
	Weight    float64           `json:"weight,omitempty"`
	Recurring bool              `json:"recurring,omitempty"`
	// Slowstart and ReduceCost are as in its JobSpec. So is Expect, with what the master added. Older masters kept
	// none.
	Slowstart  float64   `json:"slowstart,omitempty"`
	ReduceCost float64   `json:"reduce_cost,omitempty"`
	Expect     *Expected `json:"expect,omitempty"`
	Under      *Policies `json:"under,omitempty"` // the policies when it was submitted
	Bytes      int64     `json:"bytes,omitempty"` // size of its events, once it has ended
}

// Over reports whether the job has ended.
func (j *PastJob) Over() bool { return j.Ended != 0 }

// PastQuery asks for jobs, newest first. Empty fields match all.
type PastQuery struct {
	User  string   `json:"user,omitempty"`
	State JobState `json:"state,omitempty"`
	Since int64    `json:"since_ms,omitempty"` // submitted at or after, milliseconds since 1970
	Limit int      `json:"limit,omitempty"`    // 0 means 100
	// Before leaves out jobs from this one on, for the next page.
	Before JobID `json:"before,omitempty"`
}

// PastJobs answers a query.
type PastJobs struct {
	Jobs []PastJob `json:"jobs"`
	More bool      `json:"more,omitempty"`
	// Problem says why the history may be incomplete.
	Problem string `json:"problem,omitempty"`
}

// PastEventsRequest asks for the events of a job, starting at a place that an earlier answer named.
type PastEventsRequest struct {
	Job   JobID  `json:"job"`
	From  []byte `json:"from,omitempty"`
	Limit int    `json:"limit,omitempty"`
	Brief bool   `json:"brief,omitempty"` // without the counters of attempts
}

// PastEvents are events of a job. Next is nil at the end.
type PastEvents struct {
	Events []PastEvent `json:"events"`
	Next   []byte      `json:"next,omitempty"`
}

// A Phase is what a stage of a job did for a while.
type Phase struct {
	Stage int    `json:"stage"`
	Name  string `json:"name"` // wait, plan, map, reduce, commit
	Begin int64  `json:"begin_ns"`
	End   int64  `json:"end_ns,omitempty"`
}

// A PastAttempt is one try of a task, assembled from its events.
type PastAttempt struct {
	Stage    int      `json:"stage,omitempty"`
	Task     TaskKind `json:"task"`
	Index    int32    `json:"index"`
	Try      uint64   `json:"try"`
	Number   int      `json:"number"`
	Node     NodeName `json:"node,omitempty"`
	Locality string   `json:"locality,omitempty"`
	Second   bool     `json:"speculative,omitempty"`
	Begin    int64    `json:"begin_ns"`
	End      int64    `json:"end_ns,omitempty"`
	How      PastKind `json:"how,omitempty"` // done, failed, lost, stopped; empty while it runs
	Text     string   `json:"text,omitempty"`
}

// PastSummary is a summary of a job's history.
type PastSummary struct {
	PastJob
	Phases  []Phase       `json:"phases"`
	Slowest []PastAttempt `json:"slowest"`
	// Failed lists the first attempts that failed or were lost. Failures is how many there were.
	Failed   []PastAttempt `json:"failed,omitempty"`
	Failures int           `json:"failures"`
	// Local counts the attempts of maps by locality.
	Local map[string]int `json:"locality,omitempty"`
}

// AttemptsRequest asks for the attempts of a job. Without a Task: drivers and failed attempts.
type AttemptsRequest struct {
	Job   JobID    `json:"job"`
	Stage int      `json:"stage,omitempty"`
	Task  TaskKind `json:"task,omitempty"`
	Index int32    `json:"index,omitempty"`
}

// LogRequest asks for what an attempt has printed, starting at a place.
type LogRequest struct {
	ID   AttemptID `json:"id"`
	From int64     `json:"from,omitempty"`
	// Tail, if positive and From is 0, asks for only that many bytes at the end.
	Tail int64 `json:"tail,omitempty"`
}

// Log is a piece of what an attempt printed.
type Log struct {
	Text []byte `json:"text,omitempty"`
	Next int64  `json:"next"` // where the next piece starts
	More bool   `json:"more"` // there is more already
	Open bool   `json:"open"` // the attempt still runs
	Node string `json:"node,omitempty"`
}
