package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

func newSchedulerPlan() *cobra.Command {
	var m masterFlags
	var file string
	var asJSON bool
	show := func(cmd *cobra.Command, r wire.PlanRequest) error { return showPlans(cmd, &m, r, asJSON) }
	cmd := &cobra.Command{
		Use: "plan [--batch FILE]", Short: "Plan the announced jobs anew, or announce those of a file, and show in which racks they will run",
		Long: `Policies that plan (jobpacker, corral) decide before a recurring job comes in which racks it will run. A job is announced by
millrace job submit --batch, which hands it in as well, or by millrace scheduler plan --batch, which does not: then its input can be put
where it will be read (millrace dfs put --for NAME), and the job is handed in later.`,
		Example: `  millrace scheduler plan --batch nightly.yaml
  millrace scheduler plan ls`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return show(cmd, wire.PlanRequest{Again: true})
			}
			list, err := readBatch(file)
			if err != nil {
				return err
			}
			r := wire.PlanRequest{Jobs: recurring(list)}
			if len(r.Jobs) == 0 {
				return fmt.Errorf("%s: no job has recurring: true, and only what recurs is planned", file)
			}
			return show(cmd, r)
		},
	}
	m.define(cmd)
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&file, "batch", "", "announce the recurring jobs of this file (millrace job submit --help)")
	cmd.AddCommand(&cobra.Command{
		Use: "ls", Short: "List the announced jobs and their racks", Example: "  millrace scheduler plan ls", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return show(cmd, wire.PlanRequest{}) },
	}, &cobra.Command{
		Use: "drop NAME", Short: "Take back the announcement of your jobs of a name", Example: "  millrace scheduler plan drop nightly", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return show(cmd, wire.PlanRequest{Drop: args[0]}) },
	})
	return cmd
}

// showPlans asks for plans and prints them.
func showPlans(cmd *cobra.Command, m *masterFlags, r wire.PlanRequest, asJSON bool) error {
	return withClient(m, func(cl *client.Client) error {
		p, err := cl.Plans(cmd.Context(), r)
		return answer(cmd, asJSON, &p, err, printPlans)
	})
}

func printPlans(w io.Writer, p *wire.Plans) {
	if len(p.Plans) == 0 {
		fmt.Fprintln(w, "no job is announced (millrace job submit --batch FILE)")
		return
	}
	t := newTable(w, "name", "user", "job", "maps in", "reduces in", "why")
	for _, q := range p.Plans {
		t.AppendRow(table.Row{human.Printable(q.Name), human.Printable(q.User), q.Job, strings.Join(q.MapRacks, " "), strings.Join(q.ReduceRacks, " "), cmp.Or(q.Why, q.Reason)})
	}
	t.Render()
}

// plannedRacks returns the racks in which the maps of an announced job will run.
func plannedRacks(ctx context.Context, cl *client.Client, name string) ([]string, error) {
	p, err := cl.Plans(ctx, wire.PlanRequest{})
	if err != nil {
		return nil, err
	}
	for _, q := range p.Plans {
		if q.Name != name {
			continue
		}
		if q.Why != "" {
			return nil, fmt.Errorf("%s has no plan: %s", name, q.Why)
		}
		return q.MapRacks, nil
	}
	return nil, fmt.Errorf("no job called %q is announced: announce it first (millrace scheduler plan --batch FILE)", name)
}
