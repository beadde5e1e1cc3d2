package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/trace"
	"github.com/millrace/millrace/trace/formats"
)

// readTraces reads files of one format as one trace; - is standard input. What the reader left out goes to standard error. Errors are failures, not
// mistakes of the command line.
func readTraces(from string, names ...string) (*formats.Trace, error) {
	var files []formats.Source
	for _, name := range names {
		if name == "-" {
			files = append(files, formats.Source{Name: "standard input", Reader: os.Stdin})
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, failed(err)
		}
		defer f.Close()
		files = append(files, formats.Source{Name: name, Reader: f})
	}
	t, err := formats.Read(from, files...)
	if err != nil {
		return nil, failed(err)
	}
	for _, reason := range slices.Sorted(maps.Keys(t.Left)) {
		fmt.Fprintf(os.Stderr, "left out, %s: %s\n", human.Many(int64(t.Left[reason]), "time"), reason)
	}
	return t, nil
}

// checkFormats refuses names of formats before anything is read.
func checkFormats(from, to string) error {
	if from != "" && !slices.Contains(formats.Names(false), from) {
		return fmt.Errorf("--from is %q, must be one of %s", from, strings.Join(formats.Names(false), ", "))
	}
	if to != "" && !slices.Contains(formats.Names(true), to) {
		return fmt.Errorf("--to is %q, must be one of %s", to, strings.Join(formats.Names(true), ", "))
	}
	return nil
}

// fromFlag says in which format a trace is.
func fromFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "from", "", "format of the input, if the command does not recognise it: "+strings.Join(formats.Names(false), ", "))
}

func newTraceConvert() *cobra.Command {
	var from, to string
	var shape shapeOptions
	cmd := &cobra.Command{
		Use: "convert FILE...", Short: "Turn traces of other systems into ours or back, on standard output (- for standard input)",
		Long: `Turn a trace into another format. The command recognises the format of the input: ` + formatTitles() + `.
Several files of one format, as Hadoop and Spark write one for each job, become one trace. docs/traces.md says what each format loses.
With --workload or --scale the jobs get the sizes that they would have on another cluster.`,
		Example: `  millrace trace convert KTH-SP2-1996-2.1-cln.swf > kth.history
  millrace trace convert history.jsonl --to swim > trace.tsv
  millrace trace convert FB-2010.tsv --to swim --workload swim,machines=40 --scale 0.0667 > small.tsv`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormats(from, to); err != nil {
				return err
			}
			t, err := readTraces(from, args...)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("workload") || cmd.Flags().Changed("scale") {
				t.History = nil // the times that a history has belong to its own sizes
				if _, t.Jobs, err = shape.sized(t.Jobs); err != nil {
					return err
				}
			}
			return writeTrace(cmd.OutOrStdout(), to, t)
		},
	}
	shape.flags(cmd.Flags())
	fromFlag(cmd, &from)
	cmd.Flags().StringVar(&to, "to", formats.History, "format to write: "+strings.Join(formats.Names(true), ", "))
	return cmd
}

// writeTrace keeps the paths of a SWIM trace, which a history has not.
func writeTrace(w io.Writer, to string, t *formats.Trace) error {
	if to == formats.SWIM && t.History == nil {
		return failed(trace.WriteSWIM(w, t.Jobs))
	}
	return failed(formats.Write(w, cmp.Or(to, formats.History), t.Past()))
}

func formatTitles() string {
	var out []string
	for _, f := range formats.All {
		out = append(out, fmt.Sprintf("%s (%s)", f.Name, f.Title))
	}
	return strings.Join(out, ", ")
}
