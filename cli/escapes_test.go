package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

// TestEscapesOfPrograms: what a program has printed does nothing to the terminal of who looks at its job. Its lines stay.
func TestEscapesOfPrograms(t *testing.T) {
	const evil = "first\x1b]0;pwned\a\x1b[2J\nsecond"
	s := wire.JobStatus{Job: "job-1", Name: "n" + evil, User: "u" + evil, State: wire.Failed, Error: evil, Output: evil, Why: evil}
	policies := wire.Policies{Policy: wire.Choice{Name: scriptPolicy, Params: map[string]string{"name": evil}}, Admission: wire.Choice{Name: "marp", Params: map[string]string{"p": evil}}, Notes: []string{evil}}
	for what, print := range map[string]func(cmd *cobra.Command){
		"job status":  func(cmd *cobra.Command) { printStatus(cmd, s, time.Time{}) },
		"job history": func(cmd *cobra.Command) { cmd.Println(hanging(evil, 10)) },
		"job watch": func(cmd *cobra.Command) {
			_, err := console.ResultOf(s)
			cmd.Println(textOf(t.Context(), nil, err))
		},
		"scheduler status": func(cmd *cobra.Command) {
			printSchedulerStatus(cmd.OutOrStdout(), &wire.SchedulerStatus{Policies: policies, Broken: 1, LastBroken: evil})
		},
		"scheduler log": func(cmd *cobra.Command) {
			if err := new(decisionOptions).show(cmd.OutOrStdout(), &wire.Decision{Why: evil}); err != nil {
				t.Error(err)
			}
		},
		"a table": func(cmd *cobra.Command) {
			w := newTable(cmd.OutOrStdout(), "name")
			w.AppendRow(table.Row{evil})
			w.Render()
		},
	} {
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		print(cmd)
		if got := out.String(); strings.ContainsFunc(strings.ReplaceAll(got, "\n", ""), human.Acts) || !strings.Contains(got, `first\x1b]0;pwned\a\x1b[2J`) {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := hanging("one\ntwo\n", 4); got != "one\n    two" {
		t.Errorf("lines: %q", got)
	}
}
