package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
)

func newScheduler() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scheduler ls|show|new|test|get|set|status|forecast|plan|log|verify|train",
		Short: "List the scheduling policies; look at and change a cluster's",
		Example: `  millrace scheduler ls
  millrace scheduler show fair`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("scheduler needs a verb: ls, show, new, test, get, set, status, forecast, plan, log, verify or train")
			}
			return fmt.Errorf("unknown verb %q (known: ls, show, new, test, get, set, status, forecast, plan, log, verify, train)", args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSchedulerLs(), newSchedulerShow(), newSchedulerNew(), newSchedulerTest(), newSchedulerGet(), newSchedulerSet(), newSchedulerStatus(), newSchedulerForecast(), newSchedulerPlan(), newSchedulerLog(), newSchedulerVerify(), newSchedulerTrain())
	return cmd
}

// policyJSON is the form that scripts rely on.
type policyJSON struct {
	Name    string      `json:"name"`
	Seam    string      `json:"seam"`
	Summary string      `json:"summary"`
	Source  string      `json:"source"`
	Params  []paramJSON `json:"params"`
	Inputs  []inputJSON `json:"inputs"`
}

// inputJSON is one input that a policy reads of a job.
type inputJSON struct {
	Flag   string `json:"flag"`
	Field  string `json:"field"`
	API    string `json:"api"`
	Absent string `json:"absent"`
}

type paramJSON struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Default string `json:"default"`
	Live    string `json:"live,omitempty"`
	Range   string `json:"range"`
	Doc     string `json:"doc"`
	Source  string `json:"source"`
}

func policyOf(i *scheduler.Info) policyJSON {
	out := policyJSON{Name: i.Name, Seam: string(i.Seam), Summary: i.Summary, Source: i.Source, Params: []paramJSON{}, Inputs: []inputJSON{}}
	live := i.LiveParams(nil)
	for _, p := range i.Params() {
		out.Params = append(out.Params, paramJSON{p.Name, string(p.Type), p.Default, live[p.Name], p.Range(), p.Doc, p.Source})
	}
	if i.Seam != scheduler.Placing {
		for _, in := range policies.InputsOf(i.Name) {
			out.Inputs = append(out.Inputs, inputJSON{"--" + in.Flag, "mapreduce.Job." + in.Go, in.API, in.Absent})
		}
	}
	return out
}

func newSchedulerLs() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ls", Short: "List all policies by seam",
		Example: "  millrace scheduler ls --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := []policyJSON{}
			for _, i := range policies.List() {
				out = append(out, policyOf(i))
			}
			if asJSON {
				return failed(json.NewEncoder(cmd.OutOrStdout()).Encode(out))
			}
			t := newTable(cmd.OutOrStdout(), "seam", "policy", "what it does", "source")
			for _, p := range out {
				t.AppendRow(table.Row{p.Seam, p.Name, text.WrapSoft(p.Summary, 70), text.WrapSoft(p.Source, 30)})
			}
			t.Render()
			return nil
		},
	}
	return withJSON(cmd, &asJSON, "a JSON array")
}

func newSchedulerShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show POLICY", Short: "Print a policy's parameters with defaults and sources, and what it reads of a job",
		Example: "  millrace scheduler show fair",
		Args:    onePolicy,
		RunE: func(cmd *cobra.Command, args []string) error {
			i := policies.All[args[0]]
			if asJSON {
				return failed(json.NewEncoder(cmd.OutOrStdout()).Encode(policyOf(i)))
			}
			printPolicy(cmd.OutOrStdout(), policyOf(i))
			return nil
		},
	}
	return withJSON(cmd, &asJSON, "a JSON object")
}

// onePolicy requires the name of a policy; its error lists the names.
func onePolicy(cmd *cobra.Command, args []string) error {
	known := slices.Sorted(maps.Keys(policies.All))
	if len(args) != 1 {
		return fmt.Errorf("scheduler %s needs one policy, have %d (known: %s)", cmd.Name(), len(args), strings.Join(known, ", "))
	}
	if _, ok := policies.All[args[0]]; !ok {
		return suggest.Unknown("policy", args[0], known)
	}
	return nil
}

func printPolicy(w io.Writer, p policyJSON) {
	fmt.Fprintf(w, "%s (%s): %s\nsource: %s\n", p.Name, p.Seam, p.Summary, p.Source)
	printParams(w, p.Params)
	if len(p.Inputs) == 0 {
		return
	}
	fmt.Fprintln(w, "What it reads of a job, beside its tasks and where their data is:")
	t := newTable(w, "flag of run and of own programs", "field of the API", "field in Go", "where a job does not say it")
	for _, in := range p.Inputs {
		t.AppendRow(table.Row{in.Flag, in.API, in.Field, text.WrapSoft(in.Absent, 60)})
	}
	t.Render()
}

func printParams(w io.Writer, params []paramJSON) {
	if len(params) == 0 {
		fmt.Fprintln(w, "no parameters")
		return
	}
	t := newTable(w, "parameter", "default", "allowed", "meaning", "source")
	for _, a := range params {
		def := a.Default
		if def == "" {
			def = "-"
		}
		if a.Live != "" {
			def += "\non a cluster " + a.Live
		}
		t.AppendRow(table.Row{a.Name, def, a.Type + ": " + text.WrapSoft(a.Range, 24), text.WrapSoft(a.Doc, 60), text.WrapSoft(a.Source, 24)})
	}
	t.Render()
}
