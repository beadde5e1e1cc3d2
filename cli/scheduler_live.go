package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler/hybrid"
)

func newSchedulerGet() *cobra.Command {
	var m masterFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "get", Short: "Say which policies a cluster uses", Example: "  millrace scheduler get", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withClient(&m, func(cl *client.Client) error {
				p, err := cl.Policies(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd, p)
				}
				printPolicies(cmd.OutOrStdout(), &p)
				return nil
			})
		},
	}
	m.define(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printPolicies(w io.Writer, p *wire.Policies) {
	for i, c := range []wire.Choice{p.Policy, p.Admission} {
		fmt.Fprintf(w, "%-10s %s", [...]string{"assignment", "admission"}[i], c.Name)
		for _, k := range slices.Sorted(maps.Keys(c.Params)) {
			fmt.Fprintf(w, " %s=%s", k, shortParam(k, c.Params[k]))
		}
		fmt.Fprintln(w)
	}
	for _, f := range p.Figures {
		if f.Job == "" {
			fmt.Fprintf(w, "%-10s %s %.4g\n", "", f.Name, f.Value)
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(w, "%-10s %s\n", "note", n)
	}
}

// shortParam is a parameter for users: of a classifier, that there is one, and how large.
func shortParam(name, value string) string {
	if t, err := hybrid.ParseTrained(value); name == "model" && err == nil {
		return fmt.Sprintf("trained(%d support vectors)", len(t.Model.Vectors))
	}
	return value
}

func newSchedulerSet() *cobra.Command {
	var m masterFlags
	var params []string
	cmd := &cobra.Command{
		Use: "set POLICY", Short: "Change a cluster's policy while jobs run, until its master is restarted",
		Example: "  millrace scheduler set fbq --param K=2", Args: onePolicy,
		RunE: func(cmd *cobra.Command, args []string) error {
			values, err := parseParams(params)
			if err != nil {
				return err
			}
			return withClient(&m, func(cl *client.Client) error {
				if err := cl.SetPolicy(cmd.Context(), wire.Choice{Name: args[0], Params: values}); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "the cluster now uses %s\n", args[0])
				p, err := cl.Policies(cmd.Context())
				for _, n := range p.Notes {
					fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", n)
				}
				return err
			})
		},
	}
	m.define(cmd)
	cmd.Flags().StringArrayVar(&params, "param", nil, "parameter, as name=value; may be given several times")
	return cmd
}

func newNodeDrain(m *masterFlags, undo bool) *cobra.Command {
	use, short, done := "drain", "Take workers out of service: they finish what runs, their blocks are copied away", "is draining (millrace dfs nodes says how far)"
	if undo {
		use, short, done = "undrain", "Take drained workers back into service", "is back in service"
	}
	return &cobra.Command{
		Use: use + " NODE...", Short: short, Example: "  millrace node " + use + " w3", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withClient(m, func(cl *client.Client) error {
				for _, n := range args {
					if err := cl.Drain(cmd.Context(), wire.NodeName(n), undo); err != nil {
						return err
					}
					fmt.Fprintln(cmd.OutOrStdout(), n, done)
				}
				return nil
			})
		},
	}
}
