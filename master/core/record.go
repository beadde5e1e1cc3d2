package core

import (
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A RecordKind says what happened for good.
type RecordKind string

// What is journalled. Everything else can be learned again from the workers.
const (
	Submitted RecordKind = "submitted"  // Job, Spec
	Planned   RecordKind = "planned"    // Job, Stage, Plan
	TaskDone  RecordKind = "task-done"  // Job, Stage, Task
	TaskLost  RecordKind = "task-lost"  // Job, Stage, Task: its output is gone
	Committed RecordKind = "committing" // Job, Stage: the driver may give the output its name
	StageDone RecordKind = "stage-done" // Job, Stage
	JobEnded  RecordKind = "job-ended"  // Job, State, Text
)

// A Record is one change that survives the master.
type Record struct {
	At    time.Duration   `json:"at"`
	Kind  RecordKind      `json:"kind"`
	Job   wire.JobID      `json:"job"`
	Stage int             `json:"stage,omitempty"`
	Spec  *wire.JobSpec   `json:"spec,omitempty"`
	Plan  *wire.StagePlan `json:"plan,omitempty"`
	Task  *TaskRecord     `json:"task,omitempty"`
	State State           `json:"state,omitempty"`
	Text  string          `json:"text,omitempty"`
}

// A TaskRecord is a task that is done, by which attempt and where, or one whose output is gone.
type TaskRecord struct {
	Kind    wire.TaskKind `json:"kind"`
	Index   int32         `json:"index"`
	Try     uint64        `json:"try"`
	Node    wire.NodeName `json:"node,omitempty"`
	Rack    string        `json:"rack,omitempty"`
	Millis  int64         `json:"ms,omitempty"`
	In      int64         `json:"in,omitempty"`
	Out     int64         `json:"out,omitempty"`
	Skipped int           `json:"skipped,omitempty"`
	Counts  wire.Counts   `json:"counts,omitempty"`
}

// note keeps a record and applies it: live and after a restart the same code changes the
// state that lasts.
func (c *Core) note(r Record) {
	c.out.Records = append(c.out.Records, r)
	c.noted++
	c.apply(&r)
}

// apply changes the lasting state. A record about a job that has been forgotten changes nothing.
func (c *Core) apply(r *Record) {
	if r.Kind == Submitted {
		c.applySubmitted(r)
		return
	}
	j := c.jobs[r.Job]
	if j == nil || j.state.Ended() {
		return
	}
	if r.Kind == JobEnded {
		j.state, j.err, j.endedAt = r.State, r.Text, r.At
		return
	}
	for len(j.stages) <= r.Stage {
		j.stages = append(j.stages, &stage{job: j, n: len(j.stages), sid: -1, since: r.At})
	}
	st := j.stages[r.Stage]
	switch r.Kind {
	case Planned:
		st.setPlan(r.Plan)
		j.state = Running
	case TaskDone:
		c.applyDone(st, r.Task)
	case TaskLost:
		st.applyLost(r.Task)
	case Committed:
		st.committing = true
	case StageDone:
		st.done = true
	}
}

func (c *Core) applySubmitted(r *Record) {
	var n int64
	for _, d := range r.Job[len("job-"):] {
		n = n*10 + int64(d-'0')
	}
	c.lastJob = max(c.lastJob, n)
	j := &job{id: r.Job, num: n, spec: *r.Spec, submitted: r.At, counts: wire.Counts{}}
	c.jobs[j.id] = j
	if r.Spec.Request != "" {
		c.requests[r.Spec.User+"\x00"+r.Spec.Request] = j.id
	}
}

func (c *Core) applyDone(st *stage, t *TaskRecord) {
	n := c.nodeNamed(t.Node, t.Rack, "")
	set := st.tasks(t.Kind)
	if set == nil || int(t.Index) >= len(set) || set[t.Index].try != 0 {
		return
	}
	set[t.Index].try, set[t.Index].node = t.Try, n.id
	set[t.Index].in, set[t.Index].out = t.In, t.Out
	set[t.Index].millis = int32(min(t.Millis, 1<<31-1))
	st.doneCount[kindIndex(t.Kind)]++
	addCounts(&st.job.counts, t.Counts)
	st.skipped += t.Skipped
	if t.Kind == wire.MapTask {
		st.changes = append(st.changes, change{t.Index, t.Try})
	}
}

func (st *stage) applyLost(t *TaskRecord) {
	set := st.tasks(t.Kind)
	if set == nil || int(t.Index) >= len(set) || set[t.Index].try != t.Try {
		return
	}
	set[t.Index].try = 0
	st.doneCount[kindIndex(t.Kind)]--
	if t.Kind == wire.MapTask {
		st.changes = append(st.changes, change{t.Index, 0})
	}
}

func addCounts(to *wire.Counts, from wire.Counts) {
	for g, names := range from {
		for name, n := range names {
			if *to == nil {
				*to = wire.Counts{}
			}
			if (*to)[g] == nil {
				(*to)[g] = map[string]int64{}
			}
			(*to)[g][name] += n
		}
	}
}
