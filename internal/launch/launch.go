package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// DefaultPatience is how long a run waits for a master that was there and is away.
const DefaultPatience = 2 * time.Minute

// ErrNoJob says that there is nothing to run.
var ErrNoJob = errors.New("the program gives no job to Main")

// Config is a chain of jobs and how to run it.
type Config struct {
	Stages []mapreduce.Job
	// Local is how it runs in this process; of it, only Overwrite matters on a cluster.
	Local local.Config
	// Client says which cluster to use; without a master the run is here.
	Client client.Config
	// Program gives the cluster what it runs.
	Program func(ctx context.Context, cl *client.Client) (wire.Program, error)
	// Patience is how long the run waits for a master that was there and is away. 0 means DefaultPatience.
	Patience time.Duration
	// Result, if set, is the built-in job: one whose output is a short text is shown without an output directory, and gone; one may have a hint.
	Result *jobs.Builtin

	// Explain, if set, is the file of a page that shows what became of each record; the input is small then.
	Explain string

	JSON, Detach bool
	Progress     string // auto, bar, plain or none
	Out          io.Writer
	Err          *os.File

	// Then, if set, takes what a run that ended well came to, in place of the report.
	Then func(res local.Result, parts func(io.Writer) error) error

	// Dash is what stands before the names of flags, and Given reports whether one was given.
	Dash  string
	Given func(flag string) bool
}

// A Run is a Config that was checked.
type Run struct {
	Config
	mode   console.Mode
	runner *local.Runner
	show   bool // the result is shown, and gone
}

// New checks how a run is meant.
func New(cfg Config) (*Run, error) {
	r := &Run{Config: cfg}
	if len(r.Stages) == 0 {
		return nil, ErrNoJob
	}
	var err error
	if r.mode, err = console.ParseMode(r.Progress); err != nil {
		return nil, err
	}
	if r.JSON {
		r.mode = console.None
	}
	if r.Patience == 0 {
		r.Patience = DefaultPatience
	}
	if err := r.checkDetach(); err != nil {
		return nil, err
	}
	if err := r.checkExplain(); err != nil {
		return nil, err
	}
	r.show = r.last().Output == "" && r.Result != nil && r.Result.Result
	if r.remote() {
		return r, r.checkRemote()
	}
	if r.Local.Memory == 0 { // somebody wrote it, and does not mean the default
		return nil, fmt.Errorf("%smemory is 0 bytes, must be at least %d MiB", r.Dash, local.MinMemory>>20)
	}
	r.runner, err = local.New(r.Local)
	return r, jobs.NameFlags(r.Dash, err)
}

func (r *Run) remote() bool { return r.Client.Master != "" }

func (r *Run) last() *mapreduce.Job { return &r.Stages[len(r.Stages)-1] }

func (r *Run) checkDetach() error {
	switch {
	case !r.Detach:
		return nil
	case !r.remote():
		return fmt.Errorf("%sdetach needs %smaster: a local run ends with this process", r.Dash, r.Dash)
	case r.last().Output == "":
		return fmt.Errorf("%sdetach needs %soutput: a detached job must write its result somewhere", r.Dash, r.Dash)
	}
	return nil
}

// elsewhere are flags that mean nothing on a cluster, and what does.
var elsewhere = map[string]string{
	"memory":       "its workers have their own (millrace worker --memory)",
	"sort-memory":  "its workers have their own (millrace worker --memory)",
	"workers":      "its workers have containers (millrace worker --containers)",
	"task-timeout": "its workers have their own (millrace worker --task-timeout)",
	"scratch":      "its workers have directories (millrace worker --dir)",
}

func (r *Run) checkRemote() error {
	if _, err := r.Client.Umask.Bits(0); err != nil {
		return fmt.Errorf("%sumask: %w", r.Dash, err)
	}
	for _, name := range []string{"memory", "sort-memory", "workers", "scratch", "task-timeout"} {
		if r.Given != nil && r.Given(name) {
			return fmt.Errorf("%s%s means nothing on the cluster of %s: %s; %slocal runs the job here", r.Dash, name, r.Client.Master, elsewhere[name], r.Dash)
		}
	}
	return nil
}

// Do runs the jobs and reports how they ended.
func (r *Run) Do(ctx context.Context) error {
	run := r.here
	if r.remote() {
		run = r.there
	}
	o, err := run(ctx)
	defer func() {
		for _, f := range slices.Backward(o.clean) {
			f()
		}
	}()
	if _, on := errors.AsType[*GoesOn](err); on || o.detached {
		return err
	}
	if r.Then != nil && err == nil {
		return r.Then(o.res, o.parts)
	}
	return r.report(o, err)
}

// A GoesOn is a job that goes on without this process.
type GoesOn struct {
	Job wire.JobID
	Why error
}

func (g *GoesOn) Error() string {
	return fmt.Sprintf("%v; %s goes on by itself (millrace job watch %s, millrace job kill %s)", g.Why, g.Job, g.Job, g.Job)
}

// Unwrap is why nobody waits any longer.
func (g *GoesOn) Unwrap() error { return g.Why }

// errReported is an error that the report has told already.
var errReported = errors.New("the job failed")

const codeGoesOn = 3

// Code is the exit code for an error of Do, and whether its text is still to be told: 0 done, 1 failed, 3 goes on by itself.
func Code(err error) (code int, tell bool) {
	if _, on := errors.AsType[*GoesOn](err); on {
		return codeGoesOn, true
	}
	if err != nil {
		return 1, !errors.Is(err, errReported)
	}
	return 0, false
}

// Text is what a program says about an error. It may have what a task has printed, which does nothing to a terminal.
func Text(err error) string { return human.ErrorText(err) }
