package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/bench"
	"github.com/millrace/millrace/bench/jobbench"
	"github.com/millrace/millrace/bench/live"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/worker/attempt"
)

// runClusterBench measures jobs on a cluster of processes and prints the table.
func runClusterBench(cmd *cobra.Command, s bench.Setup, only []string, asJSON bool) error {
	setup := jobbench.Setup{Self: s.Self, Dir: filepath.Join(s.Dir, "jobs"), Size: s.Size, Rounds: s.Rounds}
	rows, err := jobbench.Run(cmd.Context(), setup, only, announce(cmd))
	return showRows(cmd, "cluster", rows, err, asJSON)
}

// announce returns a function that prints what is being measured.
func announce(cmd *cobra.Command) func(what string) {
	return func(what string) { fmt.Fprintf(cmd.ErrOrStderr(), "measuring %s ...\n", what) }
}

// showRows prints what was measured, also when an error ended it early.
func showRows(cmd *cobra.Command, name string, rows []live.Row, err error, asJSON bool) error {
	if asJSON {
		return errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{name: rows}))
	}
	if len(rows) > 0 {
		printRows(cmd.OutOrStdout(), rows)
	}
	return err
}

func printRows(w io.Writer, rows []live.Row) {
	t := newTable(w, "row", "work", "against", "value", "must", "aim", "verdict", "note")
	for _, r := range rows {
		sign := "<="
		if r.AtLeast {
			sign = ">="
		}
		aim := ""
		if r.Aim != 0 {
			aim = fmt.Sprintf("%s %g", sign, r.Aim)
		}
		t.AppendRow(table.Row{r.ID, r.What, r.Against, fmt.Sprintf("%.4g %s", r.Value, r.Unit), fmt.Sprintf("%s %g", sign, r.Must), aim, r.Verdict, r.Note})
	}
	t.Render()
}

// newBenchChild returns the command that makes this program a shipped one: workers start it to run attempts of a job
// that does nothing.
func newBenchChild() *cobra.Command {
	return &cobra.Command{
		Use: jobbench.ChildCommand, Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if os.Getenv(attempt.ChildEnv) == "" {
				return fmt.Errorf("%s is for workers to start", jobbench.ChildCommand)
			}
			stages, err := jobs.Parse("sleep", args)
			if err != nil {
				return err
			}
			os.Exit(attempt.Child(stages))
			return nil
		},
	}
}
