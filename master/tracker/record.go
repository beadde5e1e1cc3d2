package tracker

import (
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// A RecordKind says what happened for good.
type RecordKind string

// What is journalled. Everything else can be learned again from the workers.
const (
	Submitted RecordKind = "submitted"  // Job, Spec
	PlanPart  RecordKind = "plan-part"  // Job, Stage, Try, First, Packed: splits of a plan that is not whole
	Planned   RecordKind = "planned"    // Job, Stage, Plan and Packed; or Plan and Try, after its parts
	TaskDone  RecordKind = "task-done"  // Job, Stage, Task; Tries and Try as of begun
	TaskLost  RecordKind = "task-lost"  // Job, Stage, Task: its output is gone
	Committed RecordKind = "committing" // Job, Stage: the driver may give the output its name
	StageDone RecordKind = "stage-done" // Job, Stage, Lesson
	JobEnded  RecordKind = "job-ended"  // Job, State, Text, Counts, Tries
	Moved     RecordKind = "moved"      // Job, Stage, Task.Node: its map output is to be had at another address
	Drained   RecordKind = "drained"    // Task.Node: it gets nothing new
	Undrained RecordKind = "undrained"  // Task.Node: it does again
	Limited   RecordKind = "limited"    // Text: a user, or all; Limits
	Expected  RecordKind = "expected"   // Spec, Racks: somebody says that this job will come, or it was planned
	Dropped   RecordKind = "dropped"    // Spec.Name, Spec.User: such jobs will not
	Scripted  RecordKind = "scripted"   // Policy: the script that decides; nil: none does
	Text      RecordKind = "text"       // Text: of a script that jobs refer to, up to the next
)

// What only a snapshot holds, beside the kinds above.
const (
	Numbered  RecordKind = "numbered"      // First: jobs up to this number have been
	Begun     RecordKind = "begun"         // Job, Tries: attempts so far, Try: no later one is among them
	TasksDone RecordKind = "tasks-done"    // Job, Stage, Task.Kind, Packed: many at once
	Carried   RecordKind = "carried"       // Job, Stage, Counts and Bad of the job, Tries: bad records of the stage
	StageSum  RecordKind = "stage-summary" // Job, Stage, Plan, Sums: all that is kept of a stage that is over
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
	// Wall is the time of day, in milliseconds since 1970, for records where users want to know it. The caller that
	// journals the record fills it in.
	Wall   int64             `json:"wall,omitempty"`
	Try    uint64            `json:"try,omitempty"` // the try of a driver, or the last try of the cluster
	First  int               `json:"first,omitempty"`
	Packed []byte            `json:"packed,omitempty"` // docs/formats/jobs.md
	Counts wire.Counts       `json:"counts,omitempty"`
	Tries  int               `json:"tries,omitempty"`
	Sums   *StageSums        `json:"sums,omitempty"`
	Lesson *scheduler.Lesson `json:"lesson,omitempty"`
	Limits *wire.Limits      `json:"limits,omitempty"`
	Racks  *PlannedRacks     `json:"racks,omitempty"`
	Policy *wire.Choice      `json:"policy,omitempty"`

	Bad []wire.BadRecord `json:"bad,omitempty"`
}

// PlannedRacks are the racks where maps and reduces will run, and why it is so many.
type PlannedRacks struct {
	Maps    []string `json:"maps"`
	Reduces []string `json:"reduces"`
	Why     string   `json:"why,omitempty"`
}

// StageSums is how far a stage came: maps, then reduces.
type StageSums struct {
	Total [2]int32 `json:"total"`
	Done  [2]int32 `json:"done"`
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
	Sum     uint64        `json:"sum,omitempty"` // as in wire.Ended

	Bad []wire.BadRecord `json:"bad,omitempty"`
}

// note keeps a record and applies it. The same code thus changes the durable state live and after a restart.
func (c *Tracker) note(r Record) {
	c.out.Records = append(c.out.Records, r)
	c.noted++
	c.apply(&r)
}

// apply changes the durable state. A record about a forgotten job changes nothing.
func (c *Tracker) apply(r *Record) {
	c.applyExpected(r)
	switch r.Kind {
	case Expected, Dropped:
		return
	case Scripted:
		c.script = r.Policy
		return
	case Text:
		return // the caller of Replay puts the text into the jobs
	case Submitted:
		c.applySubmitted(r)
		return
	case Numbered:
		c.lastJob = max(c.lastJob, int64(r.First))
		return
	case Limited:
		c.userNamed(r.Text).own = *r.Limits
		return
	case Drained, Undrained:
		if n := c.nodeNamed(r.Task.Node, r.Task.Rack, ""); n != nil {
			n.drain = r.Kind == Drained
		}
		return
	}
	j := c.jobs[r.Job]
	if j == nil || j.state.Ended() {
		return
	}
	if r.Kind == Begun || r.Kind == TaskDone {
		j.noted, j.lastTry = max(j.noted, r.Tries), max(j.lastTry, r.Try)
		j.tries = max(j.tries, j.noted)
	}
	if r.Kind == Begun {
		return
	}
	if r.Kind == JobEnded {
		j.state, j.err, j.endedAt = r.State, r.Text, r.At
		j.tries = max(j.tries, r.Tries)
		c.userNamed(j.spec.User).left(j)
		for _, st := range j.stages {
			st.shrink()
		}
		return
	}
	for len(j.stages) <= r.Stage {
		j.addStage(j.since())
	}
	st := j.stages[r.Stage]
	st.kept = true
	switch r.Kind {
	case PlanPart:
		st.applyPart(r)
	case Planned:
		if st.applyPlanned(r); st.plan != nil {
			j.state = Running
		}
	case TasksDone:
		c.applyTasks(st, r.Task.Kind, r.Packed)
	case Carried:
		j.counts, j.bad, st.skipped = r.Counts.Clone(), r.Bad, r.Tries
	case StageSum:
		st.total, st.doneCount = r.Sums.Total, r.Sums.Done
		if r.Plan != nil {
			st.plan = &plan{StagePlan: *r.Plan}
			j.state = Running
		}
	case TaskDone:
		c.applyDone(st, r.At, r.Task)
	case TaskLost:
		st.applyLost(r.Task)
	case Moved:
		c.applyMoved(st, r.Task)
	case Committed:
		st.committing = true
	case StageDone:
		st.done, st.doneAt, st.lesson = true, r.At, r.Lesson
		st.shrink()
	}
}

func (c *Tracker) applySubmitted(r *Record) {
	var n int64
	for _, d := range r.Job[len("job-"):] {
		n = n*10 + int64(d-'0')
	}
	c.lastJob = max(c.lastJob, n)
	j := &job{id: r.Job, num: n, spec: *r.Spec, submitted: r.At, counts: wire.Counts{}}
	c.jobs[j.id] = j
	c.userNamed(j.spec.User).came(j)
	if r.Spec.Request != "" {
		c.requests[r.Spec.User+"\x00"+r.Spec.Request] = j.id
	}
}

func (c *Tracker) applyDone(st *stage, at time.Duration, t *TaskRecord) {
	n := c.nodeNamed(t.Node, t.Rack, "")
	set := st.tasks(t.Kind)
	if int(t.Index) >= len(set) || set[t.Index].try != 0 {
		return
	}
	set[t.Index].try, set[t.Index].node = t.Try, n.id
	set[t.Index].in, set[t.Index].out, set[t.Index].at = t.In, t.Out, at
	set[t.Index].millis = int32(min(t.Millis, 1<<31-1))
	st.putOut(t.Kind, t.Index, t.Sum)
	st.doneCount[kindIndex(t.Kind)]++
	if !set[t.Index].counted { // a map that runs again has the same counters as before
		set[t.Index].counted = true
		st.job.counts.Add(t.Counts)
		st.skipped += t.Skipped
		st.job.bad = append(st.job.bad, t.Bad[:min(len(t.Bad), wire.MaxBadJob-len(st.job.bad))]...)
	}
	if t.Kind == wire.MapTask {
		st.changes = append(st.changes, change{index: t.Index, try: t.Try})
	}
}

func (st *stage) applyLost(t *TaskRecord) {
	set := st.tasks(t.Kind)
	if int(t.Index) >= len(set) || set[t.Index].try != t.Try {
		return
	}
	set[t.Index].try = 0
	st.doneCount[kindIndex(t.Kind)]--
	if t.Kind == wire.MapTask {
		st.changes = append(st.changes, change{index: t.Index})
	}
}
