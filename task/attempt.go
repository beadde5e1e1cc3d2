package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

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

	cancel  context.CancelCauseFunc
	counted mapreduce.Counts // what alive has seen of the counters
	inUser  atomic.Int32     // calls of user code that have not returned

	begun  time.Time     // when it started to compute, if it is paced
	paused time.Duration // total of pauses since then

	place  place // where user code now is, for error messages
	exited error // where user code ended the goroutine, if it did
}

// place is a record of input, or a group of a reduce.
type place struct {
	file   string
	offset int64
	group  []byte // key of the group; nil in a map
	stage  string // what is going on if there is neither; "" is set-up
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

// Work is one try of a task of a stage.
type Work struct {
	Env   *Env
	Job   *mapreduce.Job
	Plan  *Plan
	ID    ID
	Out   *JobOutput // where parts go
	Meter *Meter     // counts what is done, if set
}

func newAttempt(ctx context.Context, w *Work) *attempt {
	a := &attempt{env: w.Env, job: w.Job, plan: w.Plan, id: w.ID, meter: w.Meter}
	if a.meter == nil {
		a.meter = &Meter{}
	}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	a.task = a.env.newTask(a)
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

// Error returns one line, without the stack.
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

// guard runs a loop over user code and turns a panic into an AttemptError. It is set up once for the loop, so it
// costs nothing per record. Whole attempts run under it, too, since formats, partitioners, sort orders and folds are
// user code.
//
// User code that calls runtime.Goexit ends the goroutine of the attempt, which nothing can prevent. guard records
// where, and alone reports it.
func (a *attempt) guard(loop func() error) (err error) {
	returned := false
	defer func() {
		p := recover()
		switch {
		case p != nil:
			err = a.failure(panicError(p))
		case !returned && a.exited == nil:
			a.exited = a.failure(errGoexit)
		}
	}()
	err = loop()
	returned = true
	return err
}

// runUser is guard for code that is only user code and must show signs of life.
func (a *attempt) runUser(loop func() error) error {
	a.inUser.Add(1)
	defer a.inUser.Add(-1)
	return a.guard(loop)
}

// errGoexit is the error of an attempt whose user code ended the goroutine.
var errGoexit = errors.New("it called runtime.Goexit, as the Fatal of package testing does")

// failure returns an error of user code with the present stack.
func (a *attempt) failure(err error) error {
	return &AttemptError{Task: a.task.String(), Where: a.place.String(), Err: err, Stack: userFrames(string(debug.Stack()))}
}

// engine is the prefix of the names of the engine's own functions, which call user code.
const engine = "github.com/millrace/millrace/"

// userFrames reduces a stack to the frames of user code, from the panic to the engine, whose frames tell a user
// nothing. It returns a stack without such frames unchanged.
func userFrames(stack string) string {
	head, rest, ok := strings.Cut(stack, "\n")
	if at := max(strings.LastIndex(rest, "\npanic("), strings.LastIndex(rest, "\nruntime.Goexit(")); ok && at >= 0 {
		rest = rest[at+1:]
	}
	lines := strings.SplitAfter(rest, "\n")
	keep := head + "\n"
	for i := 0; i+1 < len(lines); i += 2 { // a frame is a function and its place on the next line
		name := lines[i]
		switch {
		case strings.HasPrefix(name, "panic(") || strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "runtime/debug."):
			continue
		case calledBy(name):
			if keep == head+"\n" {
				return stack
			}
			return keep
		}
		keep += name + lines[i+1]
	}
	return stack
}

// calledBy reports whether a function is in one of the packages that call user code.
func calledBy(name string) bool {
	for _, pkg := range []string{"task", "mapreduce", "shuffle", "local", "jobs"} {
		if rest, ok := strings.CutPrefix(name, engine+pkg); ok && (rest[0] == '.' || rest[0] == '/') {
			return true
		}
	}
	return false
}

// release closes user code that holds resources, however its attempt ended.
func (a *attempt) release(user any) error {
	c, ok := user.(io.Closer)
	if !ok {
		return nil
	}
	return a.userCode(c.Close)
}

// userCode runs one call of user code and also turns its error into an AttemptError.
func (a *attempt) userCode(call func() error) error {
	return a.runUser(func() error {
		if err := call(); err != nil {
			return a.blame(err)
		}
		return nil
	})
}

// blame returns the AttemptError for user code's error.
func (a *attempt) blame(err error) error {
	return &AttemptError{Task: a.task.String(), Where: a.place.String(), Err: err}
}
