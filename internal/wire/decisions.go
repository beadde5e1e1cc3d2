package wire

import "encoding/json"

// A Decision is one thing that the policies decided, in words.
type Decision struct {
	Seq uint64 `json:"seq"`
	At  int64  `json:"at_ns"` // since the cluster's birth
	// Do is launch, stop, forget, start (a job is admitted), reject, hold (a job gets nothing, for a new reason) or
	// policy.
	Do     string   `json:"do"`
	Job    JobID    `json:"job,omitempty"`
	Stage  int      `json:"stage,omitempty"`
	Task   TaskKind `json:"task,omitempty"`
	Index  int32    `json:"index,omitempty"`
	Node   NodeName `json:"node,omitempty"`
	Second bool     `json:"second,omitempty"` // a second attempt of a slow task
	Why    string   `json:"why,omitempty"`
	// Others are jobs that also had a task for that place: the first few, and how many more there were.
	Others []JobID `json:"others,omitempty"`
	More   int     `json:"more,omitempty"`
}

// DecisionsRequest asks for decisions, or lines of the log, starting at a number.
type DecisionsRequest struct {
	From  uint64 `json:"from,omitempty"`
	Job   JobID  `json:"job,omitempty"` // only those about it
	Limit int    `json:"limit,omitempty"`
}

// Decisions is the answer: Next is where to continue, Lost how many from From on are no longer remembered.
type Decisions struct {
	Decisions []Decision `json:"decisions"`
	Next      uint64     `json:"next"`
	Lost      uint64     `json:"lost,omitempty"`
}

// DecisionLines are lines of the decision log that a simulator replays, and its header, starting at a number.
type DecisionLines struct {
	Header json.RawMessage   `json:"header"`
	Lines  []json.RawMessage `json:"lines"`
	Next   uint64            `json:"next"`
	More   bool              `json:"more,omitempty"`
}
