package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/scheduler/script"
)

func newSchedulerGet() *cobra.Command {
	var m masterFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "get", Short: "Say which policies a cluster uses", Example: "  millrace scheduler get", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withClient(&m, func(cl *client.Client) error {
				p, err := cl.Policies(cmd.Context())
				return answer(cmd, asJSON, &p, err, func(w io.Writer, p *wire.Policies) {
					printPolicies(w, p)
					if p.Policy.Name == scriptPolicy {
						fmt.Fprintf(w, "\n%s\n", human.Lines(strings.TrimSpace(p.Policy.Params["code"])))
					}
				})
			})
		},
	}
	m.define(cmd)
	return withJSON(cmd, &asJSON, "JSON")
}

func printPolicies(w io.Writer, p *wire.Policies) {
	for i, c := range []wire.Choice{p.Policy, p.Admission} {
		fmt.Fprintf(w, "%-10s %s", [...]string{"assignment", "admission"}[i], c.Name)
		if c.Name == scriptPolicy {
			fmt.Fprintf(w, " %s\n", human.Printable(c.Params["name"]))
			continue
		}
		for _, k := range slices.Sorted(maps.Keys(c.Params)) {
			fmt.Fprintf(w, " %s=%s", k, human.Printable(shortParam(k, c.Params[k])))
		}
		fmt.Fprintln(w)
	}
	for _, f := range p.Figures {
		if f.Job == "" {
			fmt.Fprintf(w, "%-10s %s %.4g\n", "", human.Printable(f.Name), f.Value)
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(w, "%-10s %s\n", "note", human.Printable(n))
	}
}

// shortParam returns a parameter for users; for a classifier, only that there is one and its size.
func shortParam(name, value string) string {
	if t, err := hybrid.ParseTrained(value); name == "model" && err == nil {
		return fmt.Sprintf("trained(%d support vectors)", len(t.Model.Vectors))
	}
	return value
}

const setHelp = `Change a cluster's assignment or admission policy while jobs run. The policies that the master was started with
are back when it is restarted.

A policy may be a script (docs/policies/write-your-own.md), as a file that ends in .star, or as script:FILE. The master
tries it in random situations, as millrace scheduler test does, and refuses one that breaks a promise. It runs in a
process of its own, and is there again when the master is restarted, until another policy is set. A script that fails
while it decides, or takes too long, counts as a broken rule (millrace scheduler status), and the policy that the master
was started with takes its place.`

func newSchedulerSet() *cobra.Command {
	var m masterFlags
	var params []string
	cmd := &cobra.Command{
		Use: "set POLICY|FILE.star", Short: "Change a cluster's policy while jobs run, until its master is restarted",
		Long:    setHelp,
		Example: "  millrace scheduler set fbq --param K=2\n  millrace scheduler set mine.star",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isScript(args[0]) {
				return nil
			}
			return onePolicy(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := chosen(args[0], params)
			if err != nil {
				return err
			}
			return withClient(&m, func(cl *client.Client) error {
				return setPolicy(cmd, cl, c, strings.TrimPrefix(args[0], scriptPrefix))
			})
		},
	}
	m.define(cmd)
	cmd.Flags().StringArrayVar(&params, "param", nil, "parameter, as name=value; may be given several times")
	return cmd
}

// setPolicy puts a policy in place, and prints what the cluster lacks for it.
func setPolicy(cmd *cobra.Command, cl *client.Client, c wire.Choice, name string) error {
	if err := cl.SetPolicy(cmd.Context(), c); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "the cluster now uses %s\n", name)
	p, err := cl.Policies(cmd.Context())
	for _, n := range p.Notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", human.Printable(n))
	}
	return err
}

// scriptPrefix marks a policy as the file of a script, whatever its name.
const scriptPrefix = scriptPolicy + ":"

func isScript(policy string) bool {
	return strings.HasPrefix(policy, scriptPrefix) || strings.HasSuffix(policy, ".star")
}

// chosen returns the policy of a name, or of a script's file.
func chosen(policy string, params []string) (c wire.Choice, err error) {
	if !isScript(policy) {
		c.Name = policy
		c.Params, err = parseParams(params)
		return c, err
	}
	if len(params) > 0 {
		return c, errors.New("--param: a script has no parameters")
	}
	name, text, err := readScript(strings.TrimPrefix(policy, scriptPrefix))
	return wire.Choice{Name: scriptPolicy, Params: script.Params(name, text)}, err
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
