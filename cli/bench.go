package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/bench"
	"github.com/millrace/millrace/bench/bare"
	"github.com/millrace/millrace/bench/dfsbench"
	"github.com/millrace/millrace/bench/jobbench"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/jobs"
)

func newBench() *cobra.Command {
	var s bench.Setup
	size := jobs.ByteSize(1e9)
	var only []string
	var asJSON, slope, hard, store, cluster bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine: millrace against GNU sort, mawk, grep and bare Go loops",
		Example: `  millrace bench
  millrace bench --size 100MB --only wordcount-bare,grep`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if size < 1000 {
				return fmt.Errorf("--size is %d, must be at least 1000", size)
			}
			s.Size = int64(size)
			if s.Rounds < 1 || s.Rounds > 1000 {
				return fmt.Errorf("--rounds is %d, must be in 1..1000", s.Rounds)
			}
			if store && cluster {
				return errors.New("--dfs and --cluster are two tables: give one of them")
			}
			if cmd.Flags().Changed("only") && len(only) == 0 {
				return errors.New("--only is empty: give rows, or leave it out for all")
			}
			if err := checkOnly(&s, only, store, cluster); err != nil {
				return err
			}
			var err error
			if s.Self, err = os.Executable(); err != nil {
				return failed(err)
			}
			if s.Dir, err = filepath.Abs(s.Dir); err != nil { // commands run in this directory
				return failed(err)
			}
			if cluster {
				return failed(runClusterBench(cmd, s, only, asJSON))
			}
			if store {
				return failed(runDFSBench(cmd, s, only, asJSON))
			}
			return failed(runBench(cmd, s, benchChoice{only, slope, hard, asJSON}))
		},
	}
	f := cmd.Flags()
	f.Var(&size, "size", "size of the inputs")
	f.StringVar(&s.Dir, "dir", filepath.Join(os.TempDir(), "millrace-bench"), "directory for inputs and outputs; inputs are used again")
	f.BoolVar(&s.Large, "large", false, "also sort four times the size")
	f.BoolVar(&slope, "slope", false, "also measure how cost grows from a quarter to four times the size")
	f.BoolVar(&hard, "hard", false, "also inputs that break engines: skew, a giant record, floods of keys and of files")
	f.BoolVar(&store, "dfs", false, "instead measure the block store, against dd and cat; rows: "+strings.Join(dfsbench.IDs(), ", "))
	f.BoolVar(&cluster, "cluster", false, "instead measure jobs on a cluster of processes; rows: "+strings.Join(jobbench.IDs(), ", "))
	f.IntVar(&s.Rounds, "rounds", 3, "rounds, of which the best counts")
	f.StringSliceVar(&only, "only", nil, "rows to measure: "+strings.Join(caseIDs(bench.Setup{Large: true}), ", "))
	f.BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func caseIDs(s bench.Setup) (ids []string) {
	for _, c := range s.Cases() {
		ids = append(ids, c.ID)
	}
	return ids
}

// checkOnly refuses rows that the table does not have. A row of large inputs that is named is measured even without
// --large.
func checkOnly(s *bench.Setup, only []string, store, cluster bool) error {
	usual, all := caseIDs(*s), caseIDs(bench.Setup{Large: true})
	if store {
		all = dfsbench.IDs()
	} else if cluster {
		all = jobbench.IDs()
	}
	for _, id := range only {
		if !slices.Contains(all, id) {
			return suggest.Unknown("row", id, all)
		}
		s.Large = s.Large || !slices.Contains(usual, id)
	}
	return nil
}

// benchChoice says what is measured and how it is printed.
type benchChoice struct {
	only                []string
	slope, hard, asJSON bool
}

// benchResult is everything that was measured.
type benchResult struct {
	Rows   []bench.Row     `json:"rows"`
	Slopes []bench.Slope   `json:"slopes,omitempty"`
	Hard   []bench.HardRow `json:"hard,omitempty"`
}

func runBench(cmd *cobra.Command, s bench.Setup, choice benchChoice) error {
	res, err := measureBench(cmd, s, choice)
	if choice.asJSON {
		return errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(res))
	}
	if len(res.Rows) > 0 {
		printBench(cmd.OutOrStdout(), res)
	}
	if cmd.Context().Err() != nil {
		return errors.New("interrupted; what was measured until then is above") // not the signal's effect on a rival
	}
	return err
}

