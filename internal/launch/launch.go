package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage/webhdfs"
)

// DefaultPatience is how long a run waits for a master that has stopped answering.
const DefaultPatience = 2 * time.Minute

// ErrNoJob says that there is nothing to run.
var ErrNoJob = errors.New("the program gives no job to Main")

// Config is a chain of jobs and how to run it.
type Config struct {
	Stages []mapreduce.Job
	// Local configures a run in this process. On a cluster only its Overwrite matters.
	Local local.Config
	// Client says which cluster to use. Without a master the run is here.
	Client client.Config
	// Program returns what the cluster must run.
	Program func(ctx context.Context, cl *client.Client) (wire.Program, error)
	// Patience is how long the run waits for a master that has stopped answering. 0 means DefaultPatience.
	Patience time.Duration
	// Result, if set, is the built-in job. If its output is a short text, and has no directory, it is shown and
	// removed. It may have a hint.
	Result *jobs.Builtin

	// Explain, if set, is the file of a page that shows what became of each record. The input must be small.
	Explain string

	JSON, Detach bool
	Progress     string // auto, bar, plain or none
	Out          io.Writer
	Err          *os.File

	// Then, if set, receives the result of a successful run in place of the report.
	Then func(res local.Result, parts func(io.Writer) error) error

	// Dash is the prefix of flags in texts, and Given reports whether a flag was given.
	Dash  string
	Given func(flag string) bool
}

// A Run is a checked Config.
type Run struct {
	Config
	mode   console.Mode
	runner *local.Runner
	hadoop *webhdfs.Service // of a run in this process
	show   bool             // the result is shown and then removed
}

// New checks a configuration.
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
	if r.Local.Memory == 0 { // the user wrote 0, which does not mean the default
		return nil, fmt.Errorf("%smemory is 0 bytes, must be at least %d MiB", r.Dash, local.MinMemory>>20)
	}
	if r.Local.Store.Sites == nil {
		r.hadoop = hadoop(r.Patience)
		r.Local.Store.Sites = r.hadoop.Sites()
	}
	r.runner, err = local.New(r.Local)
	return r, jobs.NameFlags(r.Dash, err)
}

// hadoop returns the stores of a Hadoop, as the environment of this process describes it. It asks nobody before a path
// of theirs is opened.
func hadoop(patience time.Duration) *webhdfs.Service {
	cfg := webhdfs.FromEnv()
	cfg.Patience = patience
	return webhdfs.New(cfg)
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

// elsewhere are flags that have no meaning on a cluster, and what to use instead.
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
	return r.checkStores()
}

// checkStores refuses paths of stores that the workers of a cluster do not open.
func (r *Run) checkStores() error {
	paths := []string{r.last().Output}
	for _, in := range r.Stages[0].AllInputs() {
		paths = append(paths, in.Paths...)
	}
	for _, p := range paths {
		scheme, _, _ := strings.Cut(p, ":/")
		if slices.Contains(webhdfs.Schemes, scheme) {
			return fmt.Errorf("%q: the workers of the cluster of %s do not read HDFS; %slocal runs the job here, which does", p, r.Client.Master, r.Dash)
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

// A GoesOn is a job that continues without this process.
type GoesOn struct {
	Job wire.JobID
	Why error
}

func (g *GoesOn) Error() string {
	return fmt.Sprintf("%v; %s goes on by itself (millrace job watch %s, millrace job kill %s)", g.Why, g.Job, g.Job, g.Job)
}

// Unwrap returns why this process no longer waits.
func (g *GoesOn) Unwrap() error { return g.Why }

// errReported is the error of a run whose report has already told it.
var errReported = errors.New("the job failed")

const codeGoesOn = 3

// Code returns the exit code for an error of Do, and whether to print its text: 0 done, 1 failed, 3 the job
// continues by itself.
func Code(err error) (code int, tell bool) {
	if _, on := errors.AsType[*GoesOn](err); on {
		return codeGoesOn, true
	}
	if err != nil {
		return 1, !errors.Is(err, errReported)
	}
	return 0, false
}

// Text returns what a program prints about an error. What a task has printed is escaped, so that it does nothing to
// a terminal.
func Text(err error) string { return human.ErrorText(err) }
