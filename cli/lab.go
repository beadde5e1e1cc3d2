package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/all"
	"github.com/millrace/millrace/lab/live"
)

func newLab() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab ls|run",
		Short: "Run published scheduling experiments again, and compare",
		Example: `  millrace lab ls
  millrace lab run slowdown-policies --quick
  millrace lab run --live small-jobs`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("lab needs a verb: ls or run")
			}
			return fmt.Errorf("unknown verb %q (known: ls, run)", args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLabLs(), newLabRun())
	return cmd
}

func newLabLs() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ls", Short: "List the experiments",
		Example: "  millrace lab ls --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			type row struct {
				ID      string `json:"id"`
				Title   string `json:"title"`
				Source  string `json:"source"`
				Seconds int    `json:"seconds"`
			}
			rows := []row{}
			for _, e := range all.Experiments() {
				rows = append(rows, row{e.ID, e.Title, e.Source, e.Seconds})
			}
			if asJSON {
				return failed(json.NewEncoder(cmd.OutOrStdout()).Encode(rows))
			}
			t := newTable(cmd.OutOrStdout(), "experiment", "question", "source", "takes about")
			for _, r := range rows {
				t.AppendRow(table.Row{r.ID, r.Title, r.Source, fmt.Sprintf("%d s", r.Seconds)})
			}
			t.Render()
			listLive(cmd.OutOrStdout())
			return nil
		},
	}
	return withJSON(cmd, &asJSON, "a JSON array")
}

func newLabRun() *cobra.Command {
	o, l := labRun{progress: "auto"}, liveLab{}
	cmd := &cobra.Command{
		Use: "run ID...|all", Short: "Run an experiment and print what was published beside what was measured",
		Example: "  millrace lab run all --quick --out report\n  millrace lab run slowdown-policies --quick --set load=0.8 --set nodes=60\n  millrace lab run slowdown-policies --set help\n  millrace lab run slowdown-policies --quick --set policy=mine.star",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && len(o.expect) == 0 {
				return errors.New("lab run needs an experiment, or all (millrace lab ls lists them)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.mode, err = console.ParseMode(o.progress); err != nil {
				return err
			}
			if l.live {
				if err := l.refuse(cmd.Flags()); err != nil {
					return err
				}
				l.quick, l.asJSON, l.out, l.date, l.progress = o.Quick, o.asJSON, o.out, o.date, o.mode
				return l.run(cmd, args)
			}
			if slices.Contains(o.set, "help") {
				return o.showSettings(cmd, args)
			}
			if err := o.take(args); err != nil {
				return err
			}
			return failed(o.run(cmd))
		},
	}
	o.define(cmd.Flags())
	l.define(cmd.Flags())
	return cmd
}

// labRun is what `lab run` was asked for.
type labRun struct {
	lab.Options
	list           []*lab.Experiment
	asJSON         bool
	set            []string
	own            *arm // the user's own policy, if there is one
	out, date      string
	keep           bool // keep the other experiments of the report in out
	earlier        *lab.Earlier
	expect         []string
	progress       string
	mode           console.Mode
	planned, ended atomic.Int64 // repetitions
}

// define adds the flags.
func (o *labRun) define(f *pflag.FlagSet) {
	f.IntVar(&o.Seeds, "seeds", 0, "repetitions (0: as many as the experiment wants)")
	f.BoolVar(&o.Quick, "quick", false, "fewer repetitions")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the first repetition")
	f.StringArrayVar(&o.set, "set", nil, "change a number of the set-up, NAME=VALUE, such as nodes=60 or load=0.8; nothing is judged then; help lists the names of an experiment with what they mean, and runs nothing. policy=NAME, or policy=FILE.star for a script, is run beside the two policies that the experiment lets you watch")
	f.StringVar(&o.out, "out", "", "directory for report.html, report.json, report.csv, the figures as SVG and CSV, and in play/ a player of two runs of an experiment")
	f.StringSliceVar(&o.expect, "expect", nil, "report.json of earlier runs: fail if a verdict differs from that over the same workload; without IDs, run what is in them")
	f.StringVar(&o.date, "date", "", "date to print in the report (default none: the same seed makes the same bytes)")
	f.BoolVar(&o.keep, "keep", false, "with --out: keep the other experiments of the report that is there, each with the date of its run")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object for each experiment")
	f.StringVar(&o.progress, "progress", o.progress, "auto, bar, plain or none")
}

// watch shows how many repetitions are done until the returned function is called.
func (o *labRun) watch(began time.Time) (stop func()) {
	o.Repeats = func(planned, ended int) {
		o.planned.Add(int64(planned))
		o.ended.Add(int64(ended))
	}
	said := int64(-1)
	return console.Lines(os.Stderr, o.mode, func(mode console.Mode) string {
		n := o.ended.Load()
		if mode == console.Plain && n == said {
			return ""
		}
		said = n
		return fmt.Sprintf("%d of %s that are planned so far, after %s", n, human.Many(o.planned.Load(), "repetition"), human.Duration(time.Since(began)))
	})
}

// take parses the arguments.
func (o *labRun) take(args []string) error {
	args, err := orExpected(args, o.expect)
	if err != nil {
		return failed(err)
	}
	if o.list, err = experiments(args); err != nil {
		return err
	}
	if o.Seeds < 0 || o.Seeds > 10_000 {
		return fmt.Errorf("--seeds is %d, must be in 0..10000", o.Seeds)
	}
	if err := o.takeSet(); err != nil {
		return err
	}
	return o.takeEarlier()
}

