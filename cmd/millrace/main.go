// Command millrace is the one binary: it runs built-in jobs on this machine, makes
// test data, measures itself, and gives a tour. Each subcommand is a file.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() { os.Exit(run(os.Args[1:])) }

// run is main with a result, so that tests can call it.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if fail, ok := errors.AsType[*failure](err); ok {
		if fail.err != nil {
			fmt.Fprintln(os.Stderr, "millrace: "+fail.Error())
		}
		return exitFailed
	}
	fmt.Fprintf(os.Stderr, "millrace: %v\n", err)
	return exitUsage
}

// Exit codes, which scripts may rely on.
const (
	exitOK     = 0
	exitFailed = 1 // the job, or what was asked for, failed
	exitUsage  = 2 // the command line is wrong
)

// failure is an error of the work itself. All other errors are taken for mistakes
// in the command line. A nil err has been reported already.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func failed(err error) error {
	if err == nil {
		return nil
	}
	return &failure{err}
}

// refuseUnknown makes a word that is no command below a group of them a mistake, not a call for help.
func refuseUnknown(cmd *cobra.Command) {
	var names []string
	for _, sub := range cmd.Commands() {
		refuseUnknown(sub)
		names = append(names, sub.Name())
	}
	if len(names) == 0 || !cmd.HasParent() {
		return
	}
	cmd.FParseErrWhitelist.UnknownFlags = true // the word is the mistake, not the flags that would be its command's
	if cmd.Runnable() {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return fmt.Errorf("unknown command %q of %s; there are %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))
	}
}

// plainFlagError says what a value is not, in place of which function of Go did not like it.
func plainFlagError(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	name, value := "--"+wrong.GetFlag().Name, wrong.GetValue()
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

// checkHelp makes help about what does not exist a mistake.
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

// explainArgs makes complaints about too many or too few words say what is wanted.
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
		case strings.HasPrefix(err.Error(), "unknown command"): // as cobra calls any word where none belongs
			return fmt.Errorf("unexpected argument %q (usage: %s)", args[0], cmd.UseLine())
		case strings.Contains(err.Error(), "arg(s)"):
			return fmt.Errorf("%w (usage: %s)", err, cmd.UseLine())
		}
		return err
	}
}

// stopSignals end what runs, cleanly. The end of the terminal is one of them, unless nohup has said that
// it is not.
func stopSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "millrace",
		Short: "MapReduce small enough to read in a weekend and fast enough to use",
		Example: `  millrace demo
  millrace run wordcount --input books/ --output counts`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newDemo(), newRun(), newGen(), newBench(), newBenchChild(), newBare(), newTrace(), newScheduler(), newLab(), newSim(), newWhatIf(), newMaster(), newWorker(), newTask(), newCluster(), newDFS(), newJob(), newNode(), newNet(), newQueue(), newDashboard(), newConfig(), newHealth(), newVersion())
	root.CompletionOptions.HiddenDefaultCmd = false
	root.InitDefaultCompletionCmd()
	refuseUnknown(root)
	explainArgs(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (%s --help lists the flags)", plainFlagError(err), cmd.CommandPath())
	})
	checkHelp(root)
	v := versionOf()
	root.Version = fmt.Sprintf("%s (%s, %s)", v.Version, v.Go, v.Platform)
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	return root
}
