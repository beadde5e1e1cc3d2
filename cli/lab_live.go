package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/live"
)

// liveLab runs laboratories on clusters that it starts.
type liveLab struct {
	live, quick, asJSON bool
	repeat              int
	out, date           string
	progress            console.Mode
	tell                io.Writer // gets messages about what runs now
	arms                []string  // only these; nil: all, or in quick runs the quick ones
}

func (o *liveLab) define(f *pflag.FlagSet) {
	f.BoolVar(&o.live, "live", false, "run a live laboratory: on a cluster of processes that is started for it, beside the simulator (docs/lab/live.md)")
	f.IntVar(&o.repeat, "repeat", 1, "with --live: how often each arm is run on the cluster; each run of table-ii has an arrival sequence of its own, the same for all arms")
	f.StringSliceVar(&o.arms, "arms", nil, "with --live: compare only these")
}

// refuse refuses flags that mean nothing on a cluster, and names those to use instead.
func (o *liveLab) refuse(f *pflag.FlagSet) error {
	for name, instead := range map[string]string{
		"seeds": "--repeat runs each arm several times", "seed": "the jobs of a live laboratory are always the same, those of the n-th repetition of table-ii those of its n-th arrival sequence", "set": "--arms chooses what is compared",
		"expect": "its verdict is printed", "keep": "its page has what ran now",
	} {
		if f.Changed(name) {
			return fmt.Errorf("--%s means nothing with --live: %s", name, instead)
		}
	}
	return nil
}

// chosen returns the arms to run.
func (o *liveLab) chosen(l *live.Laboratory) (arms []live.Arm, err error) {
	known := []string{}
	for _, a := range l.Arms {
		if o.arms == nil && (a.Quick || !o.quick) || slices.Contains(o.arms, a.Name) {
			arms = append(arms, a)
		}
		known = append(known, a.Name)
	}
	for _, name := range o.arms {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no arm %q; all of them: %s", name, armsFlag(known))
		}
	}
	return arms, nil
}

// listLive lists the live laboratories.
func listLive(w io.Writer) {
	t := newTable(w, "live laboratory (lab run --live)", "question", "source", "takes about")
	for _, l := range live.All {
		t.AppendRow(table.Row{l.ID, l.Title, l.Source, fmt.Sprintf("%d s", l.Seconds)})
	}
	t.Render()
}

func (o *liveLab) run(cmd *cobra.Command, ids []string) error {
	o.tell = cmd.ErrOrStderr()
	if o.repeat < 1 || o.repeat > 100 {
		return fmt.Errorf("--repeat is %d, must be in 1..100", o.repeat)
	}
	var list []*live.Laboratory
	for _, id := range ids {
		if id == "all" && len(ids) == 1 {
			list = live.All
			break
		}
		l, err := live.Find(id)
		if err != nil {
			return err
		}
		list = append(list, l)
	}
	var reports []lab.Report
	for _, l := range list {
		r, err := o.one(cmd, l)
		if err != nil {
			return failed(errors.Join(fmt.Errorf("%s: %w", l.ID, err), o.write(cmd, reports)))
		}
		reports = append(reports, r)
	}
	return failed(o.write(cmd, reports))
}

// say prints what runs now.
func (o *liveLab) say(format string, args ...any) {
	if o.progress != console.None {
		fmt.Fprintf(o.tell, format+"\n", args...)
	}
}

// again returns the flags that repeat the run.
func (o *liveLab) again() string {
	var words []string
	if o.quick {
		words = append(words, "--quick")
	}
	if o.arms != nil {
		words = append(words, armsFlag(o.arms))
	}
	if o.repeat > 1 {
		words = append(words, fmt.Sprintf("--repeat %d", o.repeat))
	}
	return strings.Join(words, " ")
}

// armsFlag returns the flag that chooses arms, quoted for a shell: a name with a comma is in quotes.
func armsFlag(names []string) string {
	var list strings.Builder
	w := csv.NewWriter(&list) // as the flag is read
	_ = w.Write(names)
	w.Flush()
	arms := strings.TrimSpace(list.String())
	if strings.ContainsAny(arms, " \"()") {
		arms = "'" + arms + "'"
	}
	return "--arms " + arms
}

// write writes the page of what has run, also if an error ended it early.
func (o *liveLab) write(cmd *cobra.Command, reports []lab.Report) error {
	if o.out == "" || len(reports) == 0 {
		return nil
	}
	if err := lab.WriteFiles(o.out, lab.Page{Title: "millrace laboratory, live", Date: o.date, Quick: o.quick, Reports: reports}); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "report: %s\n", human.Printable(filepath.Join(o.out, "report.html")))
	return nil
}

// liveReport is what is printed of a laboratory.
type liveReport struct {
	ID        string         `json:"id"`
	Published string         `json:"published"`
	Repeat    int            `json:"repeat"`
	Overheads live.Overheads `json:"overheads_ns"`
	live.Verdict
}

// one runs a laboratory: each arm on a cluster of its own, and in the simulator with the costs of jobs measured there.
func (o *liveLab) one(cmd *cobra.Command, l *live.Laboratory) (lab.Report, error) {
	ctx := cmd.Context()
	arms, err := o.chosen(l)
	if err != nil {
		return lab.Report{}, err
	}
	var all live.Costs
	simulated, measured := make([][][]*live.Outcome, len(arms)), make([][]*live.Outcome, len(arms))
	for i := range arms {
		for n := range o.repeat {
			o.say("%s: %s (%d of %d), run %d of %d", l.ID, arms[i].Name, i+1, len(arms), n+1, o.repeat)
			var costs live.Costs
			of := l.Repetition(n)
			got, err := o.arm(ctx, of, &arms[i], &costs)
			if err != nil {
				return lab.Report{}, fmt.Errorf("%s: %w", arms[i].Name, err)
			}
			foretold, err := of.Foretell(&arms[i], costs.Overheads(), o.quick)
			if err != nil {
				return lab.Report{}, err
			}
			measured[i], simulated[i] = append(measured[i], got), append(simulated[i], foretold)
			all.Add(&costs)
		}
	}
	r := liveReport{l.ID, l.Published, o.repeat, all.Overheads(), l.Judge(arms, o.quick, simulated, measured)}
	report := l.Report(r.Verdict, o.repeat, r.Overheads)
	report.Flags = o.again()
	if o.asJSON {
		return report, printJSON(cmd, r)
	}
	r.print(cmd.OutOrStdout(), l)
	return report, nil
}

func (r *liveReport) print(w io.Writer, l *live.Laboratory) {
	fmt.Fprintf(w, "%s: %s (%s)\na job costs %s\n", r.ID, l.Title, l.Source, r.Overheads)
	printTable(w, r.Table())
	says := "the simulator does not foretell the cluster"
	if r.Agrees {
		says = "the simulator foretells the cluster"
	}
	fmt.Fprintf(w, "%s\npublished: %s\n%s: the time of a job is off by %.1f %% in the median (at most 10), the order of the arms agrees to %.2f (at least 0.9; Kendall's tau), the ratio of an arm to the first is off by %.2f in the worst arm (at most 0.15)\n", live.HowToRead, r.Published, says, 100*r.MedianError, r.Tau, r.Ratio)
}
