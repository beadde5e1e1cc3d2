package millrace

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/worker/attempt"
)

// Main runs a job, or a chain of jobs in which each reads what the one before wrote,
// as the whole of a program: it defines its flags beside those the program has
// defined, parses the command line, runs, reports, and exits with 0 (done), 1 (the
// job failed) or 2 (wrong usage). Input and output given in the job are defaults of
// the flags.
//
// The program's own flags have their values when tasks start, not before Main:
// read them in set-up code such as [mapreduce.LinesWith].
func Main(stages ...mapreduce.Job) {
	os.Exit(mainCode(stages))
}

// stopSignals end a run, cleanly. The end of the terminal is one of them, unless nohup has said that it
// is not.
func stopSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

type options struct {
	input, output       string
	reducers            int
	memory              string
	overwrite, jsonOnly bool
	detach              bool
	progress            string
	master              string
	flags               *flag.FlagSet
}

func (o *options) define(f *flag.FlagSet) {
	o.flags = f
	f.StringVar(&o.input, "input", "", "input file, directory or pattern; several separated by commas")
	f.StringVar(&o.output, "output", "", "directory to make")
	f.IntVar(&o.reducers, "reducers", 0, "number of reduces and of output parts (default: chosen from cores and input)")
	f.StringVar(&o.memory, "memory", "1GiB", "memory for sorting and merging")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace an existing output directory")
	f.BoolVar(&o.jsonOnly, "json", false, "print one JSON object at the end, nothing else")
	f.StringVar(&o.progress, "progress", "auto", "auto, bar, plain or none")
	f.StringVar(&o.master, "master", "", "run on the cluster of this master: the program ships itself")
	f.BoolVar(&o.detach, "detach", false, "with -master: print the job's id and do not wait for its end (millrace job watch does)")
}

func mainCode(stages []mapreduce.Job) int {
	var o options
	o.define(flag.CommandLine)
	flag.Parse()
	cfg, mode, err := o.apply(stages)
	if err == nil && flag.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q: give input as -input", flag.Arg(0))
	}
	if err == nil && os.Getenv(attempt.ChildEnv) != "" {
		return attempt.Child(stages)
	}
	if err == nil && o.master != "" {
		return o.submit(stages, mode)
	}
	var r *local.Runner
	if err == nil {
		r, err = local.New(cfg)
		err = jobs.NameFlags("-", err)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v (-help lists the flags)\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	res, err := watch(ctx, r, cfg.Memory, mode, stages)
	return o.report(res, err, stages)
}

// apply puts the flags into the jobs and the engine's configuration.
func (o *options) apply(stages []mapreduce.Job) (local.Config, console.Mode, error) {
	if len(stages) == 0 {
		return local.Config{}, "", errors.New("the program gives no job to Main")
	}
	first, last := &stages[0], &stages[len(stages)-1]
	if o.input != "" {
		first.Input = splitList(o.input)
	}
	if o.output != "" {
		last.Output = o.output
	}
	if o.master != "" && last.Output != "" {
		last.Output = mapped([]string{last.Output})[0]
	}
	if given(o.flags, "reducers") {
		if err := jobs.CheckReducers("-", o.reducers); err != nil {
			return local.Config{}, "", err
		}
		last.Reducers = o.reducers
	}
	memory, err := jobs.ParseBytes(o.memory)
	if err != nil {
		return local.Config{}, "", fmt.Errorf("-memory: %w", err)
	}
	if memory < local.MinMemory { // also 0, which would mean the default
		return local.Config{}, "", fmt.Errorf("-memory is %d bytes, must be at least %d (1MiB)", memory, local.MinMemory)
	}
	mode, err := console.ParseMode(o.progress)
	if err != nil {
		return local.Config{}, "", err
	}
	if o.jsonOnly {
		mode = console.None
	}
	switch {
	case o.detach && o.master == "":
		err = errors.New("-detach needs -master: here nobody would go on")
	case len(first.Inputs) == 0 && len(first.Input) == 0:
		err = errors.New("no input: give -input FILE, DIRECTORY or PATTERN")
	case last.Output == "":
		err = errors.New("no output: give -output DIRECTORY")
	}
	return local.Config{Memory: memory, Overwrite: o.overwrite}, mode, err
}

// given reports whether a flag is on the command line.
func given(flags *flag.FlagSet, name string) (is bool) {
	flags.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

func splitList(s string) (out []string) {
	start := 0
	for i := range len(s) + 1 {
		if i == len(s) || s[i] == ',' {
			if i > start {
				out = append(out, s[start:i])
			}
			start = i + 1
		}
	}
	return out
}

func watch(ctx context.Context, r *local.Runner, memory int64, mode console.Mode, stages []mapreduce.Job) (local.Result, error) {
	console.LimitMemory(memory)
	stop := console.Watch(os.Stderr, mode, r.Progress)
	defer stop()
	return r.Run(ctx, stages...)
}

func (o *options) report(res local.Result, err error, stages []mapreduce.Job) int {
	if o.jsonOnly {
		if werr := console.ReportOf(stages, res, err).WriteJSON(os.Stdout); werr != nil {
			return 1
		}
	} else if err == nil {
		console.Summary(os.Stderr, res)
	}
	if err != nil && !o.jsonOnly {
		fmt.Fprintln(os.Stderr, console.Failure(err))
	}
	if err != nil {
		return 1
	}
	return 0
}
