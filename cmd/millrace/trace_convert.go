package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/trace"
)

// readAny reads a trace or a history, whichever the file is; - is standard input. The
// history is nil for a trace; the jobs are there in both cases.
func readAny(name string) (*trace.History, []trace.Job, error) {
	if name == "-" {
		return readAnyFrom(os.Stdin, "standard input")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return readAnyFrom(f, name)
}

func readAnyFrom(r io.Reader, name string) (*trace.History, []trace.Job, error) {
	b := bufio.NewReader(r)
	if start, _ := b.Peek(1); !trace.IsHistory(start) { // an error comes again when reading
		jobs, err := trace.ReadSWIM(b, name)
		return nil, jobs, err
	}
	h, err := trace.ReadHistory(b, name)
	if err != nil {
		return nil, nil, err
	}
	return h, h.Trace(), nil
}

func readTrace(name string) ([]trace.Job, error) {
	_, jobs, err := readAny(name)
	return jobs, err
}

func newTraceConvert() *cobra.Command {
	var to string
	var shape shapeOptions
	cmd := &cobra.Command{
		Use: "convert FILE", Short: "Turn a SWIM trace into a history or back, on standard output (- for standard input)",
		Long: `Turn a SWIM trace into a history or back. The command recognises the format of the input.
A history that becomes a trace keeps ids, submit times and sizes; tasks and times are lost.
With --workload or --scale the jobs get the sizes that they would have on another cluster.`,
		Example: `  millrace trace convert history.jsonl --to swim > trace.tsv
  millrace trace convert FB-2010.tsv --to swim --workload swim,machines=40 --scale 0.0667 > small.tsv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to != "swim" && to != "history" {
				return fmt.Errorf("--to is %q, must be swim or history", to)
			}
			h, jobs, err := readAny(args[0])
			if err != nil {
				return failed(err)
			}
			if cmd.Flags().Changed("workload") || cmd.Flags().Changed("scale") {
				h = nil // the times that a history has belong to its own sizes
				if _, jobs, err = shape.sized(jobs); err != nil {
					return err
				}
			}
			if to == "swim" {
				return failed(trace.WriteSWIM(cmd.OutOrStdout(), jobs))
			}
			if h == nil {
				h = trace.HistoryOf(jobs)
			}
			return failed(trace.WriteHistory(cmd.OutOrStdout(), h))
		},
	}
	shape.flags(cmd.Flags())
	cmd.Flags().StringVar(&to, "to", "history", "format to write: swim or history")
	return cmd
}
