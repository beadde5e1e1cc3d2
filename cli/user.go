package cli

import (
	"fmt"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
)

func newUser() *cobra.Command {
	cmd := &cobra.Command{Use: "user", Short: "Look at the users of a cluster, and limit what they may have", Example: "  millrace user ls"}
	var m masterFlags
	m.define(cmd)
	cmd.AddCommand(newLs(&m, "List users: what they have, of what they may have", "  millrace user ls --json", (*client.Client).Users,
		[]any{"user", "running", "waiting", "containers", "submitted (1 min)", "history", "names", "bytes"}, userRow), newUserLimit(&m))
	return cmd
}

func userRow(s wire.UserStatus) table.Row {
	plain := func(n int64) string { return strconv.FormatInt(n, 10) }
	l := &s.Limits
	return table.Row{
		human.Printable(s.User), ofMost(int64(s.Running), l.Running, plain), ofMost(int64(s.Waiting), l.Waiting, plain),
		ofMost(int64(s.Containers), l.Containers, plain), ofMost(int64(s.Recent), l.Submissions, plain), ofMost(s.History, l.History, human.Bytes),
		ofMost(s.Usage.Files+s.Usage.Dirs, s.Usage.QuotaFiles, plain), ofMost(s.Usage.Bytes, s.Usage.QuotaBytes, human.Bytes),
	}
}

// ofMost returns an amount, with its limit if there is one.
func ofMost(n, most int64, text func(int64) string) string {
	if most <= 0 {
		return text(n)
	}
	return text(n) + " of " + text(most)
}

func newUserLimit(m *masterFlags) *cobra.Command {
	given := map[string]*string{}
	cmd := &cobra.Command{
		Use: "limit USER", Short: "Limit the jobs, containers, submissions and history of a user",
		Long: `Limit what a user may have, until somebody changes it again. The user * stands for all who have no limit of
their own; it does not bind the superuser and the members of the supergroup. A limit that is not given stays; none takes it away, default
makes that of * hold. Files and bytes are limited by millrace dfs quota --of USER.`,
		Example: `  millrace user limit ann --running 5 --waiting 20 --containers 8
  millrace user limit '*' --submissions 60 --history 100MiB
  millrace user limit ann --containers none`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := wire.LimitRequest{User: args[0], Changes: map[string]int64{}}
			for name, text := range given {
				if !cmd.Flags().Changed(name) {
					continue
				}
				n, err := parseLimit(name, *text)
				if err != nil {
					return err
				}
				r.Changes[name] = n
			}
			if len(r.Changes) == 0 {
				return fmt.Errorf("user limit: give at least one of --running, --waiting, --containers, --submissions and --history")
			}
			return withClient(m, func(cl *client.Client) error { return cl.SetLimits(cmd.Context(), r) })
		},
	}
	for name, help := range map[string]string{
		"running": "jobs at once; more wait", "waiting": "jobs that wait to start; more are refused", "containers": "containers at once, of all jobs (at least 2); tasks beyond wait",
		"submissions": "jobs submitted in a minute; more are refused", "history": "bytes of ended jobs in the history; beyond, the oldest are forgotten",
	} {
		given[name] = cmd.Flags().String(name, "", help)
	}
	return cmd
}

// parseLimit parses a number (for the history, bytes), none, or default.
func parseLimit(name, text string) (int64, error) {
	switch text {
	case "none":
		return wire.NoLimit, nil
	case "default":
		return 0, nil
	}
	if name == "history" {
		var n jobs.ByteSize
		if err := n.Set(text); err != nil || n <= 0 {
			return 0, fmt.Errorf("--%s is %q, must be a size such as 100MiB, none or default", name, text)
		}
		return int64(n), nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("--%s is %q, must be a number above zero, none or default", name, text)
	}
	return n, nil
}
