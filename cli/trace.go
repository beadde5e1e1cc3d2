package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/trace"
	"github.com/millrace/millrace/trace/formats"
)

func newTrace() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace stat|gen|fit|convert|cut|scale|sample|anonymise|replay",
		Short: "Describe job traces, turn those of other systems into ours, change them, make new ones, and replay them on a cluster",
		Example: `  millrace trace stat FB-2010_samples_24_times_1hr_0.tsv
  millrace trace gen --model fb-2010 --jobs 1000 > trace.tsv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("trace needs a verb: stat, gen, fit, convert, cut, scale, sample, anonymise or replay")
			}
			return fmt.Errorf("unknown verb %q (known: stat, gen, fit, convert, cut, scale, sample, anonymise, replay)", args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(leavesNothing(newTraceStat()), leavesNothing(newTraceGen()), leavesNothing(newTraceFit()), newTraceConvert(),
		newTraceCut(), newTraceScale(), newTraceSample(), newTraceAnonymise(), newTraceReplay())
	return cmd
}

// shapeOptions are the flags for a trace to be replayed on a cluster.
type shapeOptions struct {
	workload string
	scale    float64
}

func (o *shapeOptions) flags(f *pflag.FlagSet) {
	shapeFlag(f, &o.workload)
	f.Float64Var(&o.scale, "scale", 1, "factor on all sizes of the trace")
}

// sized gives the jobs their sizes on a cluster of 40 machines with 6 containers, unless the flag says otherwise.
func (o *shapeOptions) sized(in []trace.Job) (trace.Shape, []trace.Job, error) {
	s, err := parseShape(o.workload, 40, 240, o.scale)
	if err != nil {
		return s, nil, fmt.Errorf("--workload %w", err)
	}
	out := make([]trace.Job, len(in))
	for i, j := range in {
		out[i] = s.Sized(j)
	}
	return s, out, nil
}

func newTraceStat() *cobra.Command {
	var asJSON bool
	var shape shapeOptions
	cmd := onTraces(&cobra.Command{
		Use: "stat FILE...", Short: "Print the statistics of a trace of any format (- for standard input)",
		Example: `  millrace trace stat trace.tsv --json
  millrace trace stat trace.tsv --workload swim,machines=600 --scale 0.2`,
	}, func(out io.Writer, t *formats.Trace) error {
		s, jobs, err := shape.sized(t.Jobs)
		if err != nil {
			return err
		}
		d := trace.Describe(jobs, s)
		if t.History != nil {
			d.Past = t.History.Describe()
		}
		if asJSON {
			return failed(json.NewEncoder(out).Encode(d))
		}
		printTrace(out, d)
		return nil
	})
	shape.flags(cmd.Flags())
	return withJSON(cmd, &asJSON, "a JSON object")
}

func printTrace(w io.Writer, d trace.Description) {
	share := func(n int) string {
		return fmt.Sprintf("%s (%.2f %%)", human.Count(int64(n)), 100*float64(n)/float64(d.Jobs))
	}
	fmt.Fprintf(w, "%s, submitted from %v to %v\n", human.Many(int64(d.Jobs), "job"), d.First, d.Last)
	if p := d.Past; p != nil {
		printPast(w, p)
		if d.Input+d.Shuffle+d.Output == 0 {
			return // the format has no sizes
		}
	}
	fmt.Fprintf(w, "input %s, shuffle %s, output %s; %s of %s, %s, at most %s in a job\n",
		human.Bytes(d.Input), human.Bytes(d.Shuffle), human.Bytes(d.Output), human.Many(d.Maps, "map task"), human.Bytes(d.BlockBytes), human.Many(d.Reduces, "reduce"), human.Count(d.MostReduces))
	fmt.Fprintf(w, "input below 10 MiB: %s; one block: %.1f %%\n", share(d.SmallInput), 100*d.OneBlock)
	fmt.Fprintf(w, "shuffle light (< 1 MiB): %s, medium: %s, heavy (> 100 MiB): %s; none: %.1f %%\n",
		share(d.Light), share(d.Medium), share(d.Heavy), 100*d.NoShuffle)
	fmt.Fprintf(w, "the 100 largest jobs have %.1f %% of the shuffle bytes\n", 100*d.TopShuffle)
	fmt.Fprintf(w, "correlation of logarithms: input-shuffle %.2f, input-output %.2f, shuffle-output %.2f\n",
		d.InputShuffle, d.InputOutput, d.ShuffleOutput)
	t := newTable(w, "quantile", "input", "shuffle", "output", "gap")
	rows := func(of func(trace.Quantiles) float64, name string) {
		t.AppendRow(table.Row{
			name, human.Bytes(int64(of(d.InputQ))), human.Bytes(int64(of(d.ShuffleQ))), human.Bytes(int64(of(d.OutputQ))),
			fmt.Sprintf("%.3g s", of(d.GapQ)),
		})
	}
	rows(func(q trace.Quantiles) float64 { return q.P5 }, "5 %")
	rows(func(q trace.Quantiles) float64 { return q.P25 }, "25 %")
	rows(func(q trace.Quantiles) float64 { return q.Median }, "median")
	rows(func(q trace.Quantiles) float64 { return q.P75 }, "75 %")
	rows(func(q trace.Quantiles) float64 { return q.P95 }, "95 %")
	rows(func(q trace.Quantiles) float64 { return q.P99 }, "99 %")
	rows(func(q trace.Quantiles) float64 { return q.Max }, "largest")
	t.Render()
}

// printPast prints a summary of attempts.
func printPast(w io.Writer, p *trace.PastDescription) {
	fmt.Fprintf(w, "%s and %s by %s on %s, %s lost; %s, %s\n", human.Many(p.Maps, "map"), human.Many(p.Reduces, "reduce"), human.Many(p.Attempts, "attempt"),
		human.Many(int64(p.Machines), "machine"), human.Count(p.Lost), human.Many(int64(p.Users), "user"), human.Many(int64(p.Queues), "queue"))
	fmt.Fprintf(w, "attempts held containers for %s, %.1f at a time on average, %s at most\n", human.Duration(p.Held), p.Mean, human.Count(int64(p.Peak)))
	t := newTable(w, "quantile", "tasks of a job", "time of an attempt", "wait of a job", "time of a job")
	for _, row := range []struct {
		name string
		of   func(trace.Quantiles) float64
	}{
		{"5 %", func(q trace.Quantiles) float64 { return q.P5 }},
		{"median", func(q trace.Quantiles) float64 { return q.Median }},
		{"95 %", func(q trace.Quantiles) float64 { return q.P95 }},
		{"largest", func(q trace.Quantiles) float64 { return q.Max }},
	} {
		second := func(q trace.Quantiles) string { return fmt.Sprintf("%.3g s", row.of(q)) }
		t.AppendRow(table.Row{row.name, human.Count(int64(row.of(p.TasksQ))), second(p.AttemptQ), second(p.WaitQ), second(p.JobQ)})
	}
	t.Render()
}

func modelNames() []string { return slices.Sorted(maps.Keys(trace.Models)) }

func newTraceGen() *cobra.Command {
	var model string
	var n int
	var seed uint64
	cmd := &cobra.Command{
		Use: "gen", Short: "Make a trace with the tails and correlations of a real one, on standard output",
		Example: "  millrace trace gen --model fb-2010 --jobs 24442 --seed 7 > trace.tsv",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, ok := trace.Models[model]
			if !ok {
				return suggest.Unknown("model", model, modelNames())
			}
			if n < 1 || n > 50_000_000 {
				return fmt.Errorf("--jobs is %d, must be in 1..50000000", n)
			}
			return failed(trace.WriteSWIM(cmd.OutOrStdout(), m.Generate(n, rand.New(rand.NewPCG(seed, 1)))))
		},
	}
	cmd.Flags().StringVar(&model, "model", "fb-2010", "what it should be like: "+strings.Join(modelNames(), ", "))
	cmd.Flags().IntVar(&n, "jobs", 1000, "number of jobs")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed: the same seed makes the same trace")
	return cmd
}

func newTraceFit() *cobra.Command {
	var clusters int
	cmd := &cobra.Command{
		Use: "fit FILE", Short: "Fit a generator to a trace and print it as Go source",
		Example: "  millrace trace fit trace.tsv --clusters 16",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if clusters < 1 || clusters > 1000 {
				return fmt.Errorf("--clusters is %d, must be in 1..1000", clusters)
			}
			t, err := readTraces("", args[0])
			if err != nil {
				return err
			}
			m := trace.Fit(args[0], t.Jobs, clusters, rand.New(rand.NewPCG(1, 1)))
			fmt.Fprintf(cmd.OutOrStdout(), "%#v\n", m)
			return nil
		},
	}
	cmd.Flags().IntVar(&clusters, "clusters", 16, "kinds of job to tell apart, about")
	return cmd
}
