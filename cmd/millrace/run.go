package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

func newRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run JOB",
		Short: "Run a built-in job, or any command by streaming",
		Example: `  millrace run wordcount --input books/ --output counts
  millrace run grep --pattern 'ERROR .*' --input logs/ --output errors`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("run needs a job (known: %s); its flags come after it", strings.Join(jobs.Names(), ", "))
			}
			if args[0] == "help" {
				return nil
			}
			_, err := jobs.Find(args[0])
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, name := range jobs.Names() {
		cmd.AddCommand(newRunJob(jobs.All[name]))
	}
	return cmd
}

// noWords refuses words that are no flags: a forgotten --input, more often than not.
func noWords(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: input and output are flags (--input %s)", args[0], args[0])
	}
	return nil
}

// runOptions are the flags of every run that concern the engine, not the job.
type runOptions struct {
	memory    jobs.ByteSize
	workers   int
	scratch   string
	overwrite bool
	progress  string
	jsonOnly  bool
	detach    bool
	master    string
	key       keyFlags
	kept      bool // the output stays where it was asked for
}

func newRunJob(b jobs.Builtin) *cobra.Command {
	job := jobs.NewCommand(b)
	o := runOptions{memory: local.DefaultMemory}
	cmd := &cobra.Command{
		Use:     b.Name,
		Short:   b.Summary,
		Example: "  millrace run " + b.Example,
		Args:    noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.memory < local.MinMemory { // also 0, which would mean the default
				return fmt.Errorf("--memory is %d bytes, must be at least %d (1MiB)", o.memory, local.MinMemory)
			}
			stages, err := job.Jobs()
			if err != nil {
				return err
			}
			if o.detach && o.master == "" {
				return errors.New("--detach needs --master: here nobody would go on")
			}
			if o.master != "" {
				return o.runRemote(cmd, job, stages)
			}
			return o.run(cmd, b, stages)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.AddFlagSet(job.Flags)
	f.Var(&o.memory, "memory", "memory for sorting and merging")
	f.IntVar(&o.workers, "workers", 0, "tasks that run at once (0: one per core)")
	f.StringVar(&o.scratch, "scratch", "", "directory for spills (default: the system's directory for temporary files)")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace an existing output directory")
	f.StringVar(&o.progress, "progress", "auto", "auto, bar, plain or none")
	f.StringVar(&o.master, "master", "", "run on the cluster of this master, not here")
	f.BoolVar(&o.detach, "detach", false, "with --master: print the job's id and do not wait for its end (millrace job watch does)")
	o.key.define(f)
	f.StringVar(&o.key.cert, "cert", os.Getenv("MILLRACE_CERT"), "file with a certificate of the cluster (default: $MILLRACE_CERT)")
	f.BoolVar(&o.jsonOnly, "json", false, "print one JSON object at the end, and no progress")
	return cmd
}

func (o *runOptions) run(cmd *cobra.Command, b jobs.Builtin, stages []mapreduce.Job) error {
	mode, err := console.ParseMode(o.progress)
	if err != nil {
		return err
	}
	if o.jsonOnly {
		mode = console.None
	}
	runner, err := local.New(local.Config{
		Workers: o.workers, Memory: int64(o.memory), Scratch: o.scratch, Overwrite: o.overwrite,
	})
	if err != nil {
		return jobs.NameFlags("--", err)
	}
	o.kept = stages[len(stages)-1].Output != ""
	show, cleanup, err := o.resultDir(b, stages)
	if err != nil {
		return failed(err)
	}
	defer cleanup()
	console.LimitMemory(int64(o.memory))
	res, err := watchRun(cmd.Context(), runner, mode, stages)
	found, err := o.result(cmd, b, res, err, func(w io.Writer) error { return printParts(w, res.Output) })
	if show != "" {
		res.Output = "" // it is shown, and gone
	}
	return o.report(cmd, stages, res, found, err)
}

// result shows the result of a job that has one, or returns it as values for the JSON report. With an output
// directory that was asked for, it is there to be read, and only the report has it.
func (o *runOptions) result(cmd *cobra.Command, b jobs.Builtin, res local.Result, err error, parts func(w io.Writer) error) (map[string]any, error) {
	if !b.Result || err != nil || res.Output == "" {
		return nil, err
	}
	if !o.jsonOnly {
		if o.kept {
			return nil, nil
		}
		return nil, parts(cmd.OutOrStdout())
	}
	var text strings.Builder
	err = parts(&limited{&text, jobs.MaxResult})
	return b.ParseResult(text.String()), err
}

// limited passes on so many bytes and drops the rest.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.to.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

func watchRun(ctx context.Context, r *local.Runner, mode console.Mode, stages []mapreduce.Job) (local.Result, error) {
	stop := console.Watch(os.Stderr, mode, r.Progress)
	defer stop()
	return r.Run(ctx, stages...)
}

// resultDir gives a job whose result is a short text a directory for it, when none
// is asked for; show is then that directory.
func (o *runOptions) resultDir(b jobs.Builtin, stages []mapreduce.Job) (show string, cleanup func(), err error) {
	last := &stages[len(stages)-1]
	if !b.Result || last.Output != "" {
		return "", func() {}, nil
	}
	tmp, err := os.MkdirTemp(o.scratch, "millrace-result-")
	if err != nil {
		return "", nil, fmt.Errorf("make a directory for the result: %w", err)
	}
	last.Output = filepath.Join(tmp, "out")
	return last.Output, func() { _ = os.RemoveAll(tmp) }, nil
}

func (o *runOptions) report(cmd *cobra.Command, stages []mapreduce.Job, res local.Result, found map[string]any, err error) error {
	if o.jsonOnly {
		r := console.ReportOf(stages, res, err)
		if len(found) > 0 {
			r.Result = found
		}
		if werr := r.WriteJSON(cmd.OutOrStdout()); werr != nil {
			return failed(werr)
		}
		if err != nil {
			return &failure{}
		}
		return nil
	}
	if err != nil {
		return failed(errors.New(console.Failure(err)))
	}
	console.Summary(cmd.ErrOrStderr(), res)
	return nil
}

// printParts copies the parts of an output directory in order.
func printParts(w io.Writer, dir string) error {
	parts, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil {
		return err
	}
	for _, p := range parts {
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