// takeSet parses --set: the user's own policy, and numbers of the set-up.
func (o *labRun) takeSet() error {
	words, err := o.takePolicy(o.set)
	if err == nil {
		o.Set, err = numbersOf(words, o.expect)
	}
	return err
}

// numbersOf parses the numbers of --set.
func numbersOf(words, expect []string) (map[string]float64, error) {
	if len(words) > 0 && len(expect) > 0 {
		return nil, errors.New("--set and --expect do not go together: with another set-up nothing is judged")
	}
	out := map[string]float64{}
	for _, w := range words {
		name, text, ok := strings.Cut(w, "=")
		v, err := strconv.ParseFloat(text, 64)
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("--set %s: must be NAME=NUMBER, such as nodes=60", w)
		}
		out[name] = v
	}
	return out, nil
}

// orExpected returns the experiments of an earlier run if none are named.
func orExpected(args, expect []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	want, err := lab.ReadReports(expect...)
	for _, r := range want {
		if !slices.Contains(args, r.ID) {
			args = append(args, r.ID)
		}
	}
	return args, err
}

// experiments returns the named experiments; the name all stands for all.
func experiments(ids []string) ([]*lab.Experiment, error) {
	if len(ids) == 1 && ids[0] == "all" {
		return all.Experiments(), nil
	}
	var list []*lab.Experiment
	for _, id := range ids {
		e, err := all.Find(id)
		if _, bad := live.Find(id); err != nil && bad == nil {
			return nil, fmt.Errorf("%s is a live laboratory, on a cluster that is started for it: millrace lab run --live %s", id, id)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// run runs experiments on all cores. If one fails, or the user interrupts, it still writes what is done.
func (o *labRun) run(cmd *cobra.Command) error {
	want, err := lab.ReadReports(o.expect...)
	if err != nil {
		return err // fail before hours of work
	}
	began, left := time.Now(), len(o.list)
	fmt.Fprintf(cmd.ErrOrStderr(), "running %s ...\n", human.Many(int64(left), "experiment"))
	var printing error
	stop := o.watch(began)
	reports, err := lab.RunAll(cmd.Context(), o.list, o.Options, func(r lab.Report, err error) {
		left--
		fmt.Fprint(cmd.ErrOrStderr(), o.mode.Choose(os.Stderr).Wipe())
		if err != nil {
			if cmd.Context().Err() == nil { // else the end of the command says why
				fmt.Fprintf(cmd.ErrOrStderr(), "%s did not end: %v\n", r.ID, err)
			}
			return
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is done after %s, %d to go\n", r.ID, human.Duration(time.Since(began)), left)
		if o.asJSON {
			printing = errors.Join(printing, json.NewEncoder(cmd.OutOrStdout()).Encode(r))
		} else {
			printLab(cmd.OutOrStdout(), r)
		}
	})
	stop()
	err = errors.Join(err, printing, o.agree(cmd.ErrOrStderr(), reports, want))
	if o.own != nil {
		err = errors.Join(err, o.tryOwn(cmd, reports))
	}
	if o.out == "" || len(reports) == 0 {
		return err
	}
	return errors.Join(err, o.write(cmd, reports))
}

// write writes the report, with what is kept of the earlier one.
func (o *labRun) write(cmd *cobra.Command, reports []lab.Report) error {
	for i := range reports {
		reports[i].Date = o.date
	}
	err := o.writeScenes(cmd, reports, mostPage)
	if o.earlier != nil {
		var kerr error
		if reports, kerr = o.earlier.With(reports, all.Find); kerr != nil {
			return errors.Join(err, kerr)
		}
	}
	if werr := lab.WriteFiles(o.out, lab.Page{Date: o.date, Quick: o.Quick, Reports: reports, Earlier: o.earlier}); werr != nil {
		return errors.Join(err, werr)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "report of %s: %s\n", human.Many(int64(len(reports)), "experiment"), human.Printable(filepath.Join(o.out, "report.html")))
	return err
}

// takeEarlier reads the earlier report, of which experiments that do not run are kept.
func (o *labRun) takeEarlier() (err error) {
	switch {
	case !o.keep:
		return nil
	case o.out == "":
		return errors.New("--keep needs --out DIR, the directory of the report that keeps its other experiments")
	case len(o.set) > 0:
		return errors.New("--keep and --set do not go together: with another set-up nothing is judged")
	}
	o.earlier, err = lab.ReadEarlier(o.out)
	return failed(err)
}

// agree compares verdicts with those of an earlier run, and reports what it could not compare.
func (o *labRun) agree(w io.Writer, reports, want []lab.Report) error {
	if len(o.expect) == 0 {
		return nil
	}
	for _, line := range lab.NotCompared(reports, want) {
		fmt.Fprintln(w, "not compared:", line)
	}
	if d := lab.Disagreements(reports, want); len(d) > 0 {
		return fmt.Errorf("%d verdicts differ from %s:\n  %s", len(d), strings.Join(o.expect, ", "), strings.Join(d, "\n  "))
	}
	return nil
}

func printLab(w io.Writer, r lab.Report) {
	fmt.Fprintf(w, "%s: %s (%s; %d repetitions)\n%s\n", r.ID, r.Title, r.Source, r.Seeds, text.WrapSoft(r.Document, 160))
	if r.Changed != "" {
		fmt.Fprintf(w, "Changed for this run: %s.\n", r.Changed)
	}
	t := newTable(w, "item", "published", "measured", "accepted", "verdict", "remark")
	for _, c := range r.Checks {
		t.AppendRow(table.Row{c.Item, c.Published, c.Measured, c.Tolerance, c.Verdict, text.WrapSoft(c.Why, 40)})
	}
	t.Render()
}
