package millrace

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/launch"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/worker/attempt"
)

// Main runs a job, or a chain of jobs in which each reads what the one before wrote,
// as the whole of a program: it defines its flags beside those the program has
// defined, parses the command line, runs, reports, and exits with 0 (done), 1 (the
// job failed), 2 (wrong usage), 3 (the job goes on by itself) or, after a signal, 128
// and its number. Input and output
// given in the job are defaults of the flags.
//
// The program's own flags have their values when tasks start, not before Main:
// read them in set-up code such as [mapreduce.LinesWith].
func Main(stages ...mapreduce.Job) {
	p := program{stages: stages}
	os.Exit(p.main())
}

type options struct {
	launch.Flags
	input    inputFlag
	output   string
	reducers int
	flags    *flag.FlagSet
}

// define adds the flags; those for the scheduler of a cluster are set in the first job.
func (o *options) define(f *flag.FlagSet, first *mapreduce.Job) {
	o.flags = f
	o.input.names = namesOf(first.Inputs)
	f.Var(&o.input, "input", o.input.usage())
	f.StringVar(&o.output, "output", "", "directory to make")
	f.IntVar(&o.reducers, "reducers", 0, "number of reduces and of output parts (default: chosen from cores and input)")
	o.Define(f, "-", func(v *jobs.ByteSize, name, usage string) { f.Var(v, name, usage) })
	for _, s := range jobs.SchedulingFlags(first) {
		if f.Lookup(s.Name) == nil { // the program may have a flag of that name itself
			f.Var(s.Value, s.Name, s.Usage)
		}
	}
}

// A program is the jobs of Main, or of MainLoop: those of the first round, then those of the others.
type program struct {
	options
	stages []mapreduce.Job
	loop   *Loop
	turn   string // the turn of a child of a loop
}

// task runs the program.
type task interface {
	Do(ctx context.Context) error
}

func (p *program) main() int {
	if len(p.stages) == 0 || p.loop != nil && (len(p.loop.Round) == 0 || p.loop.Again == nil) {
		fmt.Fprintln(os.Stderr, launch.ErrNoJob)
		return 2
	}
	p.define(flag.CommandLine, &p.stages[0])
	if p.loop != nil {
		flag.IntVar(&p.loop.Rounds, "rounds", p.loop.Rounds, "how many rounds there may be")
		flag.StringVar(&p.turn, turnFlag, "", "for tasks of this program on a cluster: which round they work for")
	}
	if code, ok := parseFlags(); !ok {
		return code
	}
	err := p.apply(p.stages)
	if err == nil && flag.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q: give input as -input", flag.Arg(0))
	}
	if p.loop != nil {
		p.loop.ready(p.stages, p.reducers)
	}
	if err == nil && os.Getenv(attempt.ChildEnv) != "" {
		return p.child()
	}
	var run task
	if err == nil {
		run, err = p.prepare()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v (-help lists the flags)\n", err)
		return 2
	}
	ctx, stop := launch.WithSignals(context.Background())
	defer stop()
	err = run.Do(ctx)
	code, tell := launch.Code(err)
	if tell {
		fmt.Fprintln(os.Stderr, launch.Text(err))
	}
	return launch.ExitCode(ctx, code)
}

// parseFlags parses the command line. It reports a mistake in one line, not with a list of all flags.
func parseFlags() (code int, ok bool) {
	f := flag.CommandLine
	out := f.Output()
	f.Init(f.Name(), flag.ContinueOnError)
	f.SetOutput(io.Discard)
	err := f.Parse(os.Args[1:])
	f.SetOutput(out)
	switch {
	case err == nil:
		return 0, true
	case errors.Is(err, flag.ErrHelp):
		f.Usage()
		return 0, false
	}
	fmt.Fprintf(os.Stderr, "%v (-help lists the flags)\n", err)
	return 2, false
}

// child runs an attempt of this program.
func (p *program) child() int {
	if p.loop == nil {
		return attempt.Child(p.stages)
	}
	var t turn
	if err := json.Unmarshal([]byte(p.turn), &t); err != nil {
		fmt.Fprintf(os.Stderr, "-%s: %v\n", turnFlag, err)
		return 2
	}
	return attempt.Child(p.loop.jobs(p.stages, t))
}

func (p *program) prepare() (task, error) {
	if p.loop != nil {
		return p.loop.run(&p.options, p.stages)
	}
	cfg, err := p.config(p.stages)
	if err != nil {
		return nil, err
	}
	return launch.New(cfg)
}

// apply sets the flags in the jobs.
func (o *options) apply(stages []mapreduce.Job) error {
	first, last := &stages[0], &stages[len(stages)-1]
	if err := o.input.apply(first); err != nil {
		return err
	}
	if o.output != "" {
		last.Output = o.output
	}
	if o.given("reducers") {
		if err := jobs.CheckReducers("-", o.reducers); err != nil {
			return err
		}
		last.Reducers = o.reducers
	}
	switch {
	case len(first.Inputs) == 0 && len(first.Input) == 0:
		return errors.New("no input: give -input FILE, DIRECTORY or PATTERN")
	case last.Output == "":
		return errors.New("no output: give -output DIRECTORY")
	}
	return nil
}

// config returns how the flags want jobs to run.
func (o *options) config(stages []mapreduce.Job) (c launch.Config, err error) {
	c = launch.Config{
		Stages: stages, Client: client.Config{User: stages[0].User, Master: o.Cluster()}, Program: ship,
		Out: os.Stdout, Err: os.Stderr, Dash: "-", Given: o.given,
	}
	o.Apply(&c)
	if c.Client.Master != "" {
		err = c.Client.FromEnv()
	}
	return c, err
}

// given reports whether a flag is on the command line.
func (o *options) given(name string) (is bool) {
	o.flags.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

// ship puts this program into the block store, from where workers run it as their child.
func ship(ctx context.Context, cl *client.Client) (prog wire.Program, err error) {
	prog.Args = childArgs()
	prog.Exe, prog.Hash, err = launch.ShipSelf(ctx, cl, os.Stderr)
	return prog, err
}

// here lists flags that are for this process only.
var here = map[string]bool{"master": true, "local": true, "progress": true, "json": true, "overwrite": true, "memory": true, "detach": true, "patience": true, "task-timeout": true, "rounds": true, turnFlag: true, "explain": true, "umask": true}

// childArgs returns this program's flags for its children: those that were set, without those for this process only,
// and with local paths that hold elsewhere on the machine.
func childArgs() (args []string) {
	flag.Visit(func(f *flag.Flag) {
		v := f.Value.String()
		switch {
		case here[f.Name]:
			return
		case f.Name == "input":
			if in, ok := f.Value.(*inputFlag); ok {
				args = append(args, in.args()...)
			}
			return
		case f.Name == "output":
			v = absolute(v)
		}
		args = append(args, "-"+f.Name+"="+v)
	})
	return args
}

func absoluteAll(paths []string) (out []string) {
	for _, p := range paths {
		out = append(out, absolute(p))
	}
	return out
}

// absolute is launch.Absolute, but returns the path unchanged if this process has no directory.
func absolute(p string) string {
	if abs, err := launch.Absolute(p); err == nil {
		return abs
	}
	return filepath.Clean(p)
}
