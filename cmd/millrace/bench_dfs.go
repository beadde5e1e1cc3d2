package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/bench"
	"github.com/millrace/millrace/bench/dfsbench"
)

// runDFSBench measures the block store and prints its table.
func runDFSBench(cmd *cobra.Command, s bench.Setup, asJSON bool) error {
	setup := dfsbench.Setup{Self: s.Self, Dir: filepath.Join(s.Dir, "dfs"), Size: s.Size, Rounds: s.Rounds}
	rows, err := dfsbench.Run(cmd.Context(), setup, func(what string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "measuring %s ...\n", what)
	})
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"dfs": rows})
	}
	printDFSBench(cmd.OutOrStdout(), rows)
	return nil
}

func printDFSBench(w io.Writer, rows []dfsbench.Row) {
	t := newTable(w, "row", "work", "against", "ours", "theirs", "value", "must", "verdict", "note")
	for _, r := range rows {
		theirs, must := "", fmt.Sprintf(">= %.4g", r.Must)
		if r.Theirs > 0 {
			theirs = fmt.Sprintf("%.4g", r.Theirs)
		}
		if r.AtMost {
			must = fmt.Sprintf("<= %.4g", r.Must)
		}
		t.AppendRow(table.Row{r.ID, r.What, r.Against, fmt.Sprintf("%.4g %s", r.Ours, r.Unit), theirs, fmt.Sprintf("%.3g", r.Value), must, r.Verdict, r.Note})
	}
	t.Render()
}