func measureBench(cmd *cobra.Command, s bench.Setup, choice benchChoice) (res benchResult, err error) {
	say := func(id, what string) { fmt.Fprintf(cmd.ErrOrStderr(), "measuring %s: %s ...\n", id, what) }
	res.Rows, err = bench.Run(cmd.Context(), s, choice.only, func(c bench.Case) { say(c.ID, c.What) })
	if err == nil && choice.slope {
		res.Slopes, err = runSlopes(cmd, s)
	}
	if err == nil && choice.hard {
		res.Hard, err = bench.RunHard(cmd.Context(), s, func(c bench.HardCase) { say(c.ID, c.What) })
	}
	return res, err
}

func runSlopes(cmd *cobra.Command, s bench.Setup) (out []bench.Slope, err error) {
	for _, job := range []string{"terasort", "wordcount"} {
		fmt.Fprintf(cmd.ErrOrStderr(), "measuring the slope of %s ...\n", job)
		one, err := bench.MeasureSlope(cmd.Context(), s, job)
		if err != nil {
			return out, err
		}
		out = append(out, one)
	}
	return out, nil
}

func printBench(w io.Writer, res benchResult) {
	t := newTable(w, "row", "work", "against", "ours", "theirs", "ratio", "CPU", "memory", "must", "aim", "verdict")
	for _, r := range res.Rows {
		t.AppendRow(benchRow(r))
	}
	t.Render()
	fmt.Fprintf(w, "%d cores, %s, wall times; best of the rounds. CPU is the ratio of CPU times, memory our peak over the budget.\n",
		runtime.GOMAXPROCS(0), runtime.Version())
	for _, s := range res.Slopes {
		fmt.Fprintf(w, "%s: CPU time grows as size^%.2f over %s to %s (at most %.2f), wall time as size^%.2f: %.2f s\n",
			s.Job, s.Slope, human.Bytes(s.Bytes[0]), human.Bytes(s.Bytes[len(s.Bytes)-1]), s.Must, s.WallSlope, s.Wall)
	}
	if len(res.Hard) > 0 {
		printHard(w, res.Hard)
	}
}

func printHard(w io.Writer, rows []bench.HardRow) {
	t := newTable(w, "row", "work, 256 MiB of memory", "input", "time", "rate", "peak memory over budget", "spills", "result")
	for _, r := range rows {
		result := "right"
		if !r.Right {
			result = "WRONG: " + r.Why
		}
		t.AppendRow(table.Row{
			r.ID, r.What, human.Bytes(r.Bytes), human.Duration(r.Wall), human.Rate(r.Bytes, r.Wall),
			fmt.Sprintf("%.2f", r.RSSRatio), r.Spills, result,
		})
	}
	t.Render()
}

func benchRow(r bench.Row) table.Row {
	num := func(f float64) string {
		if f == 0 {
			return ""
		}
		return fmt.Sprintf("%.2f", f)
	}
	ratio, must, aim, theirs := num(r.Ratio)+" x", num(r.Must)+" x", num(r.Aim)+" x", human.Duration(r.Theirs.Wall)
	if r.Rival == "" {
		ratio, must, aim, theirs = num(r.Ratio)+" ms", num(r.Must)+" ms", num(r.Aim)+" ms", ""
	}
	verdict := r.Verdict
	if r.Complaint != "" {
		verdict += " (" + r.Complaint + ")"
	}
	return table.Row{r.ID, r.What, r.Rival, human.Duration(r.Ours.Wall), theirs, ratio, num(r.CPURatio), num(r.RSSRatio), must, aim, verdict}
}

// newBare runs a yardstick of bench/bare, for bench's own use.
func newBare() *cobra.Command {
	return &cobra.Command{
		Use: "bare wordcount|sort IN OUT", Hidden: true,
		Short: "Run a bare Go loop that millrace is measured against",
		Args:  cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			procs := runtime.GOMAXPROCS(0)
			switch args[0] {
			case "wordcount":
				return failed(bare.WordCount(args[1], args[2], procs))
			case "sort":
				return failed(bare.Sort(args[1], args[2], procs))
			}
			return fmt.Errorf("unknown loop %q (known: wordcount, sort)", args[0])
		},
	}
}
