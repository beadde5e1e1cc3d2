package mapreduce

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
)

// Kind says what a task does.
type Kind uint8

// The kinds of task.
const (
	MapTask Kind = iota
	ReduceTask
)

// String returns "map" or "reduce".
func (k Kind) String() string {
	if k == MapTask {
		return "map"
	}
	return "reduce"
}

// TaskInfo identifies one attempt.
type TaskInfo struct {
	Job     string // name of the job
	Kind    Kind
	Index   int // of the task among those of its kind
	Attempt int // 0 for the first try
	Reduces int // number of partitions, 0 for a map-only job
	// MaxRecord is the largest record that the attempt takes, in bytes. 0 means
	// that the engine does not say.
	MaxRecord int
	// Params are the job's parameters.
	Params map[string]string
	// SideDir holds the job's side files under their base names.
	SideDir string
}

// A Task is what user code sees of the attempt it runs in. It is given to the New
// functions of [Map] and [Reduce].
type Task struct {
	TaskInfo
	ctx    context.Context
	set    *CounterSet
	status atomic.Pointer[string]
	input  atomic.Pointer[string]
	asked  atomic.Bool // the engine wants to know whether the attempt is alive
}

// NewTask is for engines. It makes the task of one attempt, which counts into set.
func NewTask(ctx context.Context, info TaskInfo, set *CounterSet) *Task {
	return &Task{TaskInfo: info, ctx: ctx, set: set}
}

// Context ends when the attempt is cancelled. Long-running user code should watch it.
func (t *Task) Context() context.Context { return t.ctx }

// Counter returns the counter of that name.
func (t *Task) Counter(group, name string) *Counter { return t.set.Counter(group, name) }

// TryCounter is [Task.Counter] for names that come from outside the program: past
// the limits of counters it returns an error in place of a panic.
func (t *Task) TryCounter(group, name string) (*Counter, error) { return t.set.try(group, name) }

// SetStatus shows a line of text beside the attempt's progress. It also shows that the attempt is alive.
func (t *Task) SetStatus(text string) {
	t.status.Store(&text)
	t.Alive()
}

// Alive shows that the attempt is alive. Attempts that read records or emit pairs need not call it. User code that
// works for minutes on one record should, unless it sets a status or counts something.
func (t *Task) Alive() {
	if t.asked.Load() { // usually it is not set: reading costs nothing, writing would
		t.asked.Store(false)
	}
}

// AskAlive is for engines. It reports whether the attempt was alive since the last call.
func (t *Task) AskAlive() bool { return !t.asked.Swap(true) }

// Status returns what SetStatus last set.
func (t *Task) Status() string { return load(&t.status) }

// SetInput is for engines. It names the file that the attempt now reads.
func (t *Task) SetInput(name string) { t.input.Store(&name) }

// Input returns the file of the current record; it is empty in a reduce.
func (t *Task) Input() string { return load(&t.input) }

// Param returns a parameter of the job, or "" if there is none of that name.
func (t *Task) Param(name string) string { return t.Params[name] }

// SideFile returns the local path of a side file of the job.
func (t *Task) SideFile(name string) string {
	return filepath.Join(t.SideDir, filepath.Base(name))
}

// String returns the name of the attempt, such as "map 3 try 1" for the first.
func (t *Task) String() string {
	return fmt.Sprintf("%s %d try %d", t.Kind, t.Index, t.Attempt+1)
}

func load(p *atomic.Pointer[string]) string {
	if s := p.Load(); s != nil {
		return *s
	}
	return ""
}
