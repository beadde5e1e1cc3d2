// Package cli is the millrace command: it runs jobs on this machine or on a cluster, is the master and the workers of
// that cluster, manages files of the block store, simulates and compares scheduling policies, makes test data, measures
// itself, and gives a tour. Each group of subcommands has a file, or several that begin with its name.
//
// It is a package so that users' modules can extend millrace: register a policy with
// [github.com/millrace/millrace/scheduler/policies.Register], then call [Main].
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/launch"
	"github.com/millrace/millrace/internal/suggest"
)

// Main runs the command that the arguments of the process ask for, and ends the process with its exit code.
func Main() { os.Exit(run(os.Args[1:])) }

// run is Main with a result, so that tests can call it.
func run(args []string) int {
	ctx, stop := launch.WithSignals(context.Background())
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return launch.ExitCode(ctx, report(ctx, args, err))
}

// report prints how a command with these arguments ended, and returns its exit code.
func report(ctx context.Context, args []string, err error) int {
	if err == nil {
		return exitOK
	}
	if fail, ok := errors.AsType[*failure](err); ok {
		if fail.err != nil {
			fmt.Fprintln(os.Stderr, "millrace: "+textOf(ctx, args, fail.err))
		}
		return cmp.Or(fail.code, exitFailed)
	}
	fmt.Fprintln(os.Stderr, "millrace: "+human.ErrorText(err, args...))
	return exitUsage
}

// textOf returns the message for an error. After a signal, what that did to the work is of no interest.
func textOf(ctx context.Context, args []string, err error) string {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "interrupted") {
		return "interrupted"
	}
	return human.ErrorText(err, args...)
}

// Exit codes, which scripts may rely on.
const (
	exitOK     = 0
	exitFailed = 1 // the job, or what was asked for, failed; after a signal it is 128 and the signal's number
	exitUsage  = 2 // the command line is wrong
	// 3, of launch.Code: the job continues on its own
)

// failure is an error of the work itself. All other errors count as mistakes in the command line. A nil err has already
// been reported.
type failure struct {
	err  error
	code int // 0 means exitFailed
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func failed(err error) error {
	if err == nil {
		return nil
	}
	return &failure{err: err}
}

// refuseUnknown makes an unknown word below a group of commands a mistake, not a request for help.
func refuseUnknown(cmd *cobra.Command) {
	var names []string
	for _, sub := range cmd.Commands() {
		refuseUnknown(sub)
		names = append(names, sub.Name())
	}
	if len(names) == 0 || !cmd.HasParent() {
		return
	}
	cmd.FParseErrWhitelist.UnknownFlags = true // the word is the mistake, not the flags after it
	if cmd.Runnable() {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return suggest.Unknown("command", args[0], names)
	}
}

// plainFlagError rewrites an error of a flag: it says which flag was meant, or what is wrong with a value, without
// naming functions of Go.
func plainFlagError(cmd *cobra.Command, err error) error {
	if none, ok := errors.AsType[*pflag.NotExistError](err); ok && none.GetSpecifiedShortnames() == "" {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		return fmt.Errorf("%w%s", err, suggest.Meant("--"+none.GetSpecifiedName(), known))
	}
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	name, value := "--"+wrong.GetFlag().Name, wrong.GetValue()
	if _, ofGo := errors.AsType[*strconv.NumError](err); !ofGo && !strings.HasPrefix(wrong.Unwrap().Error(), "time: ") {
		return fmt.Errorf("%s: %w", name, wrong.Unwrap()) // our own words, with the range
	}
	switch kind := wrong.GetFlag().Value.Type(); {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is %s, which is too large", name, value)
	case strings.HasPrefix(kind, "int"):
		return fmt.Errorf("%s is %q, must be a whole number", name, value)
	case strings.HasPrefix(kind, "uint"):
		return fmt.Errorf("%s is %q, must be a whole number, not negative", name, value)
	case strings.HasPrefix(kind, "float"):
		return fmt.Errorf("%s is %q, must be a number", name, value)
	case kind == "bool":
		return fmt.Errorf("%s is %q, must be true or false", name, value)
	case kind == "duration":
		return fmt.Errorf("%s is %q, must be a duration such as 500ms, 90s or 2h", name, value)
	}
	return fmt.Errorf("%s: %w", name, wrong.Unwrap())
}

// checkHelp makes help for an unknown command a mistake.
func checkHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" {
			continue
		}
		cmd.Args = func(_ *cobra.Command, args []string) error {
			_, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = fmt.Errorf("unknown command %q", strings.Join(args, " "))
			}
			return err
		}
	}
}

// explainArgs makes errors about too many or too few words say what is wanted.
func explainArgs(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		explainArgs(sub)
	}
	if cmd.Args == nil || cmd.HasSubCommands() {
		return
	}
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		switch {
		case err == nil:
			return nil
		case strings.HasPrefix(err.Error(), "unknown command"): // cobra says this of any word where none belongs
			return fmt.Errorf("unexpected argument %q (usage: %s)", args[0], cmd.UseLine())
		case strings.Contains(err.Error(), "arg(s)"):
			return fmt.Errorf("%w (usage: %s)", err, cmd.UseLine())
		}
		return err
	}
}

// leavesNothing makes an interrupt end a command at once, for commands that only compute and print.
func leavesNothing(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer context.AfterFunc(cmd.Context(), func() {
			fmt.Fprintln(os.Stderr, "millrace: interrupted")
			os.Exit(launch.ExitCode(cmd.Context(), exitFailed))
		})()
		return run(cmd, args)
	}
	return cmd
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "millrace",
		Short: "Run MapReduce jobs, here or on a cluster, and compare scheduling policies",
		Example: `  millrace demo
  millrace run wordcount --input books/ --output counts`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newDemo(), newRun(), newGen(), newBench(), newBenchChild(), newBare(), newTrace(), newScheduler(), newLab(), newSim(), newPlay(), newPlayRun(), newScriptHost(), newWhatIf(), newMaster(), newWorker(), newTask(), newCluster(), newDFS(), newJob(), newNode(), newNet(), newQueue(), newUser(), newDashboard(), newConfig(), newHealth(), newVersion())
	root.CompletionOptions.HiddenDefaultCmd = false
	root.InitDefaultCompletionCmd()
	refuseUnknown(root)
	complete(root)
	explainArgs(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (%s --help lists the flags)", plainFlagError(cmd, err), cmd.CommandPath())
	})
	checkHelp(root)
	v := versionOf()
	root.Version = fmt.Sprintf("%s (%s, %s)", v.Version, v.Go, v.Platform)
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	return root
}
