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

// readTraces reads files of one format as one trace; - is standard input. It reports what it leaves out on standard
// error. Its errors are failures, not mistakes in the command line.
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

// A formatFlag names a trace format: one that can be written if written is set, else any.
type formatFlag struct {
	name    string
	written bool
}

func (f *formatFlag) String() string { return f.name }
func (f *formatFlag) Type() string   { return "string" }
func (f *formatFlag) names() string  { return strings.Join(formats.Names(f.written), ", ") }

// Set refuses an unknown name before anything is read.
func (f *formatFlag) Set(name string) error {
	if name != "" && !slices.Contains(formats.Names(f.written), name) {
		return fmt.Errorf("%q must be one of %s", name, f.names())
	}
	f.name = name
	return nil
}

// onTraces completes a command that reads traces: its arguments, the flag --from, and what it does with them.
func onTraces(cmd *cobra.Command, do func(out io.Writer, t *formats.Trace) error) *cobra.Command {
	var from formatFlag
	cmd.Flags().Var(&from, "from", "format of the input, if the command does not recognise it: "+from.names())
	cmd.Args = cobra.MinimumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := readTraces(from.name, args...)
		if err != nil {
			return err
		}
		return do(cmd.OutOrStdout(), t)
	}
	return cmd
}

func toFlag(cmd *cobra.Command, into *formatFlag, otherwise string) {
	into.written = true
	cmd.Flags().Var(into, "to", "format to write: "+into.names()+" (default: "+otherwise+")")
}

func newTraceConvert() *cobra.Command {
	var to formatFlag
	var shape shapeOptions
	var cmd *cobra.Command
	cmd = onTraces(&cobra.Command{
		Use: "convert FILE...", Short: "Turn traces of other systems into ours or back, on standard output (- for standard input)",
		Long: `Turn a trace into another format. The command recognises the format of the input: ` + formatTitles() + `.
Several files of one format, as Hadoop and Spark write one for each job, become one trace. docs/traces.md says what each format loses.
With --workload or --scale the jobs get the sizes that they would have on another cluster.`,
		Example: `  millrace trace convert KTH-SP2-1996-2.1-cln.swf > kth.history
  millrace trace convert history.jsonl --to swim > trace.tsv
  millrace trace convert FB-2010.tsv --to swim --workload swim,machines=40 --scale 0.0667 > small.tsv`,
	}, func(out io.Writer, t *formats.Trace) (err error) {
		if cmd.Flags().Changed("workload") || cmd.Flags().Changed("scale") {
			t.History = nil // the times of a history belong to its own sizes
			if _, t.Jobs, err = shape.sized(t.Jobs); err != nil {
				return err
			}
		}
		return writeTrace(out, to.name, t)
	})
	shape.flags(cmd.Flags())
	toFlag(cmd, &to, formats.History)
	return cmd
}

// writeTrace keeps the paths of a SWIM trace, which a history does not have.
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
