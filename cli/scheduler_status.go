package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

func newSchedulerStatus() *cobra.Command {
	var m masterFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Say what a cluster's policies have done since its master started, and which rules they broke",
		Example: "  millrace scheduler status --json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withClient(&m, func(cl *client.Client) error {
				s, err := cl.SchedulerStatus(cmd.Context())
				return answer(cmd, asJSON, &s, err, printSchedulerStatus)
			})
		},
	}
	m.define(cmd)
	return withJSON(cmd, &asJSON, "JSON")
}

func printSchedulerStatus(w io.Writer, s *wire.SchedulerStatus) {
	printPolicies(w, &s.Policies)
	fmt.Fprintf(w, "%-10s %d admitted, %d rejected\n", "jobs", s.Admitted, s.Rejected)
	fmt.Fprintf(w, "%-10s %d launched (%d second attempts), %d stopped, %d results forgotten\n", "attempts", s.Launched, s.Seconds, s.Stopped, s.Forgotten)
	if s.Broken == 0 {
		fmt.Fprintf(w, "%-10s no rule was broken\n", "policies")
		return
	}
	ago := (time.Duration(s.BrokenAgo) * time.Millisecond).Round(time.Second)
	fmt.Fprintf(w, "%-10s broke a rule in %d rounds, the last %s ago: %s\n", "policies", s.Broken, ago, human.Printable(s.LastBroken))
	fmt.Fprintf(w, "%-10s this is a defect of the policy; millrace scheduler set POLICY changes it while jobs run\n", "")
}
