package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/launch"
	"github.com/millrace/millrace/internal/wire"
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

// noWords refuses words that are not flags: usually a forgotten --input.
func noWords(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: input and output are flags (--input %s)", args[0], args[0])
	}
	return nil
}

// runOptions are the flags of every run that concern the engine, not the job.
type runOptions struct {
	launch.Flags
	sort    jobs.ByteSize
	workers int
	scratch string
	key     keyFlags
}

func newRunJob(b jobs.Builtin) *cobra.Command {
	job := jobs.NewCommand(b)
	var o runOptions
	cmd := &cobra.Command{
		Use:     b.Name,
		Short:   b.Summary,
		Example: "  millrace run " + b.Example,
		Args:    noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stages, err := job.Jobs()
			if err != nil {
				return err
			}
			run, err := o.launch(cmd, job, stages)
			if err != nil {
				return err
			}
			err = run.Do(cmd.Context())
			switch code, tell := launch.Code(err); {
			case code == 0:
				return nil
			case !tell:
				return &failure{}
			default:
				return &failure{err: err, code: code}
			}
		},
	}
	o.define(cmd.Flags(), job)
	return cmd
}

func (o *runOptions) define(f *pflag.FlagSet, job *jobs.Command) {
	f.SortFlags = false
	f.AddFlagSet(job.Flags)
	o.Define(f, "--", func(v *jobs.ByteSize, name, usage string) { f.Var(v, name, usage) })
	f.Var(&o.sort, "sort-memory", "of --memory, what sorting and merging get before they spill (default: all that is left beside buffers)")
	f.IntVar(&o.workers, "workers", 0, "tasks that run at once (0: one per core)")
	f.StringVar(&o.scratch, "scratch", "", "directory for spills (default: the system's directory for temporary files)")
	o.key.define(f)
	f.StringVar(&o.key.cert, "cert", os.Getenv("MILLRACE_CERT"), "file with a certificate of the cluster (default: $MILLRACE_CERT)")
}

// launch checks how the flags want the job to run.
func (o *runOptions) launch(cmd *cobra.Command, job *jobs.Command, stages []mapreduce.Job) (*launch.Run, error) {
	c := launch.Config{
		Stages: stages, Local: local.Config{Workers: o.workers, Sort: int64(o.sort), Scratch: o.scratch}, Result: &job.Builtin,
		Out: cmd.OutOrStdout(), Err: os.Stderr, Dash: "--", Given: cmd.Flags().Changed,
		Program: func(context.Context, *client.Client) (wire.Program, error) {
			return builtinProgram(job, stages)
		},
	}
	o.Apply(&c)
	if master := o.Cluster(); master != "" {
		var err error
		c.Client.Master, c.Client.User = master, cmp.Or(stages[0].User, os.Getenv("MILLRACE_USER"))
		if c.Client, err = o.key.config(c.Client); err != nil {
			return nil, failed(err)
		}
	}
	return launch.New(c)
}

// builtinProgram returns a built-in job as the workers build it: from its flags as given, with local paths made
// absolute, since workers have other working directories, and with the output that was meanwhile chosen.
func builtinProgram(job *jobs.Command, stages []mapreduce.Job) (p wire.Program, err error) {
	p.Builtin = job.Name
	output := stages[len(stages)-1].Output
	job.Flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || f.Name == "output" {
			return
		}
		values := []string{f.Value.String()}
		if s, ok := f.Value.(pflag.SliceValue); ok {
			values = s.GetSlice()
		}
		if f.Value.Type() == "stringToString" { // it prints itself in brackets, which it cannot parse
			values[0] = strings.TrimSuffix(strings.TrimPrefix(values[0], "["), "]")
		}
		for _, v := range values {
			if f.Name == "input" {
				if v, err = launch.Absolute(v); err != nil {
					return
				}
			}
			p.Args = append(p.Args, "--"+f.Name+"="+v)
		}
	})
	if output != "" {
		p.Args = append(p.Args, "--output="+output)
	}
	return p, err
}
