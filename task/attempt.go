package task

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/millrace/millrace/mapreduce"
)

// attempt is what map and reduce attempts have in common.
type attempt struct {
	ctx      context.Context
	env      *Env
	job      *mapreduce.Job
	plan     *Plan
	id       ID
	meter    *Meter
	counters mapreduce.CounterSet
	task     *mapreduce.Task

	combine mapreduce.Reducer // the job's combiner, if it has one

	place place // where user code now is, for error messages
}

// place is a record of input, or a group of a reduce.
type place struct {
	file   string
	offset int64
	group  []byte // key of the group; nil in a map
	stage  string // what goes on where there is neither; "" is set-up
}

func (p place) String() string {
	switch {
	case p.group != nil:
		return fmt.Sprintf("group %q", clip(p.group))
	case p.file != "":
		return fmt.Sprintf("%s at offset %d", p.file, p.offset)
	case p.stage != "":
		return p.stage
	}
	return "set-up"
}

func clip(b []byte) []byte {
	const most = 80
	if len(b) > most {
		return b[:most]
	}
	return b
}

func newAttempt(ctx context.Context, env *Env, job *mapreduce.Job, plan *Plan, id ID, meter *Meter) *attempt {
	if meter == nil {
		meter = &Meter{}
	}
	a := &attempt{ctx: ctx, env: env, job: job, plan: plan, id: id, meter: meter}
	a.task = env.newTask(a)
	return a
}

func (a *attempt) count(name string, n int64) {
	if n != 0 {
		a.counters.Counter(mapreduce.TaskGroup, name).Add(n)
	}
}

// An AttemptError says where an attempt failed in user code.
type AttemptError struct {
	Task  string // "map 3 attempt 0"
	Where string // file and offset, or group
	Err   error
	Stack string // set when user code panicked
}

// Error gives one line; the stack is apart.
func (e *AttemptError) Error() string {
	return fmt.Sprintf("%s failed in user code at %s: %v", e.Task, e.Where, e.Err)
}

// Unwrap returns the cause.
func (e *AttemptError) Unwrap() error { return e.Err }

func panicError(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic: %v", p)
}

// guard runs a loop over user code and turns a panic into an AttemptError. It is
// set up once for the loop, so that it costs nothing per record. Whole attempts run
// under it, too: formats, partitioners, sort orders and folds are user code.
func (a *attempt) guard(loop func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &AttemptError{
				Task: a.task.String(), Where: a.place.String(),
				Err: panicError(p), Stack: string(debug.Stack()),
			}
		}
	}()
	return loop()
}

// release closes user code that holds something, however its attempt ended.
func (a *attempt) release(user any) error {
	c, ok := user.(io.Closer)
	if !ok {
		return nil
	}
	return a.userCode(c.Close)
}

// userCode runs one call of user code: its error, too, becomes an AttemptError.
func (a *attempt) userCode(call func() error) error {
	return a.guard(func() error {
		if err := call(); err != nil {
			return a.blame(err)
		}
		return nil
	})
}

// blame marks an error that user code returned.
func (a *attempt) blame(err error) error {
	return &AttemptError{Task: a.task.String(), Where: a.place.String(), Err: err}
}
