// Command millrace is the one binary: it runs built-in jobs on this machine, makes
// test data, measures itself, and gives a tour. Each subcommand is a file.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:])) }

// run is main with a result, so that tests can call it.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "millrace",
		Short: "MapReduce small enough to read in a weekend and fast enough to use",
		Example: `  millrace demo
  millrace run wordcount --input books/ --output counts`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newDemo(), newRun(), newGen(), newBench(), newBare(), newTrace(), newScheduler(), newLab(), newSim(), newMaster(), newWorker(), newCluster(), newDFS(), newJob(), newNode(), newHealth(), newVersion())
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (%s --help lists the flags)", err, cmd.CommandPath())
	})
	return root
}
