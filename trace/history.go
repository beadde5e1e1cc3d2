package trace

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// HistoryVersion is the version of the history format that is written.
const HistoryVersion = 1

// A History is what happened on a cluster, real or simulated: jobs and, where they are
// known, the attempts of their tasks. Its format is described in
// docs/formats/history.md. Times count from the start of the history.
type History struct {
	Origin   Origin
	Jobs     []PastJob     // in order of submission
	Attempts []PastAttempt // in order of their end
}

// An Origin says where a history comes from. Empty fields are unknown.
type Origin struct {
	Source    string `json:"source,omitempty"` // "sim", "cluster" or "swim"
	Policy    string `json:"policy,omitempty"`
	Admission string `json:"admission,omitempty"`
	Nodes     int    `json:"nodes,omitempty"`
	Racks     int    `json:"racks,omitempty"`
	Room      int    `json:"room,omitempty"` // containers or slots of the whole cluster
}

// A JobState says how a job ended.
type JobState string

// The states. A job that only a trace tells of has none.
const (
	JobDone     JobState = "done"
	JobFailed   JobState = "failed"
	JobRejected JobState = "rejected"
)

// A PastJob is a job of a history.
type PastJob struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	User  string `json:"user,omitempty"`
	Queue string `json:"queue,omitempty"`

	Submit   time.Duration `json:"submit_ns"`
	Admitted time.Duration `json:"admitted_ns,omitempty"`
	Start    time.Duration `json:"start_ns,omitempty"` // of the first task
	End      time.Duration `json:"end_ns,omitempty"`
	Deadline time.Duration `json:"deadline_ns,omitempty"` // the instant of its goal
	State    JobState      `json:"state,omitempty"`

	Maps    int32 `json:"maps,omitempty"`
	Reduces int32 `json:"reduces,omitempty"`

	InputBytes   int64 `json:"input_bytes,omitempty"`
	ShuffleBytes int64 `json:"shuffle_bytes,omitempty"`
	OutputBytes  int64 `json:"output_bytes,omitempty"`
}

// A PastAttempt is one try of a task.
type PastAttempt struct {
	Job      string        `json:"job"`
	Kind     string        `json:"kind"` // "map" or "reduce"
	Index    int32         `json:"index"`
	Node     string        `json:"node"`
	Start    time.Duration `json:"start_ns"`
	End      time.Duration `json:"end_ns"`
	Locality string        `json:"locality,omitempty"` // "node", "rack" or "remote"; maps only
	// Lost says that the attempt ended without a result.
	Lost bool `json:"lost,omitempty"`
}

// Trace returns the jobs as a trace.
func (h *History) Trace() []Job {
	out := make([]Job, len(h.Jobs))
	for i, j := range h.Jobs {
		out[i] = Job{ID: j.ID, Submit: j.Submit, InputBytes: j.InputBytes, ShuffleBytes: j.ShuffleBytes, OutputBytes: j.OutputBytes}
	}
	return out
}

// HistoryOf returns a trace as a history without attempts.
func HistoryOf(jobs []Job) *History {
	h := &History{Origin: Origin{Source: "swim"}}
	for _, j := range jobs {
		h.Jobs = append(h.Jobs, PastJob{ID: j.ID, Submit: j.Submit, InputBytes: j.InputBytes, ShuffleBytes: j.ShuffleBytes, OutputBytes: j.OutputBytes})
	}
	return h
}

// sort puts jobs and attempts into their order.
func (h *History) sort() {
	slices.SortStableFunc(h.Jobs, func(a, b PastJob) int { return cmp.Compare(a.Submit, b.Submit) })
	slices.SortStableFunc(h.Attempts, func(a, b PastAttempt) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Start, b.Start))
	})
}

const (
	maxTasks = 1 << 28
	maxTime  = 1_000_000_000 * time.Second
)

func (j *PastJob) validate() error {
	switch {
	case j.ID == "":
		return fmt.Errorf("the job has no id")
	case j.Maps < 0 || j.Reduces < 0 || j.Maps > maxTasks || j.Reduces > maxTasks:
		return fmt.Errorf("job %q has %d maps and %d reduces, must be in 0..2^28", j.ID, j.Maps, j.Reduces)
	case j.State != "" && j.State != JobDone && j.State != JobFailed && j.State != JobRejected:
		return fmt.Errorf("job %q: state %q is none of done, failed, rejected", j.ID, j.State)
	case j.End != 0 && j.End < j.Submit:
		return fmt.Errorf("job %q ends at %v, before it is submitted at %v", j.ID, j.End, j.Submit)
	}
	for _, t := range []time.Duration{j.Submit, j.Admitted, j.Start, j.End, j.Deadline} {
		if t < 0 || t > maxTime {
			return fmt.Errorf("job %q: a time of %d ns is not in 0..1e18", j.ID, int64(t))
		}
	}
	for _, b := range []int64{j.InputBytes, j.ShuffleBytes, j.OutputBytes} {
		if b < 0 || b > maxBytes {
			return fmt.Errorf("job %q: %d bytes are not in 0..2^60", j.ID, b)
		}
	}
	return nil
}

func (a *PastAttempt) validate() error {
	switch {
	case a.Job == "":
		return fmt.Errorf("the attempt has no job")
	case a.Kind != "map" && a.Kind != "reduce":
		return fmt.Errorf("attempt of %q: kind %q is neither map nor reduce", a.Job, a.Kind)
	case a.Index < 0 || a.Index >= maxTasks:
		return fmt.Errorf("attempt of %q: index %d is not in 0..2^28", a.Job, a.Index)
	case a.Start < 0 || a.End < a.Start || a.End > maxTime:
		return fmt.Errorf("attempt of %q: from %d to %d ns is no time", a.Job, int64(a.Start), int64(a.End))
	case a.Locality != "" && a.Locality != "node" && a.Locality != "rack" && a.Locality != "remote":
		return fmt.Errorf("attempt of %q: locality %q is none of node, rack, remote", a.Job, a.Locality)
	}
	return nil
}
